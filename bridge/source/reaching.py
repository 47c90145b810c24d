"""Whether a program can reach some arrays by another way than its arguments: most cannot, and pay nothing for it."""

from __future__ import annotations

import functools
import gc
import sys
from collections.abc import Container, Iterable
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.source.finding import is_library
from bridge.source.lending import whole_of
from bridge.source.reading import is_rewritten

_MOST = 128
"""How many things are looked at; a program that has more may reach anything."""

_NOTHING = frozenset({
    type(None), bool, int, float, complex, str, bytes, slice, range, type(...), CodeType, np.float64, np.float32,
    np.int64, np.bool_, np.ufunc, type(np.sum), np.random.Generator, type(np.dtype(float)),
})  # fmt: skip
"""Classes of what reaches no array."""

_TRACKED = frozenset({Buffer, Scalar, WeakScalar})
_LIBRARIES = frozenset({"bridge", "numpy", "scipy", "builtins", "math", "jax"})
_INDIRECT = frozenset({"eval", "exec", "globals", "vars", "locals", "__import__"})


def may_reach(program: Iterable[Any], owners: Container[int], caller: CodeType | None) -> bool:
    """Whether memory of these arrays, by identity, may be reached from `program`: a function, and what it is given.

    `caller` is the code that calls the function.
    """
    waiting = [*program, *_variables(caller)]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind in _NOTHING or kind in _TRACKED or id(one) in seen:
            continue
        seen.add(id(one))
        if len(seen) > _MOST:
            return True
        if kind is tuple or kind is list:
            waiting += one
        elif kind is dict:
            waiting += [*one, *one.values()]
        elif issubclass(kind, np.ndarray):
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
        elif kind.__module__ == "numpy" or not gc.is_tracked(one):
            # What it has cannot be seen.
            return True
        else:
            waiting += gc.get_referents(one)
    return False


def _variables(caller: CodeType | None) -> list[Any]:
    """What the functions of the program that run have in variables."""
    found: list[Any] = []
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code is not caller:
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
        found += _named(_names_in(function.__code__), function.__globals__)
    return found


@functools.lru_cache(maxsize=4096)
def _names_in(code: CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a function and those in it."""
    inner = [name for part in code.co_consts if type(part) is CodeType for name in _names_in(part)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


def _named(looked_for: tuple[str, ...], names: dict[str, Any]) -> Iterable[Any]:
    for name in looked_for:
        value = names.get(name)
        if type(value) is ModuleType:
            if value.__name__.partition(".")[0] not in _LIBRARIES:
                yield from [vars(value)[one] for one in looked_for if one in vars(value)]
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
