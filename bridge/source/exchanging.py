"""Where the program has arrays that are lent: there it gets what stands for them, for code that is not read.

When an array is lent, the variables of the functions that run are looked through, and objects, lists and dictionaries
that they have at hand. Before a call of code that is not read, everything that the call is given is: that code can
reach nothing else. What has such an array and can hold nothing else in its place is an error there.
"""

from __future__ import annotations

import collections
import gc
import itertools
import threading
from collections.abc import Hashable, Iterable
from functools import lru_cache
from operator import is_
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import Tracked, is_tracked
from bridge.code_position import here, resolve
from bridge.errors import EscapeError
from bridge.source.finding import is_library
from bridge.source.keeping import Slots
from bridge.source.lending import COUNT, LENT, NAMED, whole_of
from bridge.state.slots import Attribute, Contents, Item, Variable, is_member, state_of

_NEAR, _FAR = 4, 12
_MOST = {_NEAR: 256, _FAR: 4096}
"""A container of more elements is data; only its first ones are looked at."""

_DATA = frozenset({
    type(None), bool, int, float, complex, str, bytes, bytearray, slice, range, type, ModuleType, CodeType, type(...),
    np.float64, np.float32, np.int64, np.bool_, np.dtype, np.ufunc,
})  # fmt: skip
_OPAQUE = (type, ModuleType, CodeType, np.generic, np.ufunc, np.dtype, BaseException)
_PASSING = frozenset({
    itertools.cycle, itertools.repeat, itertools.chain, itertools.islice, zip, enumerate, reversed,
    *(type(iter(kind())) for kind in (list, tuple, dict, set)),
})  # fmt: skip
"""Iterators that look at nothing: what they give is looked up when it comes."""

_IS_OF_PYTHON = 1 << 9
"""The flag of classes that are made when the program runs."""

_LIBRARIES = frozenset({"bridge", "logging", "threading", "unittest", "_pytest"})


class Exchange:
    """One look for arrays that are lent.

    Parameters
    ----------
    is_far : what a call is given is looked through, as far as it goes.

    Attributes
    ----------
    outside : what is lent and was found.
    steps : how many things were looked at.
    """

    def __init__(self, is_far: bool = False) -> None:
        self.is_far = is_far
        self.depth = _FAR if is_far else _NEAR
        self.most = _MOST[self.depth]
        self.outside: set[Any] = set()
        self.steps = 0
        self._seen: set[int] = set()
        self._alive: list[Any] = []

    def in_frame(self, frame: Any, names: Iterable[str]) -> None:
        """In variables of a function that runs, and in those of its module."""
        variables = frame.f_locals
        for name in list(names):
            value = variables.get(name)
            if type(value) is np.ndarray:
                self.note(value)
            elif type(value) not in _DATA:
                self.inside(value, self.depth)
        self._in_names(frame.f_globals, frame.f_code)

    def given(self, values: Iterable[Any]) -> list[Any]:
        """What code that is not read gets in the place of what it is given."""
        return [value if type(value) in _DATA else self._exchanged(value, self.depth) for value in values]

    def inside(self, thing: Any, depth: int, is_used: bool = False) -> None:
        """In an object or a container, and in what it has; `is_used`: another iterator looks at what this one gives."""
        kind = type(thing)
        if depth == 0 or kind in _DATA or id(thing) in self._seen or issubclass(kind, _OPAQUE):
            return
        self._seen.add(id(thing))
        self.steps += 1
        if issubclass(kind, dict):
            self._in_items(thing, list(thing.items())[: self.most], depth)
        elif issubclass(kind, (list, collections.deque)):
            self._in_items(thing, list(enumerate(thing))[: self.most], depth)
        elif issubclass(kind, (tuple, set, frozenset)):
            for value in list(thing)[: self.most]:
                self.inside(value, depth - 1)
        elif kind is CellType:
            self._in_cells((thing,), depth)
        elif is_tracked(thing) or kind.__module__.partition(".")[0] in _LIBRARIES:
            return
        elif issubclass(kind, np.ndarray):
            if self.is_far and thing.dtype.hasobject:
                self._has(thing, thing.ravel().tolist()[: self.most], depth)
        elif self.is_far and kind is memoryview:
            self._has(thing, [thing.obj], depth)
        elif self.is_far and kind is FunctionType:
            self._in_function(thing, depth)
        else:
            self._in_attributes(thing, depth)
            if self.is_far or (hasattr(kind, "__next__") and (is_used or kind not in _PASSING)):
                self._has(thing, gc.get_referents(thing), depth)

    def _exchanged(self, value: Any, depth: int) -> Any:
        """What stands for an array; a tuple with what stands for arrays; or the same."""
        if issubclass(type(value), np.ndarray):
            self.steps += 1
            found = _lent(value)
            if found is None:
                self.inside(value, depth)
            elif type(value) is np.ndarray:
                return found.shown(value)
            elif self.is_far:
                self._refuse(value)
            return value
        if issubclass(type(value), tuple) and depth > 1 and len(value) <= self.most:
            parts = [one if type(one) in _DATA else self._exchanged(one, depth - 1) for one in value]
            if all(map(is_, parts, value)):
                return value
            if type(value) is tuple:
                return tuple(parts)
            if hasattr(value, "_make"):
                return value._make(parts)
            if self.is_far:
                self._refuse(value)
        self.inside(value, depth)
        return value

    def _in_items(self, container: Any, items: list[tuple[Any, Any]], depth: int) -> None:
        for key, value in items:
            if type(value) not in _DATA:
                new = self._exchanged(value, depth - 1)
                if new is not value:
                    self._put(Contents, container, key, value, new)
                    container[key] = new
            if self.is_far and type(key) not in _DATA:
                self.inside(key, depth - 1)

    def _in_attributes(self, thing: Any, depth: int) -> None:
        kind = type(thing)
        state = state_of(thing)
        if type(state) is dict:
            for name, value in list(state.items())[: self.most]:
                if type(value) not in _DATA:
                    new = self._exchanged(value, depth - 1)
                    if new is not value:
                        self._put(Attribute, thing, name, value, new)
                        state[name] = new
        for cls in kind.__mro__[:-1]:
            for name, descriptor in list(vars(cls).items()) if "__slots__" in vars(cls) else ():
                value = _filled(descriptor, thing)
                if type(value) not in _DATA:
                    new = self._exchanged(value, depth - 1)
                    if new is not value:
                        self._put(Attribute, thing, name, value, new)
                        object.__setattr__(thing, name, new)
            if cls.__flags__ & _IS_OF_PYTHON and cls.__module__.partition(".")[0] not in _LIBRARIES:
                self._in_class(cls)

    def _in_class(self, cls: type) -> None:
        """In the attributes of a class."""
        if id(cls) in self._seen:
            return
        self._seen.add(id(cls))
        for name, value in list(vars(cls).items()):
            if issubclass(type(value), (np.ndarray, list, dict)):
                new = self._exchanged(value, 2)
                if new is not value:
                    self._put(Attribute, cls, name, value, new)
                    setattr(cls, name, new)

    def _in_function(self, function: FunctionType, depth: int) -> None:
        """In what a function has: its enclosing variables, its defaults, its attributes, and globals that it names."""
        module = function.__module__ or ""
        if module.partition(".")[0] in _LIBRARIES:
            return
        self._in_cells(function.__closure__ or (), depth)
        for name in ("__defaults__", "__kwdefaults__"):
            value = getattr(function, name)
            new = value and self._exchanged(value, depth)
            if new is not value:
                self._put(Attribute, function, name, value, new)
                setattr(function, name, new)
        if function.__dict__:
            self.inside(function.__dict__, depth)
        if not is_library(function.__code__.co_filename, module):
            self._in_names(function.__globals__, function.__code__)

    def _in_cells(self, cells: tuple[CellType, ...], depth: int) -> None:
        """In variables that functions share."""
        for number, cell in enumerate(cells):
            try:
                value = cell.cell_contents
            except ValueError:  # a variable without a value
                continue
            new = value if type(value) in _DATA else self._exchanged(value, depth - 1)
            if new is not value:
                self._put(Variable, cells, number, value, new)
                cell.cell_contents = new

    def _in_names(self, names: dict[str, Any], code: CodeType) -> None:
        """In the global variables that code names."""
        if id(code) in self._seen:
            return
        self._seen.add(id(code))
        for name in code.co_names:
            value = names.get(name)
            if type(value) not in _DATA and not (type(value) is FunctionType and not self.is_far):
                new = self._exchanged(value, self.depth)
                if new is not value:
                    self._put(Item, names, name, value, new)
                    names[name] = new

    def _has(self, thing: Any, values: list[Any], depth: int) -> None:
        """An object has these values, and cannot be given others."""
        # Some are made for the asking: as long as they live, no other has their identity.
        self._alive.append(values)
        for value in values:
            kind = type(value)
            if kind is tuple:
                self._has(thing, list(value)[: self.most], depth)
            elif issubclass(kind, np.ndarray):
                if self._exchanged(value, depth - 1) is not value and self.is_far:
                    self._refuse(thing)
            else:
                self.inside(value, depth - 1, True)

    def _refuse(self, thing: Any) -> None:
        kind = type(thing)
        raise EscapeError(
            "code that is not read is given an array that tracked values were written into, by way of an object that "
            f"keeps the array itself: a {kind.__module__}.{kind.__qualname__}",
            where=resolve(here()),
            remedy="use the array itself, or make that object after the write",
        )

    def _put(self, kind: type[Slots], thing: Any, name: Any, value: Any, new: Any) -> None:
        """Remember what `thing` has under a name; it gets `new` in the place of `value`."""
        self.note(value)
        found = next(filter(None, map(_lent, _arrays(value))))
        found.loan.keep(kind, thing, name, found.buffer)

    def note(self, value: Any) -> None:
        """Take note of an array, or those in a tuple, if it is lent."""
        for array in _arrays(value):
            found = _lent(array)
            if found is not None:
                self.outside.add(found)


def look_through(iterator: Any) -> None:
    """What stands for arrays that are lent comes to where an iterator of Python's has them."""
    if type(iterator) not in _PASSING:
        Exchange().inside(iterator, _FAR)


@lru_cache(maxsize=1024)
def shows_an_array(kind: Hashable) -> bool:
    """Whether objects of a class stand for arrays, whose memory may be another's: of pandas, xarray, torch."""
    return isinstance(kind, type) and hasattr(kind, "__array__") and not issubclass(kind, _ARRAYS)


_ARRAYS = (np.ndarray, np.generic, Tracked)


def look_into(value: Any) -> Any:
    """An object that stands for an array: for memory that is lent it gets what stands for that, or it is refused."""
    if COUNT.number:
        Exchange(is_far=True).inside(value, _FAR)
    return value


def _lent(array: np.ndarray) -> Any:
    """What is lent of the memory of an array to this thread."""
    whole = whole_of(array)
    found = LENT.get(id(whole)) or NAMED.get((threading.get_ident(), id(whole)))
    return found if found is not None and found.loan.thread == threading.get_ident() else None


def _filled(descriptor: Any, thing: Any) -> Any:
    """What an object has in a slot; None if a descriptor is no slot's, or nothing is there."""
    try:
        return descriptor.__get__(thing, type(thing)) if is_member(descriptor) else None
    except AttributeError:
        return None


def _arrays(value: Any) -> Iterable[np.ndarray]:
    if issubclass(type(value), tuple):
        for part in value:
            yield from _arrays(part)
    elif issubclass(type(value), np.ndarray):
        yield value
