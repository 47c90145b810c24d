"""Slots: every kind of them gives a value, takes another one, and gets the first one back."""

from __future__ import annotations

import array
import collections
import contextvars
import ctypes
import enum
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bridge.state.slots import GONE, Attribute, ContextValue, Item, Slot, Value, Variable, contents_of


class Thing:
    k: Any = None


class Slotted:
    __slots__ = ("k",)


class Guarded:
    """Its own code takes no part in what a slot does."""

    def __init__(self) -> None:
        self.__dict__["k"] = 1.0

    def __setattr__(self, name: str, value: Any) -> None:
        raise AssertionError("a setter of the program's was called")

    def __getattribute__(self, name: str) -> Any:
        if name == "k":
            raise AssertionError("a getter of the program's was called")
        return object.__getattribute__(self, name)


class Colour(enum.Enum):
    RED = 1


class OwnList(list[Any]):
    def __iter__(self) -> Any:
        raise AssertionError("a method of the program's was called")


def _with(thing: Any, value: Any) -> Any:
    object.__setattr__(thing, "k", value)
    return thing


def _function(a: float = 1.0, *, b: float = 2.0) -> float:
    return a * b


def _of_a_thread() -> Any:
    made = threading.local()
    made.k = 1.0
    return made


VARIABLE: contextvars.ContextVar[Any] = contextvars.ContextVar("VARIABLE", default=1.0)
DOUBLE = ctypes.c_double(1.0)

FILLED: dict[str, tuple[Callable[[], Slot], Any]] = {
    "a variable": (lambda: Variable("k", types.CellType(1.0)), 2.0),
    "a value": (lambda: Value([1.0]), 2.0),
    "an attribute": (lambda: Attribute(_with(Thing(), 1.0), "k"), 2.0),
    "an attribute behind a setter": (lambda: Attribute(Guarded(), "k"), 2.0),
    "a slot": (lambda: Attribute(_with(Slotted(), 1.0), "k"), 2.0),
    "an attribute of a class": (lambda: Attribute(type("K", (), {"k": 1.0}), "k"), 2.0),
    "a member of an enumeration": (lambda: Attribute(Colour, "RED"), 2.0),
    "an attribute of a thread": (lambda: Attribute(_of_a_thread(), "k"), 2.0),
    "defaults": (lambda: Attribute(_function, "__defaults__"), (3.0,)),
    "defaults of keywords": (lambda: Attribute(_function, "__kwdefaults__"), {"b": 3.0}),
    "a class": (lambda: Attribute(Thing(), "__class__"), type("K", (Thing,), {})),
    "all attributes": (lambda: Attribute(Thing(), "__dict__"), {"k": 2.0}),
    "the contents of a cell": (lambda: Attribute(types.CellType(1.0), "cell_contents"), 2.0),
    "an item": (lambda: Item({"k": 1.0}, "k"), 2.0),
    "a context variable": (lambda: ContextValue(VARIABLE), 2.0),
    "a list": (lambda: contents_of([1.0]), [2.0, 3.0]),
    "a list of the program's class": (lambda: contents_of(OwnList([1.0])), [2.0]),
    "a dictionary": (lambda: contents_of({"k": 1.0}), [("m", 2.0)]),
    "an ordered dictionary": (lambda: contents_of(collections.OrderedDict(a=1, b=2)), [("b", 2), ("a", 1)]),
    "a set": (lambda: contents_of({1.0}), [2.0]),
    "a queue": (lambda: contents_of(collections.deque([1.0])), [2.0]),
    "an array": (lambda: contents_of(np.zeros(2)), np.ones(2)),
    "bytes": (lambda: contents_of(bytearray(b"a")), bytearray(b"b")),
    "packed numbers": (lambda: contents_of(array.array("d", [1.0])), array.array("d", [2.0])),
    "memory": (lambda: contents_of(memoryview(bytearray(b"a"))), b"b"),
    "a number of C": (lambda: contents_of(DOUBLE), bytes(ctypes.c_double(2.0))),
}
EMPTY: dict[str, Callable[[], Slot]] = {
    "a variable": lambda: Variable("k", types.CellType()),
    "an attribute": lambda: Attribute(Thing(), "k"),
    "a slot": lambda: Attribute(Slotted(), "k"),
    "an attribute of a class": lambda: Attribute(type("K", (), {}), "k"),
    "the contents of a cell": lambda: Attribute(types.CellType(), "cell_contents"),
    "an item": lambda: Item({}, "k"),
}


@pytest.mark.parametrize("name", FILLED)
def test_a_slot_gets_its_value_back(name: str) -> None:
    make, other = FILLED[name]
    slot = make()
    before = slot.get()
    assert slot.is_same(before, slot.get())
    slot.set(other)
    assert not slot.is_same(before, slot.get())
    assert slot.is_same(other, slot.get())
    slot.set(before)
    assert slot.is_same(before, slot.get())


@pytest.mark.parametrize("name", EMPTY)
def test_an_empty_slot_is_emptied_again(name: str) -> None:
    slot = EMPTY[name]()
    assert slot.get() is GONE
    slot.set(GONE)
    slot.set(1.0)
    assert slot.get() == 1.0
    slot.set(GONE)
    assert slot.get() is GONE


def test_a_slot_is_known_by_its_owner_its_kind_and_its_name() -> None:
    thing, cell = OwnList([1.0]), types.CellType(1.0)
    slots = [
        Attribute(thing, "k"),
        Attribute(thing, "m"),
        contents_of(thing),
        Variable("k", cell),
        Attribute(cell, "k"),
    ]
    assert len({slot.key for slot in slots}) == len(slots)
    assert Attribute(thing, "k").key == Attribute(thing, "k").key
    assert Variable("k", cell).key == Variable("another name", cell).key


def test_names_for_messages() -> None:
    held = [1.0]
    assert Attribute(Thing(), "k").name == "Thing.k"
    assert Item({}, "k").name == "k"
    assert contents_of(held).name == "list 'held'"
    assert Variable.of((types.CellType(1.0),), 0).name == "a variable of an enclosing function, 0"
