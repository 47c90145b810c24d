"""Whether a program can reach some arrays by another way than its arguments: most cannot, and pay nothing for it."""

from __future__ import annotations

import gc
import sys
from collections.abc import Container, Iterable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.source.finding import is_library
from bridge.source.lending import whole_of
from bridge.source.reading import is_rewritten

_MOST = 128
"""How many things are looked at; a program that has more may reach anything."""

_FRAMES = 32

_NOTHING = frozenset({
    type(None), bool, int, float, complex, str, bytes, slice, range, type(...), CodeType, np.float64, np.float32,
    np.int64, np.bool_, np.ufunc, type(np.sum), np.random.Generator, type(np.dtype(float)),
})  # fmt: skip
"""Classes of what reaches no array."""

_LIBRARIES = frozenset({"bridge", "numpy", "scipy", "builtins", "math", "jax"})
_INDIRECT = frozenset({"eval", "exec", "globals", "vars", "locals", "__import__"})


def may_reach(program: Iterable[Any], owners: Container[int]) -> bool:
    """Whether memory of these arrays, by identity, may be reached from `program`: a function, and what it is given."""
    waiting = [*program, *_variables()]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind in _NOTHING or id(one) in seen or is_tracked(one):
            continue
        seen.add(id(one))
        if len(seen) > _MOST:
            return True
        if issubclass(kind, np.ndarray):
            if one.dtype.hasobject or id(whole_of(one)) in owners:
                return True
        elif kind is FunctionType:
            waiting += _of_function(one)
        elif kind is CellType:
            waiting += _filled((one,))
        elif kind is BuiltinFunctionType or kind is MethodType:
            waiting += [one.__self__, getattr(one, "__func__", None)]
        elif issubclass(kind, ModuleType):
            continue
        elif issubclass(kind, type):
            if one.__module__.partition(".")[0] not in _LIBRARIES:
                waiting += [*vars(one).values(), *one.__bases__]
        elif kind.__module__ == "numpy" or (not gc.is_tracked(one) and kind not in (tuple, dict)):
            # What it has cannot be seen.
            return True
        else:
            waiting += gc.get_referents(one)
    return False


def _variables() -> list[Any]:
    """What the functions of the program that run have in variables."""
    found: list[Any] = []
    frame: Any = sys._getframe(2)
    for _ in range(_FRAMES):
        if frame is None:
            break
        if is_rewritten(frame.f_code):
            found += frame.f_locals.values()
        frame = frame.f_back
    return found


def _of_function(function: FunctionType) -> list[Any]:
    """What a function has, and what it names of its module and of other modules of the program's."""
    found = [*_filled(function.__closure__ or ()), *(function.__defaults__ or ()), *function.__dict__.values()]
    if function.__kwdefaults__:
        found += function.__kwdefaults__.values()
    if not is_library(function.__code__.co_filename, function.__module__ or ""):
        for code in _codes(function.__code__):
            found += _named(code, function.__globals__)
    return found


def _codes(code: CodeType) -> Iterable[CodeType]:
    yield code
    for part in code.co_consts:
        if type(part) is CodeType:
            yield from _codes(part)


def _named(code: CodeType, names: dict[str, Any]) -> Iterable[Any]:
    for name in code.co_names:
        value = names.get(name)
        if type(value) is ModuleType:
            if value.__name__.partition(".")[0] not in _LIBRARIES:
                yield from _named(code, {key: one for key, one in vars(value).items() if one is not value})
        elif value is not None:
            yield value
        elif name in _INDIRECT or name in sys.modules:
            # It may get at whatever there is.
            yield names if name in _INDIRECT else vars(sys.modules[name])


def _filled(cells: Iterable[CellType]) -> Iterable[Any]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value
            continue
