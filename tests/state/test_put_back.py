"""What a program puts into its objects while it is differentiated: they hold afterwards what they held before."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest

import bridge

Case = tuple[Callable[[Any], Any], Callable[[], Any]]
CASES: dict[str, Callable[[], Case]] = {}
KEPT: Any = 1.0


def case(make: Callable[[], Case]) -> Callable[[], Case]:
    CASES[make.__name__] = make
    return make


class OwnList(list[Any]):
    u: Any


class OwnDict(dict[str, Any]):
    u: Any


@case
def elements_and_then_an_attribute() -> Case:
    held = OwnList([1.0])
    held.u = 1.0

    def program(x: Any) -> Any:
        held[0] = x
        held.u = 2 * x
        return held[0] * held.u

    return program, lambda: (list(held), vars(held))


@case
def an_attribute_and_then_elements() -> Case:
    held = OwnList([1.0])
    held.u = 1.0

    def program(x: Any) -> Any:
        held.u = 2 * x
        held[0] = x
        return held[0] * held.u

    return program, lambda: (list(held), vars(held))


@case
def items_and_then_an_attribute() -> Case:
    held = OwnDict(k=1.0)
    held.u = 1.0

    def program(x: Any) -> Any:
        held["k"] = x
        held.u = 2 * x
        return held["k"] * held.u

    return program, lambda: (dict(held), vars(held))


@case
def a_global_variable_and_then_the_dictionary_of_them() -> Case:
    def program(x: Any) -> Any:
        global KEPT
        KEPT = x
        globals()["COME"] = 2 * x
        return KEPT * globals()["COME"]

    return program, lambda: (KEPT, globals().get("COME", "nothing"))


@case
def an_attribute_and_then_all_attributes() -> Case:
    held = SimpleNamespace(n=1.0)
    thing = type("Thing", (), {})()
    thing.k = held

    def program(x: Any) -> Any:
        thing.k = x
        thing.__dict__ = {"k": 2 * x}
        return thing.k * x

    return program, lambda: dict(vars(thing))


HOLDERS: dict[str, Callable[[Any], Any]] = {
    "an argument of a partial": lambda x: functools.partial(print, x),
    "the object of a method": lambda x: SimpleNamespace(k=x).__repr__,
    "a default": lambda x: lambda k=x: k,
    "a view of a dictionary": lambda x: {"k": x}.values(),
    "a proxy of a dictionary": lambda x: MappingProxyType({"k": x}),
    "an iterator": lambda x: iter([x]),
    "a map": lambda x: map(lambda k: k * x, [1.0]),
    "an exception": ValueError,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_an_attribute_loses_what_holds_a_tracked_value(name: str) -> None:
    thing = SimpleNamespace(k=1.0)

    def program(x: Any) -> Any:
        thing.k = HOLDERS[name](x)
        return x * x

    assert bridge.grad(program)(1.5) == pytest.approx(3.0)
    assert thing.k == 1.0


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", CASES)
def test_it_holds_what_it_held(name: str, engine: Any) -> None:
    program, shown = CASES[name]()
    before = repr(shown())
    assert bridge.grad(program, engine=engine)(1.5) == pytest.approx(6.0)
    assert repr(shown()) == before
