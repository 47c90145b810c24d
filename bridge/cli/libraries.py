"""The generator of `docs/libraries.md`: which functions of SciPy and of Python's library have a stand-in or a rule.

Read from the tables by which a program that is read is dispatched. Functions that NumPy's protocols reach, ufuncs among
them, are on the page of `coverage`.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
import sys
import types
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bridge.errors import EngineNotAvailable
from bridge.rulebook import book

PYTHON = ("math", "cmath", "statistics", "random", "json")
"""Modules of Python's library that families are about."""

COMMAND = "python -m bridge coverage --libraries"


def entries() -> dict[str, str]:
    """Public functions that have an entry, by their names; the file that has it."""
    named = public_names()
    found: dict[str, str] = {}
    for function, home in _homes().items():
        for name in named.get(function, ()):
            found.setdefault(name, home)
    return dict(sorted(found.items()))


def public_names() -> dict[Any, list[str]]:
    """Functions of SciPy and Python, and the names that they have there; the rule book has been read then."""
    with warnings.catch_warnings():
        # Names that SciPy is about to drop are not looked at for what they say.
        warnings.simplefilter("ignore")
        looked_at = list(_modules())
        book.read_book()
        return _names(looked_at)


def page() -> str:
    """The text of `docs/libraries.md` for the installed SciPy and Python."""
    found = entries()
    rows: dict[tuple[str, str], list[str]] = {}
    for name, home in found.items():
        module = _module_of(name)
        rows.setdefault((module, home), []).append(name.removeprefix(f"{module}."))
    lines = [
        "# Functions of libraries",
        "",
        f"What a program that is read ([your_program.md](your_program.md)) may call of {_versions()}",
        "with values that are differentiated: what has a stand-in or a rule, and the file that has it.",
        f"Made by `{COMMAND} --write docs/libraries.md` from the tables that calls are dispatched by.",
        "",
        "An entry may take some options only and refuse others (`RefusedError`); some are there only to refuse.",
        "What derivatives mean, and what is refused: [scipy.md](scipy.md), [solvers.md](solvers.md). The functions of",
        "NumPy and the ufuncs of `scipy.special` are in [coverage.md](coverage.md). Whatever else gets a value that",
        "carries a gradient raises an error that names it, unless it is made of operations that have rules.",
        "",
        f"{len(found)} entries:",
        "",
        "| module | by | functions |",
        "|---|---|---|",
        *(f"| `{module}` | `{home}` | {', '.join(names)} |" for (module, home), names in sorted(rows.items())),
    ]
    return "\n".join(lines) + "\n"


def complaint(path: Path) -> str | None:
    """Say what is out of date in the page at `path`; None if nothing is.

    Under other versions of SciPy or Python than the page was made with, only functions that both know are compared.
    """
    written = path.read_text(encoding="utf-8") if path.exists() else ""
    if written == page():
        return None
    old, new = _table(written), entries()
    if written and _versions() not in written:
        changed = sorted(name for name in old.keys() & new.keys() if old[name] != new[name])
        if not changed:
            return None
    else:
        changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    listed = "".join(f"\n  {name}: {old.get(name, 'not there')} -> {new.get(name, 'gone')}" for name in changed[:20])
    return f"{path} is out of date; run {COMMAND} --write {path}{listed}"


def _table(text: str) -> dict[str, str]:
    found = {}
    for module, home, names in re.findall(r"^\| `([\w.]+)` \| `([\w./]+)` \| (.*) \|$", text, re.MULTILINE):
        found.update({f"{module}.{name}": home for name in names.split(", ")})
    return found


def _versions() -> str:
    import scipy

    return f"SciPy {'.'.join(scipy.__version__.split('.')[:2])} and Python {sys.version_info[0]}.{sys.version_info[1]}"


def _modules() -> Iterator[types.ModuleType]:
    """Python's modules, and SciPy's public packages, which are imported."""
    for name in PYTHON:
        yield import_module(name)
    try:
        scipy = import_module("scipy")
    except ImportError as error:
        raise EngineNotAvailable(
            "the page says what SciPy's functions have, and SciPy is not installed", remedy="pip install scipy"
        ) from error
    for one in pkgutil.iter_modules(scipy.__path__):
        if one.ispkg and not one.name.startswith("_") and one.name != "conftest":
            package = import_module(f"scipy.{one.name}")
            yield package
            for part in ("linalg", "blas", "lapack", "csgraph", "distance", "transform"):
                inner = getattr(package, part, None)
                if isinstance(inner, types.ModuleType) and inner.__name__.startswith(f"{package.__name__}."):
                    yield inner


def _homes() -> dict[Any, str]:
    """What has an entry, and where."""
    found = {function: _file_of(computes) for function, computes in book.STAND_INS.items()}
    for function, rule in book.RULES.items():
        if not isinstance(function, np.ufunc) and not _is_numpys(function):
            pulls = [pull for pull in rule.per_argument or (rule.joint,) if pull is not None]
            found.setdefault(function, _file_of(pulls[0]) if pulls else "")
    return found


def _file_of(function: Any) -> str:
    while hasattr(function, "func"):  # functools.partial
        function = function.func
    return f"{inspect.unwrap(function).__module__.removeprefix('bridge.').replace('.', '/')}.py"


def _is_numpys(function: Any) -> bool:
    return str(getattr(function, "__module__", "")).partition(".")[0] == "numpy"


def _names(modules: list[types.ModuleType]) -> dict[Any, list[str]]:
    """Public names of functions, classes, and methods of public classes; a method's is that of the first class."""
    found: dict[Any, list[str]] = {}
    for module in modules:
        for name in _public(module):
            one = getattr(module, name, None)
            full = f"{module.__name__}.{name}"
            _note(found, one, full)
            if isinstance(one, type):
                for attribute in dir(one):
                    label = f"{full}()" if attribute == "__call__" else f"{full}.{attribute}"
                    if attribute == "__call__" or not attribute.startswith("_"):
                        method = inspect.getattr_static(one, attribute, None)
                        _note(found, method.__func__ if isinstance(method, staticmethod) else method, label)
    return found


def _public(module: types.ModuleType) -> list[str]:
    names = getattr(module, "__all__", None) or dir(module)
    return sorted(name for name in {*names, *dir(module)} if not name.startswith("_"))


def _note(found: dict[Any, list[str]], one: Any, name: str) -> None:
    if not callable(one):
        return
    try:
        found.setdefault(one, []).append(name)
    except TypeError:  # not hashable
        return


def _module_of(name: str) -> str:
    """The module in a dotted name: what `sys.modules` has the longest name of."""
    parts = name.split(".")
    return next(found for k in range(len(parts) - 1, 0, -1) if (found := ".".join(parts[:k])) in sys.modules)
