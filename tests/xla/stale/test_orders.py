"""The order of what is held, and what is added: dictionaries, sets, lists, namespaces, views of these."""

from __future__ import annotations

import collections
import enum
import heapq
import types
from array import array
from functools import partial
from typing import Any

import pytest

from tests.xla.stale.record import WAYS, Made, check, programs_made, records

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RECORDS, record = records()


class Bag:
    pass


def moved(one: Any, key: Any) -> Any:
    """What moves a key to the end of a dictionary."""
    return lambda: one.__setitem__(key, one.pop(key))


def weighed(values: Any) -> float:
    return sum((k + 1) * v for k, v in enumerate(values))


@record
def values_of_a_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    return lambda x: x * sum((k + 1) * v for k, v in enumerate(d.values())), [moved(d, "a"), moved(d, "b")]


@record
def keys_of_a_dict() -> Made:
    d = {1.0: "a", 2.0: "b"}
    return lambda x: x * weighed(k for k in d), [moved(d, 1.0)]


@record
def items_of_a_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    return lambda x: x * weighed(v for _, v in d.items()), [moved(d, "a")]


@record
def first_key_of_a_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    return lambda x: x * d[next(iter(d))], [moved(d, "a")]


@record
def reversed_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    return lambda x: x * weighed(d[k] for k in reversed(d)), [moved(d, "a")]


@record
def unpacked_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    return lambda x: x * weighed({**d}.values()), [moved(d, "a"), lambda: d.update(c=3.0)]


@record
def equal_keys_of_another_type() -> Made:
    d: dict[Any, float] = {1: 2.0}
    return lambda x: x * (5.0 if isinstance(next(iter(d)), bool) else 1.0), [lambda: d.clear() or d.update({True: 2.0})]


@record
def ordered_dict() -> Made:
    d = collections.OrderedDict(a=1.0, b=2.0)
    return lambda x: x * weighed(d.values()), [lambda: d.move_to_end("a"), lambda: d.move_to_end("a", last=False)]


@record
def default_dict() -> Made:
    d: Any = collections.defaultdict(lambda: 1.0, a=2.0)
    return lambda x: x * weighed(d.values()) * d.default_factory(), [
        lambda: d["z"],
        moved(d, "a"),
        lambda: setattr(d, "default_factory", lambda: 4.0),
    ]


@record
def counter() -> Made:
    d = collections.Counter("aab")
    return lambda x: x * weighed(d.values()), [lambda: d.update("b" * 4), moved(d, "a")]


@record
def chain_map() -> Made:
    d = collections.ChainMap({"a": 1.0}, {"b": 2.0})
    return lambda x: x * weighed(d.values()), [lambda: d.maps.reverse(), lambda: d.maps[0].update(c=4.0)]


@record
def user_dict() -> Made:
    d = collections.UserDict(a=1.0, b=2.0)
    return lambda x: x * weighed(d.values()), [moved(d, "a"), lambda: d.update(c=3.0)]


@record
def user_list() -> Made:
    d = collections.UserList([1.0, 2.0])
    return lambda x: x * weighed(d), [lambda: d.reverse(), lambda: d.append(3.0)]


@record
def proxy_of_a_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    proxy = types.MappingProxyType(d)
    return lambda x: x * weighed(proxy.values()), [moved(d, "a"), lambda: d.update(c=3.0)]


@record
def view_of_a_dict() -> Made:
    d = {"a": 1.0, "b": 2.0}
    view = d.values()
    return lambda x: x * weighed(view), [moved(d, "a"), lambda: d.update(c=3.0)]


@record
def deque() -> Made:
    d = collections.deque([1.0, 2.0, 4.0], maxlen=3)
    return lambda x: x * weighed(d), [lambda: d.rotate(1), lambda: d.append(5.0)]


@record
def list_in_another_order() -> Made:
    d = [1.0, 2.0, 4.0]
    return lambda x: x * weighed(d), [d.reverse, d.sort, lambda: heapq.heappush(d, 0.5)]


@record
def array_of_python() -> Made:
    d = array("d", [1.0, 2.0])
    return lambda x: x * weighed(d), [d.reverse, lambda: d.append(3.0)]


@record
def set_() -> Made:
    d = {1.0, 2.0}
    return lambda x: x * sum(d), [lambda: d.add(4.0), lambda: d.discard(1.0)]


@record
def set_of_equal_things() -> Made:
    d: set[Any] = {1}
    return lambda x: x * (5.0 if isinstance(next(iter(d)), bool) else 1.0), [lambda: d.clear() or d.add(True)]


@record
def objects_in_a_set() -> Made:
    bag: Any = Bag()
    bag.k = 1.0
    d = {bag}
    return lambda x: x * sum(one.k for one in d), [lambda: setattr(bag, "k", 4.0)]


@record
def keys_that_are_objects() -> Made:
    bag: Any = Bag()
    bag.k = 1.0
    d = {bag: 2.0}
    return lambda x: x * sum(one.k * v for one, v in d.items()), [lambda: setattr(bag, "k", 4.0)]


@record
def objects_in_a_frozen_set() -> Made:
    bag: Any = Bag()
    bag.k = 1.0
    d = frozenset({bag})
    return lambda x: x * sum(one.k for one in d), [lambda: setattr(bag, "k", 4.0)]


@record
def attributes_by_vars() -> Made:
    bag: Any = Bag()
    bag.a, bag.b = 1.0, 2.0
    return lambda x: x * weighed(vars(bag).values()), [moved(vars(bag), "a"), lambda: setattr(bag, "c", 3.0)]


@record
def attributes_by_dict() -> Made:
    bag: Any = Bag()
    bag.a = 1.0
    return lambda x: x * weighed(bag.__dict__.values()), [lambda: setattr(bag, "c", 3.0), lambda: delattr(bag, "a")]


@record
def attributes_by_dir() -> Made:
    bag: Any = Bag()
    bag.w1 = 1.0
    return lambda x: x * sum(getattr(bag, name) for name in dir(bag) if name.startswith("w")), [
        lambda: setattr(bag, "w2", 3.0),
        lambda: setattr(Bag, "w3", 5.0),
        lambda: delattr(Bag, "w3"),
    ]


@record
def attributes_of_a_class() -> Made:
    C = type("C", (), {"w1": 1.0})
    return lambda x: x * sum(v for name, v in vars(C).items() if name.startswith("w")), [lambda: setattr(C, "w2", 3.0)]


@record
def attributes_of_a_namespace() -> Made:
    one = types.SimpleNamespace(a=1.0, b=2.0)
    return lambda x: x * weighed(vars(one).values()), [moved(vars(one), "a"), lambda: setattr(one, "c", 3.0)]


@record
def a_dict_that_is_its_own_attributes() -> Made:
    class Table(dict):  # type: ignore[type-arg]
        def __init__(self, **names: float) -> None:
            super().__init__(names)
            self.__dict__ = self

    d: Any = Table(a=1.0, b=2.0)
    return lambda x: x * d.a * weighed(d.values()), [lambda: setattr(d, "a", 4.0), moved(d, "a")]


@record
def members_of_an_enumeration() -> Made:
    class K(enum.Enum):
        A = 1
        B = 2

    return lambda x: x * weighed(one.value for one in K), [lambda: K._member_names_.reverse()]


@record
def more_than_a_thousand() -> Made:
    d = [1.0] * 3000
    return lambda x: x * d[2500], [lambda: d.__setitem__(2500, 4.0)]


@record
def more_than_a_thousand_objects() -> Made:
    d: list[Any] = [types.SimpleNamespace(k=1.0) for _ in range(3000)]
    return lambda x: x * d[7].k * d[2500].k, [lambda: setattr(d[2500], "k", 4.0), lambda: setattr(d[7], "k", 5.0)]


@pytest.mark.ci
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", RECORDS)
def test_it_is_traced_again(name: str, way: Any) -> None:
    check(RECORDS[name], way)


@pytest.mark.ci
def test_new_attributes_that_nobody_asks_for_compile_nothing() -> None:
    import bridge

    bag: Any = Bag()
    bag.k = 2.0
    run = bridge.xla(lambda x: x * bag.k)
    assert programs_made(run, *(partial(setattr, bag, f"loss{turn}", float(turn)) for turn in range(3))) == 1
    assert programs_made(run, lambda: None, partial(setattr, bag, "k", 5)) == 2
