"""Whether a program can reach some arrays by another way than its arguments: most cannot, and pay nothing for it.

The same is asked of memory of the program's own, while it is compiled, when a name stands for one array or another.
"""

from __future__ import annotations

import dis
import gc
import sys
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from types import BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.source.finding import is_library, once_for_each_code
from bridge.source.lending import whole_of
from bridge.source.reading import is_rewritten

_MOST = 128
"""How many things are looked at; a program that has more may reach anything."""

_MOST_COMPILED = 1024
"""The same while a program is compiled."""

GOES_THROUGH: set[CodeType] = set()
"""Code of this package that runs loops, and has what they go through as its `iterable`."""

_ENDS = frozenset({"POP_TOP", "RETURN_VALUE", "STORE_FAST", "STORE_DEREF", "STORE_NAME", "STORE_GLOBAL"})
_WRITES = frozenset({"STORE_SUBSCR", "STORE_SLICE"})

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
    return _reaches([*program, *_variables(caller)], owners, frozenset(), _MOST)


def may_reach_memory(
    function: Any, owners: Container[int], roots: Container[Any], caller: CodeType | None, but: Iterable[Any] = ()
) -> bool:
    """Whether a tracked array on one of these roots, or one of the caller's arrays, may be reached from `function`.

    What some objects reach alone does not count.

    True, too, where an operand that waits for the end of a call may be one of them: nobody sees these.
    """
    if any(not _waits_for_nothing_else(frame) for frame in _frames(caller)):
        return True
    return _reaches([function, *_variables(caller), *_gone_through(caller)], owners, roots, _MOST_COMPILED, but)


def _reaches(
    waiting: list[Any], owners: Container[int], roots: Container[Any], most: int, but: Iterable[Any] = ()
) -> bool:
    seen: set[int] = set(map(id, but))
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind in _TRACKED and one.place.root in roots:
            return True
        if kind in _NOTHING or kind in _TRACKED or id(one) in seen:
            continue
        seen.add(id(one))
        if len(seen) > most:
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
    return [value for frame in _frames(caller) for value in frame.f_locals.values()]


def _frames(caller: CodeType | None, codes: Container[CodeType] | None = None) -> Iterator[FrameType]:
    """The frames that run: those of the program, or of some code."""
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_code is not caller:
        if is_rewritten(frame.f_code) if codes is None else frame.f_code in codes:
            yield frame
        frame = frame.f_back


def _gone_through(caller: CodeType | None) -> list[Any]:
    """What the loops that run go through, which may be in no variable."""
    return [frame.f_locals.get("iterable") for frame in _frames(caller, GOES_THROUGH)]


def _waits_for_nothing_else(frame: FrameType) -> bool:
    """Whether a function that has called another one is at a whole statement: it holds no other operand."""
    offsets, names = _operations(frame.f_code)
    # While a function of Python's runs, the place is behind what follows the call in the code for its own use.
    at = bisect_right(offsets, frame.f_lasti) - 1
    return names[at] in _WRITES or (at + 1 < len(names) and names[at + 1] in _ENDS)


@once_for_each_code
def _operations(code: CodeType) -> tuple[list[int], list[str]]:
    """Where operations of some code are, and what they are called."""
    steps = [(step.offset, step.opname) for step in dis.get_instructions(code)]
    return [offset for offset, _ in steps], [name for _, name in steps]


def _of_function(function: FunctionType) -> list[Any]:
    """What a function has, and what it names of its module and of other modules of the program's."""
    found = [*_filled(function.__closure__ or ()), *(function.__defaults__ or ()), *function.__dict__.values()]
    if function.__kwdefaults__:
        found += function.__kwdefaults__.values()
    if not is_library(function.__code__.co_filename, function.__module__ or ""):
        found += _named(_names_in(function.__code__), function.__globals__)
        found += [vars(sys.modules[name]) for name in _imported_in(function.__code__) if name in sys.modules]
    return found


@once_for_each_code
def _names_in(code: CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in a function and those in it."""
    inner = [name for part in code.co_consts if type(part) is CodeType for name in _names_in(part)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


@once_for_each_code
def _imported_in(code: CodeType) -> tuple[str, ...]:
    """The modules that a function and those in it import when they run."""
    inner = [name for part in code.co_consts if type(part) is CodeType for name in _imported_in(part)]
    return (*inner, *(step.argval for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"))


def _named(looked_for: tuple[str, ...], names: dict[str, Any]) -> Iterable[Any]:
    for name in looked_for:
        value = names.get(name)
        if type(value) is ModuleType:
            if value.__name__.partition(".")[0] not in _LIBRARIES:
                yield from [vars(value)[one] for one in looked_for if one in vars(value)]
        elif value is not None:
            yield value
        elif name in _INDIRECT:
            # It may get at whatever there is.
            yield names


def _filled(cells: Iterable[CellType]) -> Iterable[Any]:
    for cell in cells:
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value
            continue
