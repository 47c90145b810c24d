"""The graph of objects: each way of holding a thing is an edge to it, and a walk goes as far as its policy says."""

from __future__ import annotations

import collections
import contextvars
import ctypes
import enum
import functools
import itertools
import operator
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bridge.state.graph import PLAIN, Policy, Walk, edges, held_by, named, said_by
from bridge.state.slots import Attribute, Element, Item, Variable


class Thing:
    pass


class Slotted:
    __slots__ = (name for name in ("k",))


class OwnDict(dict[str, Any]):
    pass


def _attributes_in_a_dict_of_its_own(one: Any) -> Any:
    made: Any = Thing()
    made.__dict__ = OwnDict(k=one)
    return made


def _slotted(one: Any) -> Any:
    made: Any = Slotted()
    made.k = one
    return made


def _generator(one: Any) -> Any:
    def made() -> Any:
        kept = one
        yield 1
        yield kept

    started = made()
    next(started)
    return started


def _structured(one: Any) -> np.ndarray:
    made = np.empty(2, [("n", float), ("inner", [("o", object)])])
    made["inner"]["o"] = one
    return made


def _array(one: Any) -> np.ndarray:
    made = np.empty((1, 1), object)
    made[0, 0] = one
    return made


def _of_a_thread(one: Any) -> Any:
    made = threading.local()
    made.k = one
    return made


def _in_a_context(one: Any) -> Any:
    context = contextvars.copy_context()
    context.run(contextvars.ContextVar("V").set, one)
    return context


def _keyword(one: Any) -> Any:
    def made(*, k: Any = one) -> Any:
        return k

    return made


def _attribute_of_a_function(one: Any) -> Any:
    def made() -> None:
        pass

    made.__dict__["k"] = one
    return made


class _With:
    def __init__(self, one: Any) -> None:
        self.k = one

    def get(self) -> Any:
        return self.k


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "a list": lambda one: [one],
    "a tuple": lambda one: (one,),
    "a dictionary": lambda one: {"k": one},
    "a key": lambda one: {one: 1},
    "keys": lambda one: {one: 1}.keys(),
    "values": lambda one: {1: one}.values(),
    "values of an ordered dictionary": lambda one: collections.OrderedDict(k=one).values(),
    "a set": lambda one: {one},
    "a frozen set": lambda one: frozenset([one]),
    "a deque": lambda one: collections.deque([one]),
    "a default dictionary": lambda one: collections.defaultdict(list, k=one),
    "a default factory": lambda one: collections.defaultdict(lambda: one),
    "a proxy of a mapping": lambda one: types.MappingProxyType({"k": one}),
    "a user's dictionary": lambda one: collections.UserDict(k=one),
    "a chain of maps": lambda one: collections.ChainMap({}, {"k": one}),
    "a named tuple": lambda one: collections.namedtuple("Pair", "a b")(1, one),
    "an attribute": _With,
    "a namespace": lambda one: types.SimpleNamespace(k=one),
    "a slot": _slotted,
    "attributes in a dictionary of the program's class": _attributes_in_a_dict_of_its_own,
    "an attribute of a thread": _of_a_thread,
    "an enclosing variable": lambda one: lambda: one,
    "a cell": types.CellType,
    "a default": lambda one: lambda k=one: k,
    "a default of a keyword": _keyword,
    "an attribute of a function": _attribute_of_a_function,
    "a bound method": lambda one: _With(one).get,
    "a method of a list": lambda one: [one].append,
    "a special method of a list": lambda one: [one].__getitem__,
    "a partial": lambda one: functools.partial(int, one),
    "a keyword of a partial": lambda one: functools.partial(int, k=one),
    "an argument of a method's caller": lambda one: operator.methodcaller("get", one),
    "a getter of items": operator.itemgetter,
    "a key for sorting": lambda one: functools.cmp_to_key(lambda a, b: one),
    "a cached function": lambda one: functools.lru_cache(lambda: one),
    "a cached property": lambda one: functools.cached_property(lambda self: one),
    "a property": lambda one: property(lambda self: one),
    "a static method": lambda one: staticmethod(lambda: one),
    "a ufunc": lambda one: np.frompyfunc(lambda a: one, 1, 1),
    "a vectorized function": lambda one: np.vectorize(lambda a: one),
    "a callback of C": lambda one: ctypes.CFUNCTYPE(ctypes.c_double)(lambda: one),
    "a structure of C": ctypes.py_object,
    "an object above its class": lambda one: super(_With, _With(one)),
    "a generator": _generator,
    "a cycle": lambda one: itertools.cycle([one]),
    "a chain": lambda one: itertools.chain([one]),
    "a map": lambda one: map(lambda k: one, [1]),
    "a zip": lambda one: zip([one], strict=True),
    "an exception": ValueError,
    "a weak reference": weakref.ref,
    "a weak proxy": weakref.proxy,
    "a weak set": lambda one: weakref.WeakSet([one]),
    "a context": _in_a_context,
    "an array of objects": _array,
    "an array of arrays": lambda one: _array(_array(one)),
    "a structured array": _structured,
    "a row of a structured array": lambda one: _structured(one)[0],
    "an iterator over an array": lambda one: _array(one).flat,
    "iterators side by side": lambda one: np.broadcast(_array(one), 1),
    "an iterator over arrays": lambda one: np.nditer(_array(one), flags=["refs_ok"]),
    "metadata of a type of arrays": lambda one: np.dtype(float, metadata={"k": one}),
    "a view of memory": lambda one: memoryview(_With.__new__(_Buffered, one)),
}


class _Buffered(bytearray):
    def __new__(cls, one: Any) -> Any:
        made = bytearray.__new__(cls, 1)
        made.k = one  # type: ignore[attr-defined]
        return made


HOLDERS["a view of memory"] = lambda one: memoryview(_Buffered.__new__(_Buffered, one))


def _found(start: Any, policy: Policy) -> list[Any]:
    return [one for one, _ in Walk([start], policy)]


EVERYTHING = Policy(lambda one: False)


@pytest.mark.parametrize("name", HOLDERS)
def test_a_walk_finds_what_is_held(name: str) -> None:
    one = Thing()
    assert any(found is one for found in _found(HOLDERS[name](one), EVERYTHING))


def test_edges_say_which_slot_it_is() -> None:
    one, thing, held = object(), _With(1.0), [1.0]

    def function() -> Any:
        return one

    assert list(edges(thing)) == [(Attribute, thing, "k", 1.0)]
    assert list(edges(held)) == [(Element, held, 0, 1.0)]
    assert list(edges({"k": 1.0})) == [(None, {"k": 1.0}, None, "k"), (Item, {"k": 1.0}, "k", 1.0)]
    assert list(edges(function)) == [(Variable, function.__closure__, 0, one)]
    assert held_by((1, 2)) == [1, 2]


def test_every_slot_of_an_edge_holds_its_value() -> None:
    one = Thing()
    for make in HOLDERS.values():
        for _, found in Walk([make(one)], EVERYTHING):
            for kind, thing, part, value in found:
                assert kind is None or kind.of(thing, part).get() is value  # type: ignore[attr-defined]


HELD = Thing()


def test_names_of_functions_in_a_function_count() -> None:
    def function() -> Any:
        return [HELD for _ in range(1)]

    def ask() -> Any:
        return operator.add, np.linalg

    assert [(part, value) for _, _, part, value in named(function)] == [("HELD", HELD)]
    assert [(part, value) for _, _, part, value in named(ask, {"numpy"})] == [("add", operator.add)]


def test_what_a_class_says() -> None:
    class Colour(enum.Enum):
        RED = 1

    said = {part: value for _, _, part, value in said_by(Colour)}
    assert said["RED"] is Colour.RED
    assert enum.Enum in [value for kind, _, _, value in said_by(Colour) if kind is None]


def test_a_walk_ends_at_its_limits() -> None:
    chain: list[Any] = []
    for _ in range(10):
        chain = [chain]
    walk = Walk([chain], Policy(lambda one: False, most=5))
    assert len(list(walk)) == 5
    assert walk.is_cut
    walk = Walk([chain], Policy(lambda one: False, most=11))
    assert len(list(walk)) == 11
    assert not walk.is_cut
    assert len(_found([[1], [2], [3]], Policy(lambda one: False, elements=2))) == 3
    assert _found([[1]], Policy(lambda one: isinstance(one, list))) == []


def test_a_walk_looks_at_a_thing_once_and_at_none_that_is_known() -> None:
    one = Thing()
    circle: list[Any] = [one, one]
    circle.append(circle)
    assert _found(circle, EVERYTHING) == [circle, one]
    assert [found for found, _ in Walk([circle], EVERYTHING, [one])] == [circle]


def test_plain_values_hold_nothing() -> None:
    for kind in PLAIN - {types.CodeType, types.FrameType, type(np.sum), range, slice}:
        assert held_by(kind() if kind not in (np.str_,) else kind("a")) == []
