"""What objects, lists, dictionaries and variables held before a differentiated call put tracked values into them."""

from __future__ import annotations

import collections
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from types import FunctionType, GeneratorType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.rewind.escapes import detach
from bridge.rewind.memory import owner
from bridge.rewind.values import TrackedObject
from bridge.source.floats import Float

GONE = object()
"""In the place of an attribute or a variable that was not there."""


_CONTAINERS = (collections.OrderedDict, dict, list, collections.deque, set)
_SEQUENCES = (tuple, list, collections.deque)


def holds_tracked(value: Any) -> bool:
    """Whether a value is tracked, or is a list, tuple, set or dictionary with a tracked value in it."""
    kind = type(value)
    if kind is list or kind is tuple or kind is set:
        return any(map(holds_tracked, value))
    if kind is dict:
        return any(map(holds_tracked, value.values()))
    if issubclass(kind, _SEQUENCES):
        return any(map(holds_tracked, value))
    return is_tracked(value) or issubclass(kind, TrackedObject)


def any_tracked(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a tracked value is among the arguments of a call."""
    return any(map(holds_tracked, args)) or (bool(kwargs) and any(map(holds_tracked, kwargs.values())))


def holds_state(value: Any) -> bool:
    """The same, but numbers that the program has made floats of do not count."""
    kind = type(value)
    if kind is list or kind is tuple or kind is set:
        return any(map(holds_state, value))
    if kind is dict:
        return any(map(holds_state, value.values()))
    if issubclass(kind, _SEQUENCES):
        return any(map(holds_state, value))
    return kind is not Float and (is_tracked(value) or issubclass(kind, TrackedObject))


class Kept(ABC):
    """One thing whose parts are exchanged in the call, and what they were.

    Attributes
    ----------
    tracked : a tracked value was put into it, which is no float that the program made.
    state : the names under which such values were put.
    before : its parts, by name, as they were.
    """

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.tracked = False
        self.state: set[Any] = set()
        self.before: dict[Any, Any] = {}

    def hold(self, name: Any) -> Iterable[Any]:
        """Remember a part, unless it was exchanged before; returns the names of the parts that may change."""
        if name not in self.before:
            self.before[name] = self.part(name)
        return (name,)

    def now(self) -> dict[Any, Any]:
        """The parts that were exchanged, as they are."""
        return {name: self.part(name) for name in self.before}

    def exchanged(self, lent: Iterable[int]) -> set[Any]:
        """Names of the parts that are to be put back.

        If one of them is tracked, or is or was lent, all but floats that the program has made: a
        counter belongs to the state that it counts.
        """
        now = self.now()
        was_lent = any(_shows(part, lent, set(), 2, False) for part in self.before.values())
        if not (self.state or was_lent or any(_shows(part, lent, set(), DEPTH) for part in now.values())):
            return set()
        return {name for name, part in now.items() if type(part) is not Float}

    def put_back(self, names: set[Any]) -> dict[Any, Any]:
        """Put back the parts of these names; returns what they were until now.

        Of numbers that the program has made floats of, the others keep plain floats.
        """
        after = {name: self.part(name) for name in names}
        self.restore({name: self.before[name] for name in names})
        others = {name: self.part(name) for name in self.before if name not in names}
        if any(map(holds_tracked, others.values())):
            self.restore({name: detach(value) for name, value in others.items()})
        self.before = {name: self.before[name] for name in names}
        return after

    @abstractmethod
    def part(self, name: Any) -> Any:
        """A part as it is now; GONE if it is not there."""

    @abstractmethod
    def restore(self, parts: dict[Any, Any]) -> None:
        """Put parts back."""


class Attributes(Kept):
    """An object's attributes."""

    def hold(self, name: str) -> Iterable[str]:
        found = of_class(type(self.thing), name)
        if hasattr(type(found), "__set__") and not is_member(found) and not isinstance(found, GetSetDescriptorType):
            # A setter stores what it likes.
            names = list(state_of(self.thing) or ())
            for one in names:
                super().hold(one)
            return names
        return super().hold(name)

    def part(self, name: str) -> Any:
        found = of_class(type(self.thing), name)
        if isinstance(found, GetSetDescriptorType):
            # Compiled code keeps it, and shows it by its own name only.
            return found.__get__(self.thing)
        state = state_of(self.thing)
        if state is not None and (name in state or not _is_slot(self.thing, name)):
            return state.get(name, GONE)
        try:
            return object.__getattribute__(self.thing, name)
        except AttributeError:
            return GONE

    def restore(self, parts: dict[Any, Any]) -> None:
        for name, value in parts.items():
            found = of_class(type(self.thing), name)
            if isinstance(found, GetSetDescriptorType):
                found.__set__(self.thing, value)
            elif value is not GONE:
                _set(self.thing, name, value)
            elif self.part(name) is not GONE:
                _delete(self.thing, name)


class Defaults(Kept):
    """The default values of a function's parameters."""

    def part(self, name: str) -> Any:
        return getattr(self.thing, name)

    def restore(self, parts: dict[Any, Any]) -> None:
        for name, value in parts.items():
            setattr(self.thing, name, value)


class Contents(Kept):
    """The elements of a list, a dictionary or another of Python's containers: all, or none."""

    def hold(self, name: Any) -> Iterable[Any]:
        return super().hold(None)

    def part(self, name: Any) -> Any:
        kind = self._kind()
        return list(kind.items(self.thing) if issubclass(kind, dict) else kind.__iter__(self.thing))

    def restore(self, parts: dict[Any, Any]) -> None:
        if None not in parts:
            return
        kind = self._kind()
        kind.clear(self.thing)
        (kind.update if hasattr(kind, "update") else kind.extend)(self.thing, parts[None])

    def _kind(self) -> Any:
        """The class of Python's that it is of: what the program's class says of its methods does not count."""
        return next(kind for kind in _CONTAINERS if issubclass(type(self.thing), kind))


class Names(Kept):
    """Global variables of a module."""

    def part(self, name: str) -> Any:
        return self.thing.get(name, GONE)

    def restore(self, parts: dict[Any, Any]) -> None:
        for name, value in parts.items():
            if value is GONE:
                self.thing.pop(name, None)
            else:
                self.thing[name] = value


class Cells(Kept):
    """Variables of enclosing functions that a function rebinds; `thing` is its closure, and numbers are the names."""

    def part(self, name: int) -> Any:
        try:
            return self.thing[name].cell_contents
        except ValueError:  # a variable without a value
            return GONE

    def restore(self, parts: dict[Any, Any]) -> None:
        for name, value in parts.items():
            if value is not GONE:
                self.thing[name].cell_contents = value


def of_class(kind: type, name: str) -> Any:
    """What a class has under a name, of which nothing is asked; None if there is nothing."""
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)


def state_of(thing: Any) -> Any:
    """An object's own attributes, whatever its class says about attributes; None if it has none."""
    if issubclass(type(thing), threading.local):
        return thing.__dict__
    try:
        return object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None


def _is_slot(thing: Any, name: str) -> bool:
    return is_member(of_class(type(thing), name))


def is_member(found: Any) -> bool:
    """Whether a class keeps an attribute of its objects in a slot."""
    return type(found) is MemberDescriptorType


def _set(thing: Any, name: str, value: Any) -> None:
    state = state_of(thing)
    if issubclass(type(thing), type):
        type.__setattr__(thing, name, value)
    elif state is not None and not _is_slot(thing, name):
        state[name] = value
    else:
        object.__setattr__(thing, name, value)


def _delete(thing: Any, name: str) -> None:
    state = state_of(thing)
    if issubclass(type(thing), type):
        type.__delattr__(thing, name)
    elif state is not None and name in state:
        del state[name]
    else:
        object.__delattr__(thing, name)


def _shows(value: Any, lent: Iterable[int], seen: set[int], depth: int, tracked: bool = True) -> bool:
    """Whether a value shows memory that is lent, or, with `tracked`, is tracked; or something in it."""
    kind = type(value)
    if kind in PLAIN or issubclass(kind, (type, ModuleType)):
        return False
    if issubclass(kind, np.ndarray):
        return id(owner(value)) in lent
    if is_tracked(value) or issubclass(kind, TrackedObject):
        return tracked and kind is not Float
    if depth == 0 or id(value) in seen:
        return False
    seen.add(id(value))
    return any(_shows(one, lent, seen, depth - 1, tracked) for one in inner_of(value))


def inner_of(value: Any) -> Iterable[Any]:
    """What a container, an object, a function or a generator holds."""
    kind = type(value)
    if issubclass(kind, dict):
        return list(dict.values(value))
    if issubclass(kind, (list, tuple, set, frozenset, collections.deque)):
        return list(value)
    if kind is FunctionType:
        return [cell.cell_contents for cell in value.__closure__ or () if not _is_empty(cell)]
    if kind is GeneratorType:
        return [] if value.gi_frame is None else list(value.gi_frame.f_locals.values())
    return [*(state_of(value) or {}).values(), *_in_slots(value)]


def _is_empty(cell: Any) -> bool:
    """Whether a variable of an enclosing function has no value."""
    try:
        return cell.cell_contents is cell
    except ValueError:
        return True


def _in_slots(thing: Any) -> Iterable[Any]:
    for cls in type(thing).__mro__[:-1]:
        for found in vars(cls).values() if "__slots__" in vars(cls) else ():
            if is_member(found):
                try:
                    yield found.__get__(thing, cls)
                except AttributeError:  # not filled
                    continue


DEPTH = 8
"""How deep values are looked into."""

PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, np.float64, np.float32, np.int64, np.bool_})
"""Classes of values that hold no others."""
