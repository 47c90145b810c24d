"""The commonest events in C, where the package was built with a compiler; the Python they stand for is always there.

What is not common is handed to Python, and results are the same to the last bit. `BRIDGE_PURE=1` in the environment
leaves the compiled part out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

_STEPS: ModuleType | None = None
WHY_NOT: str | None = None
"""Why everything runs in Python, if it does."""


def _is_of(sources: str) -> bool:
    """Whether what was compiled is of the sources that lie here, if any do: an editable installation may be older."""
    texts = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.[ch]")))
    return not texts or sha256(texts).hexdigest() == sources


if os.environ.get("BRIDGE_PURE", "0") not in ("", "0"):
    WHY_NOT = "BRIDGE_PURE is set"
else:
    try:
        from bridge.in_c import _steps as _STEPS
    except ImportError as error:
        _STEPS, WHY_NOT = None, f"it was not built, for want of a compiler, or for another Python or NumPy ({error})"
    if _STEPS is not None and not _is_of(_STEPS.SOURCES):
        _STEPS, WHY_NOT = None, "it is older than its sources; install the checkout again: python -m pip install -e ."

AVAILABLE = _STEPS is not None
"""Whether there is a compiled part, and it is used."""

# The numbers of `Kind` in steps.h: operators by their names in the module `operator`, methods by their own.
_NAMES = (
    "add", "sub", "mul", "truediv", "pow", "neg", "__getitem__", "__setitem__", "__array_ufunc__", "first", "matmul",
    "iadd", "isub", "imul", "itruediv", "__array_function__", "operand", "here",
)  # fmt: skip
_KINDS = {name: number for number, name in enumerate(_NAMES)}

# The numbers of `Shortcut` in backward.c, and the pulls that they stand for.
_PULLS = (
    "ct", "-ct", "ct * y", "ct * x", "ct / y", "-ct * (out / y)", "ct * (2 * x)", "ct * y of vectors",
    "x * ct of vectors",
)  # fmt: skip
_FORMULAS = {name: number for number, name in enumerate(_PULLS, 1)}
_SHORTCUTS: dict[Callable[..., Any], int] = {}


def quick(python: Callable[..., Any], name: str, ufunc: Any = None, reflected: bool = False) -> Callable[..., Any]:
    """The method `python` with the compiled way for the cases that are common; itself where there is none.

    `name` is that of an operator or a method of Buffers, "first" for a method that returns its argument if that is
    tracked, "operand" for one that does so for numbers and arrays too, or "here" for `bridge.code_position.here`.
    """
    if _STEPS is None or name not in _KINDS:
        return python
    made: Callable[..., Any] = _STEPS.Method(python, ufunc, _KINDS[name], reflected)
    return made


def computes(formula: str, pull: Callable[..., Any]) -> Callable[..., Any]:
    """`pull`, which for real operands computes `formula`, one of those that are compiled."""
    _SHORTCUTS[pull] = _FORMULAS[formula]
    return pull


def bind(**given: Any) -> None:
    """Tell the compiled part the classes whose slots it fills, and the tables that it looks into."""
    if _STEPS is not None:
        _STEPS.bind({**given, "shortcuts": _SHORTCUTS})


def watch(log: list[Any]) -> None:
    """Let Python's garbage collector know what a log holds whose context has closed."""
    if _STEPS is not None:
        _STEPS.watch(log)


def walker() -> Callable[[Any, list[Any], int], int] | None:
    """What walks a log back from an entry, as far as entries are common: the number of the first that is left.

    None where everything runs in Python.
    """
    return _STEPS.walk if _STEPS is not None and _STEPS.enabled() else None


@contextmanager
def pure() -> Iterator[None]:
    """Inside, everything runs in Python, in all threads."""
    before = _STEPS is not None and _STEPS.enable(False)
    try:
        yield
    finally:
        if _STEPS is not None:
            _STEPS.enable(before)
