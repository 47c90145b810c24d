"""Slots of the program into which a differentiated call puts tracked values, and what they held before it."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.rewind.escapes import detach
from bridge.rewind.memory import owner
from bridge.rewind.values import TrackedObject
from bridge.source.floats import Float
from bridge.state.graph import PLAIN, held_by
from bridge.state.slots import Attribute, Contents, Part, Variable, state_of

Slots = Variable | Part
Name = tuple[type[Slots], Any]
"""The kind of a slot, and its name in the thing that has it."""

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


class Kept:
    """One thing whose slots are exchanged in the call, and what they held.

    It has no slots itself, but their kinds and names, so that it holds the thing once.

    Attributes
    ----------
    tracked : a tracked value was put into it, which is no float that the program made.
    state : the slots into which such values were put.
    before : the values of its slots before the call exchanged them.
    """

    def __init__(self, thing: Any) -> None:
        self.thing = thing
        self.tracked = False
        self.state: set[Name] = set()
        self.before: dict[Name, Any] = {}

    def slot(self, name: Name) -> Any:
        """A slot of the thing."""
        kind, part = name
        return kind.of(self.thing, part)

    def hold(self, kind: type[Slots], part: Any) -> Iterable[Name]:
        """Remember a slot, unless it was exchanged before; returns those that may change when it is set."""
        names: list[Name] = [(kind, None if kind is Contents else part)]
        if kind is Attribute and Attribute(self.thing, part).has_setter:
            # A setter stores what it likes.
            names = [(Attribute, one) for one in state_of(self.thing) or ()]
        for name in names:
            if name not in self.before:
                self.before[name] = self.slot(name).get()
        return names

    def now(self) -> dict[Name, Any]:
        """The values of the slots that were exchanged, as they are."""
        return {name: self.slot(name).get() for name in self.before}

    def exchanged(self, lent: Iterable[int]) -> set[Name]:
        """Names of the slots that are to be put back.

        If one of them is tracked, or is or was lent, all but floats that the program has made: a
        counter belongs to the state that it counts.
        """
        now = self.now()
        was_lent = any(_shows(value, lent, set(), 2, False) for value in self.before.values())
        if not (self.state or was_lent or any(_shows(value, lent, set(), DEPTH) for value in now.values())):
            return set()
        return {name for name, value in now.items() if type(value) is not Float}

    def put_back(self, names: set[Name]) -> dict[Name, Any]:
        """Put back the slots of these names; returns what they held until now.

        Of numbers that the program has made floats of, the others keep plain floats.
        """
        after = {name: self.slot(name).get() for name in names}
        # What was kept first is put back last: the contents of a dictionary, and then an item that was kept before.
        self.restore({name: before for name, before in reversed(self.before.items()) if name in names})
        others = {name: self.slot(name).get() for name in self.before if name not in names}
        if any(map(holds_tracked, others.values())):
            self.restore({name: detach(value) for name, value in others.items()})
        self.before = {name: value for name, value in self.before.items() if name in names}
        return after

    def restore(self, values: dict[Name, Any]) -> None:
        """Let slots hold these values."""
        for name, value in values.items():
            self.slot(name).set(value)


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
    return any(_shows(one, lent, seen, depth - 1, tracked) for one in held_by(value))


DEPTH = 8
"""How deep values are looked into."""
