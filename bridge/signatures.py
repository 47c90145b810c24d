"""Names of operations, and what the code of a pull reads."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable
from functools import cache
from itertools import takewhile
from typing import Any

import numpy as np


def operation_name(function: Any) -> str:
    """The name by which messages call a function: `np.linalg.solve`, `scipy.special.erf`, `mymodule.f`."""
    name = getattr(function, "__name__", type(function).__name__)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return f"{operation_name(owner)}.{name}"
    if isinstance(function, np.ufunc):
        if name.endswith(" (vectorized)"):
            return f"np.frompyfunc({name.removesuffix(' (vectorized)')})"
        return f"np.{name}" if getattr(np, name, None) is function else f"scipy.special.{name}"
    module = getattr(function, "__module__", None) or ""
    if module.startswith("numpy"):
        return "np" + module[len("numpy") :].replace("._core.multiarray", "") + f".{name}"
    return f"{module}.{name}" if module not in ("", "__main__", "builtins") else name


def as_key(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, or one that calls it where it cannot be a key of a table (handles of ctypes cannot)."""
    try:
        hash(function)
    except TypeError:
        return functools.wraps(function, updated=())(lambda *args, **kwargs: function(*args, **kwargs))
    return function


@cache
def positional_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the parameters that may be given by position, up to a variadic one; none where no signature is known."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return ()
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in takewhile(lambda p: p.kind in named, parameters))


_LOOKS = frozenset({"shape", "dtype", "ndim", "size"})


def names_read(function: Callable[..., Any], looks_count: bool = True) -> set[str]:
    """Names of the local variables that `function`'s code loads, its parameters among them.

    Without `looks_count`, loads that only ask for shape, dtype, ndim or size are left out.
    """
    code = getattr(inspect.unwrap(function), "__code__", None)
    if code is None:
        return set(inspect.signature(function).parameters)
    found: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for instruction, following in zip(instructions, [*instructions[1:], None], strict=True):
        if not instruction.opname.startswith(("LOAD_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "STORE_FAST_LOAD_FAST")):
            continue
        argument = instruction.argval
        looks = following is not None and following.opname == "LOAD_ATTR" and following.argval in _LOOKS
        if isinstance(argument, tuple):
            found.update(argument)
        elif looks_count or not looks:
            found.add(argument)
    return found


def output_read(pull: Callable[..., Any], read: set[str]) -> set[str]:
    """`{"out"}` if a pull reads its second parameter, under whatever name."""
    names = list(inspect.signature(pull).parameters)
    return {"out"} if len(names) > 1 and names[1] in read else set()


def pull_parameters(pull: Callable[..., Any], leading: int = 2) -> tuple[tuple[str, ...], str | None]:
    """Names of the parameters after the `leading` ones, and that of the variadic one."""
    parameters = list(inspect.signature(pull).parameters.values())[leading:]
    variadic = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
    return tuple(p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)), variadic


def first_pull(pulls: tuple[Callable[..., Any] | None, ...] | None) -> Callable[..., Any]:
    """The first pull that there is."""
    return next(pull for pull in pulls or () if pull is not None)
