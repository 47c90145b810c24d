"""Whether a program can reach some arrays by another way than its arguments: most cannot, and pay nothing for it.

The same is asked of memory of the program's own, while it is compiled, when a name stands for one array or another.
"""

from __future__ import annotations

import dis
import gc
import sys
from bisect import bisect_right
from collections.abc import Container, Iterable, Iterator
from itertools import takewhile
from types import BuiltinFunctionType, CellType, CodeType, FrameType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar
from bridge.code_position import frames
from bridge.source.finding import is_library, once_for_each_code
from bridge.source.lending import whole_of
from bridge.source.reading import is_rewritten
from bridge.state.graph import Edge, Policy, Walk, edges, named, names_in, said_by

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
    np.int64, np.bool_, type(np.sum), np.random.Generator, type(np.dtype(float)),
})  # fmt: skip
"""Classes of what reaches no array."""

_SHOWN = frozenset({
    tuple, list, dict, set, frozenset, FunctionType, CellType, BuiltinFunctionType, MethodType, type, np.ufunc,
})  # fmt: skip
"""Classes of objects that show all that they have."""

_TRACKED = frozenset({Buffer, Scalar, WeakScalar})
_LIBRARIES = frozenset({"bridge", "numba", "numpy", "scipy", "builtins", "math", "jax"})
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
    start: list[Any], owners: Container[int], roots: Container[Any], most: int, but: Iterable[Any] = ()
) -> bool:
    def is_end(one: Any) -> bool:
        return type(one) in _NOTHING or (type(one) in _TRACKED and one.place.root not in roots)

    walk = Walk(start, Policy(is_end, _edges, most), but)
    for one, _ in walk:
        kind = type(one)
        if kind in _TRACKED:
            return True
        if issubclass(kind, np.ndarray):
            if one.dtype.hasobject or id(whole_of(one)) in owners:
                return True
        elif kind.__module__ == "numpy" or not (kind in _SHOWN or issubclass(kind, ModuleType) or gc.is_tracked(one)):
            # What it has cannot be seen.
            return True
    return walk.is_cut


def _edges(one: Any) -> Iterator[Edge]:
    """What a thing holds, its class included, and what a function of the program's names."""
    kind = type(one)
    yield from edges(one)
    if kind is FunctionType:
        if not is_library(one.__code__.co_filename, one.__module__ or ""):
            yield from named(one, _LIBRARIES)
            # It may get at whatever there is.
            for name in _INDIRECT.intersection(names_in(one.__code__)).difference(one.__globals__):
                yield None, one, name, one.__globals__
            for name in _imported_in(one.__code__):
                if name in sys.modules:
                    yield None, one, None, vars(sys.modules[name])
    elif issubclass(kind, type):
        if one.__module__.partition(".")[0] not in _LIBRARIES:
            yield from said_by(one)
    elif kind not in _SHOWN and kind.__module__.partition(".")[0] not in _LIBRARIES:
        yield None, one, None, kind


def _variables(caller: CodeType | None) -> list[Any]:
    """What the functions of the program that run have in variables."""
    return [value for frame in _frames(caller) for value in frame.f_locals.values()]


def _frames(caller: CodeType | None, codes: Container[CodeType] | None = None) -> Iterator[FrameType]:
    """The frames that run: those of the program, or of some code."""
    for frame in takewhile(lambda one: one.f_code is not caller, frames()):
        if is_rewritten(frame.f_code) if codes is None else frame.f_code in codes:
            yield frame


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


@once_for_each_code
def _imported_in(code: CodeType) -> tuple[str, ...]:
    """The modules that a function and those in it import when they run."""
    inner = [name for part in code.co_consts if type(part) is CodeType for name in _imported_in(part)]
    return (*inner, *(step.argval for step in dis.get_instructions(code) if step.opname == "IMPORT_NAME"))
