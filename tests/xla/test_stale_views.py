"""What a compiled program reads through views of other things, and through memory that is not NumPy's, is watched."""

from __future__ import annotations

import ctypes
import types
import weakref
from array import array
from collections import ChainMap
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.0, 2.0, 3.0])
Way = Callable[[], tuple[Callable[[], Any], Callable[[], Any]]]
WAYS: dict[str, Way] = {}


def way(make: Way) -> Way:
    WAYS[make.__name__.replace("_", " ")] = make
    return make


class Held:
    k = 2.0


@way
def mapping_proxy() -> Any:
    held = {"a": 2.0}
    view = types.MappingProxyType(held)
    return lambda: view["a"], lambda: held.update(a=5.0)


@way
def values_of_a_dict() -> Any:
    held = {"a": 2.0}
    view = held.values()
    return lambda: sum(view), lambda: held.update(a=5.0)


@way
def keys_of_a_dict() -> Any:
    held = {"a": 2.0}
    view = held.keys()
    return lambda: len(view), lambda: held.update(b=5.0)


@way
def bound_method() -> Any:
    held = {"a": 2.0}
    get = held.get
    return lambda: get("a"), lambda: held.update(a=5.0)


@way
def weak_reference() -> Any:
    held = Held()
    refer = weakref.ref(held)
    return lambda: refer().k, lambda: setattr(held, "k", 5.0)  # type: ignore[union-attr]


@way
def view_of_memory() -> Any:
    held = memoryview(array("d", [2.0, 3.0]))
    return lambda: held[0], lambda: held.__setitem__(0, 5.0)


@way
def array_of_ctypes() -> Any:
    held = (ctypes.c_double * 2)(2.0, 3.0)
    return lambda: held[0], lambda: held.__setitem__(0, 5.0)


@way
def number_of_ctypes() -> Any:
    held = ctypes.c_double(2.0)
    return lambda: held.value, lambda: setattr(held, "value", 5.0)


@way
def structure_of_ctypes() -> Any:
    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_double), ("b", ctypes.c_double)]

    held = Pair(2.0, 3.0)
    return lambda: held.a, lambda: setattr(held, "a", 5.0)


@way
def chain_of_dicts() -> Any:
    held = ChainMap({"a": 2.0})
    return lambda: held["a"], lambda: held.update(a=5.0)


@pytest.mark.parametrize("name", WAYS)
@pytest.mark.parametrize("transform", [bridge.xla, lambda f: bridge.grad(f, engine="xla")], ids=["xla", "grad"])
def test_it_is_traced_again(name: str, transform: Any) -> None:
    read, change = WAYS[name]()
    plain = (lambda f: f) if transform is bridge.xla else bridge.grad
    f = lambda x: np.sum(x * read())  # noqa: E731
    run = transform(f)
    first = np.array(run(X))
    assert np.array_equal(first, plain(f)(X)) and np.array_equal(first, run(X))
    change()
    second = np.array(run(X))
    assert np.array_equal(second, plain(f)(X)) and not np.array_equal(first, second)


@pytest.mark.parametrize("name", ["view of memory", "array of ctypes"])
def test_what_a_program_writes_there_it_writes_in_each_call(name: str) -> None:
    held: Any = memoryview(array("d", [2.0])) if name == "view of memory" else (ctypes.c_double * 1)(2.0)

    def f(x: Any) -> Any:
        held[0] += 1.0
        return np.sum(x * held[0])

    run = bridge.xla(f)
    assert [float(run(X)) for _ in range(3)] == [18.0, 24.0, 30.0]
    value, pull = bridge.vjp(f, X, engine="xla")
    assert (value, held[0]) == (36.0, 6.0)
    assert pull(1.0)[0].tolist() == [6.0, 6.0, 6.0] and held[0] == 6.0
