"""Where the program has arrays that are lent: there it gets what stands for them, for code that is not read.

When an array is lent, the variables of the functions that run are looked through, and objects, lists and dictionaries
that they have at hand. Before a call of code that is not read, everything that the call is given is: that code can
reach nothing else. What has such an array and can hold nothing else in its place is an error there.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from functools import lru_cache
from operator import is_
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import Tracked
from bridge.code_position import here, resolve
from bridge.errors import EscapeError
from bridge.source.finding import is_library
from bridge.source.lending import COUNT, LENT, NAMED, whole_of
from bridge.state.graph import Edge, Policy, Walk, edges, said_by
from bridge.state.slots import Attribute, Contents, Element, Item

_NEAR, _FAR = 4, 12
_MOST = {_NEAR: 256, _FAR: 8192}
"""A container of more elements is data; only its first ones are looked at."""

_DATA = frozenset({
    type(None), bool, int, float, complex, str, bytes, bytearray, slice, range, type, ModuleType, CodeType, type(...),
    np.float64, np.float32, np.int64, np.bool_, np.dtype, np.ufunc,
})  # fmt: skip
_OPAQUE = (type, ModuleType, CodeType, np.generic, np.ufunc, np.dtype, BaseException, weakref.ref)
_PASSING = frozenset({
    itertools.cycle, itertools.repeat, itertools.chain, itertools.islice, zip, enumerate, reversed,
    *(type(iter(kind())) for kind in (list, tuple, dict, set)),
})  # fmt: skip
"""Iterators that look at nothing: what they give is looked up when it comes."""

_IS_OF_PYTHON = 1 << 9
"""The flag of classes that are made when the program runs."""

_LIBRARIES = frozenset({"bridge", "numba", "logging", "threading", "unittest", "_pytest"})


class Exchange:
    """One look for arrays that are lent.

    Parameters
    ----------
    is_far : what a call is given is looked through, as far as it goes.
    depth : how many things, one in another, are looked into; as many as for such a look without it.

    Attributes
    ----------
    outside : what is lent and was found.
    steps : how many things were looked at.
    """

    def __init__(self, is_far: bool = False, depth: int | None = None) -> None:
        self.is_far = is_far
        self.most = _MOST[_FAR if is_far else _NEAR]
        self.outside: set[Any] = set()
        self.steps = 0
        depth = depth or (_FAR if is_far else _NEAR)
        # What was looked at must not live on: a circle of references would have it wait for the collector.
        me = weakref.proxy(self)
        policy = Policy(lambda one: me._is_end(one), lambda one: me._held_by(one), elements=self.most, depth=depth)
        self._walk = Walk((), policy)
        # By identity, classes and code whose names were looked at, and what iterators give that others look at.
        self._known: set[int] = set()
        self._used: set[int] = set()

    def in_frame(self, frame: Any, names: Iterable[str]) -> None:
        """In variables of a function that runs, and in those of its module."""
        variables = frame.f_locals
        for name in list(names):
            value = variables.get(name)
            if type(value) is np.ndarray:
                self.note(value)
            else:
                self.inside([value])
        found = list(self._named(frame.f_globals, frame.f_code))
        self._exchange(found)
        self.inside([edge[3] for edge in found])

    def given(self, values: Iterable[Any]) -> list[Any]:
        """What code that is not read gets in the place of what it is given."""
        values = list(values)
        found = list(map(self._stand_in, values))
        self.inside(values)
        return found

    def inside(self, things: Iterable[Any]) -> None:
        """In objects and containers, and in what they have."""
        self._walk.add(things)
        for _, found in self._walk:
            self.steps += 1 + len(found)
            self._exchange(found)

    def _is_end(self, thing: Any) -> bool:
        kind = type(thing)
        if kind is np.ndarray or issubclass(kind, np.ndarray):
            return not (self.is_far and thing.dtype.hasobject)
        return _is_opaque(kind) or (kind is memoryview and not self.is_far)  # type: ignore[arg-type]

    def _held_by(self, thing: Any) -> Iterator[Edge]:
        """What a thing holds; near, no more than what has a slot, or is in tuples, sets and iterators."""
        kind = type(thing)
        if kind is FunctionType:
            yield from self._of_function(thing)
            return
        is_used = id(thing) in self._used
        is_asked = hasattr(kind, "__next__") and (kind not in _PASSING or is_used)
        shows_all = self.is_far or is_asked or issubclass(kind, (tuple, set, frozenset))
        for slot, owner, name, value in edges(thing):
            if type(value) in _DATA:
                continue
            if is_asked or (is_used and kind is tuple):
                self._used.add(id(value))
            if slot is Item or slot is Element:
                yield Contents, owner, name, value
            elif slot is not None or shows_all:
                yield slot, owner, name, value
        for cls in kind.__mro__:
            if cls.__flags__ & _IS_OF_PYTHON and id(cls) not in self._known:
                self._known.add(id(cls))
                if cls.__module__.partition(".")[0] not in _LIBRARIES:
                    yield from (one for one in said_by(cls) if issubclass(type(one[3]), (np.ndarray, list, dict)))

    def _of_function(self, function: FunctionType) -> Iterator[Edge]:
        """A function's attributes; far, its enclosing variables, its defaults, and globals that it names as well."""
        module = function.__module__ or ""
        if not self.is_far:
            yield from ((Attribute, function, name, value) for name, value in function.__dict__.items())
        elif module.partition(".")[0] not in _LIBRARIES:
            yield from edges(function)
            if not is_library(function.__code__.co_filename, module):
                yield from self._named(function.__globals__, function.__code__)

    def _named(self, names: dict[str, Any], code: CodeType) -> Iterator[Edge]:
        """The global variables that code names."""
        if id(code) not in self._known:
            self._known.add(id(code))
            for name in code.co_names:
                value = names.get(name)
                if type(value) not in _DATA and (self.is_far or type(value) is not FunctionType):
                    yield Item, names, name, value

    def _exchange(self, found: Iterable[Edge]) -> None:
        """Replace the lent arrays among these edges by their Buffers."""
        for kind, owner, name, value in found:
            new = self._stand_in(value)
            if new is value:
                continue
            if kind is not None:
                self.note(value)
                lent = next(filter(None, map(_lent, _arrays(value))))
                lent.loan.keep(kind, owner, name, lent.buffer)
                (Item if kind is Contents else kind).of(owner, name).set(new)  # type: ignore[attr-defined]
            elif self.is_far and not issubclass(type(owner), tuple):
                self._refuse(owner)

    def _stand_in(self, value: Any) -> Any:
        """What stands for an array; a tuple with what stands for arrays; or the same."""
        kind = type(value)
        if issubclass(kind, np.ndarray):
            self.steps += 1
            found = _lent(value)
            if found is not None and kind is np.ndarray:
                return found.shown(value)
            if found is not None and self.is_far:
                self._refuse(value)
        elif issubclass(kind, tuple) and len(value) <= self.most:
            parts = [one if type(one) in _DATA else self._stand_in(one) for one in value]
            if all(map(is_, parts, value)):
                return value
            if kind is tuple:
                return tuple(parts)
            if hasattr(value, "_make"):
                return value._make(parts)
            if self.is_far:
                self._refuse(value)
        return value

    def _refuse(self, thing: Any) -> None:
        kind = type(thing)
        raise EscapeError(
            "code that is not read is given an array that tracked values were written into, by way of an object that "
            f"keeps the array itself: a {kind.__module__}.{kind.__qualname__}",
            where=resolve(here()),
            remedy="use the array itself, or make that object after the write",
        )

    def note(self, value: Any) -> None:
        """Take note of an array, or those in a tuple, if it is lent."""
        for array in _arrays(value):
            found = _lent(array)
            if found is not None:
                self.outside.add(found)


def look_through(iterator: Any) -> None:
    """What stands for arrays that are lent comes to where an iterator of Python's has them."""
    if type(iterator) not in _PASSING:
        Exchange(depth=_FAR).inside([iterator])


@lru_cache(maxsize=1024)
def shows_an_array(kind: Hashable) -> bool:
    """Whether objects of a class stand for arrays, whose memory may be another's: of pandas, xarray, torch."""
    return isinstance(kind, type) and hasattr(kind, "__array__") and not issubclass(kind, _ARRAYS)


_ARRAYS = (np.ndarray, np.generic, Tracked)


def look_into(value: Any) -> Any:
    """An object that stands for an array: for memory that is lent it gets what stands for that, or it is refused."""
    if COUNT.number:
        Exchange(is_far=True).inside([value])
    return value


@lru_cache(maxsize=4096)
def _is_opaque(kind: Hashable) -> bool:
    """Whether nothing is looked for in objects of a class."""
    assert isinstance(kind, type)
    is_of_library = kind.__module__.partition(".")[0] in _LIBRARIES and not issubclass(kind, _CONTAINERS)
    return kind in _DATA or issubclass(kind, (*_OPAQUE, Tracked)) or is_of_library


_CONTAINERS = (dict, list, deque, tuple, set, frozenset)


def _lent(array: np.ndarray) -> Any:
    """What is lent of the memory of an array to this thread."""
    whole = whole_of(array)
    found = LENT.get(id(whole)) or NAMED.get((threading.get_ident(), id(whole)))
    return found if found is not None and found.loan.thread == threading.get_ident() else None


def _arrays(value: Any) -> Iterable[np.ndarray]:
    if issubclass(type(value), tuple):
        for part in value:
            yield from _arrays(part)
    elif issubclass(type(value), np.ndarray):
        yield value
