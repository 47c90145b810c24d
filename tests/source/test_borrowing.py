"""Arrays that a program has and writes tracked values into are lent for the call, and have their old bits after it."""

from __future__ import annotations

import collections
import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, BridgeError, EscapeError
from tests.source.snapshots import differences, snapshot

W = np.arange(1.0, 5.0)
Pair = collections.namedtuple("Pair", "u n")


class Thing:
    def __init__(self, **held: Any) -> None:
        self.__dict__.update(held)


def arrays() -> dict[str, np.ndarray]:
    """Arrays of every kind of memory that can be lent, of four numbers."""
    base = np.array([1.1, 0.7, 1.3, 0.9])
    return {
        "float64": base.copy(),
        "float32": base.astype(np.float32),
        "float16": base.astype(np.float16),
        "complex128": base + 0.5j,
        "a view": np.stack([base, base])[1],
        "a column": np.stack([base, base], axis=1)[:, 1],
        "backwards": base[::-1],
        "by columns": np.asfortranarray(np.stack([base, base]))[0],
        "transposed": base.reshape(2, 2).T,
        "of three dimensions": base.reshape(2, 1, 2),
        "one number": np.array(1.1),
        "nothing": np.zeros((0, 3)),
    }


def write_all(a: np.ndarray, x: Any) -> Any:
    a[...] = x * 2
    return (a * a).real.sum()


@pytest.mark.parametrize("kind", arrays())
@pytest.mark.parametrize("run", ["grad", "vjp", "jvp", "hvp"])
def test_every_array_has_its_old_bits(kind: str, run: str) -> None:
    a = arrays()[kind]
    o = Thing(a=a)
    before = snapshot([a, o])

    def f(x: Any) -> Any:
        return write_all(o.a, x)

    expected = 8.0 * 0.5 * a.size
    if run == "grad":
        slope = bridge.grad(f)(0.5)
        assert bridge.grad(f)(0.5) == slope
    elif run == "vjp":
        pull = bridge.vjp(f, 0.5)[1]
        assert differences(before, snapshot([a, o])) == []
        slope = pull(1.0)[0]
        assert pull(1.0)[0] == slope
    elif run == "jvp":
        slope = bridge.jvp(f, (0.5,), (1.0,))[1]
    else:
        slope, expected = bridge.hvp(f, (0.5,), (1.0,)), 8.0 * a.size
        slope = slope[0] if isinstance(slope, tuple) else slope
    assert slope == pytest.approx(expected, rel=2e-2 if kind == "float16" else 1e-6)
    assert differences(before, snapshot([a, o])) == []


REFUSED = {
    "longdouble": (lambda: np.ones(4, np.longdouble), EscapeError, "its dtype is (longdouble|float128)"),
    "integers": (lambda: np.ones(4, int), EscapeError, "its dtype is int64, which carries no gradient"),
    "truth values": (lambda: np.ones(4, bool), EscapeError, "its dtype is bool, which carries no gradient"),
    "objects": (lambda: np.ones(4, object), EscapeError, "its dtype is object, which carries no gradient"),
    "foreign memory": (lambda: np.frombuffer(bytearray(32)), EscapeError, "its memory belongs to a bytearray"),
    "the other order of bytes": (lambda: np.ones(4, ">f8"), EscapeError, "its bytes are in the other order"),
    "a read-only array": (lambda: np.broadcast_to(1.0, 4), ValueError, "assignment destination is read-only"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_lent_is_named(kind: str) -> None:
    make, error, message = REFUSED[kind]
    a = make()
    before = a.copy()

    def f(x: Any) -> Any:
        a[1:3] = x
        return a[1]

    with pytest.raises(error, match=message):
        bridge.grad(f)(0.5)
    np.testing.assert_array_equal(a, before)


def test_the_message_says_which_array_and_what_to_do() -> None:
    counts = np.zeros((2, 3), int)

    def f(x: Any) -> Any:
        counts[0] = x
        return x

    with pytest.raises(EscapeError) as caught:
        bridge.grad(f)(0.5)
    text = str(caught.value)
    assert "a plain array of shape (2, 3) and dtype int64 that cannot be lent" in text
    assert "test_borrowing.py:" in text
    assert "remedy: write into a copy of it: np.array(x, dtype=float)" in text


@pytest.mark.parametrize(
    ("dtype", "remedy"),
    [(object, "keep tracked values in a list"), ([("u", float), ("n", int)], "in the place of its fields 'u', 'n'")],
)
def test_objects_and_fields_have_a_remedy_of_their_own(dtype: Any, remedy: str) -> None:
    held = np.zeros(2, dtype)

    def f(x: Any) -> Any:
        held[0] = x
        return x

    with pytest.raises(EscapeError, match=f"cannot be lent(.|\n)*{remedy}"):
        bridge.grad(f)(0.5)


def test_memory_that_is_read_as_another_dtype() -> None:
    a = np.ones(4)
    bits = a.view(np.int64)

    def f(x: Any) -> Any:
        a[0] = x
        return bits[0] * x

    with pytest.raises(AliasError, match=r"memory of dtype float64 that .* is read as int64"):
        bridge.grad(f)(0.5)
    np.testing.assert_array_equal(a, np.ones(4))


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt, GeneratorExit, SystemExit])
def test_after_an_exception(error: type[BaseException]) -> None:
    o = Thing(u=np.ones(4), v=1.0, h=[], d={"a": 1.0})
    before = snapshot(o)

    def f(x: Any) -> Any:
        o.u[:] = x * W
        o.v, o.w = x, x
        o.h.append(x)
        o.d["b"] = x
        raise error

    with pytest.raises(error):
        bridge.grad(f)(0.5)
    assert differences(before, snapshot(o)) == []


def a_named_tuple(o: Any, x: Any) -> Any:
    o.p = Pair(x * W, 1)
    return o.p.u.sum()


def a_deque(o: Any, x: Any) -> Any:
    o.q = collections.deque([x])
    return o.q[0] * 2


def a_new_object(o: Any, x: Any) -> Any:
    new = Thing(v=0.0)
    new.v = x * 2
    o.inner = new
    return o.inner.v


def an_object_in_a_list(o: Any, x: Any) -> Any:
    o.items.append(Thing(v=x))
    o.items.append(Pair(x, 1))
    return o.items[0].v


def an_object_in_a_dictionary(o: Any, x: Any) -> Any:
    o.table["k"] = Pair(x, 1)
    return o.table["k"].u


def a_closure(o: Any, x: Any) -> Any:
    a = np.zeros(3)
    a[0] = x
    o.items.append(lambda: a[0])
    return a.sum()


def a_class_attribute(o: Any, x: Any) -> Any:
    cls = type(o)
    cls.shared = x * 2
    return o.shared


def arrays_that_change_places(o: Any, x: Any) -> Any:
    for _ in range(3):
        o.v[:] = o.u * x
        o.u, o.v = o.v, o.u
    return o.u.sum()


def plain_writes_first(o: Any, x: Any) -> Any:
    np.multiply(o.u, 0.5, out=o.u)
    np.copyto(o.v, 2.0)
    o.u.sort()
    np.add.at(o.v, 0, 1.0)
    o.u[0] = o.v[1] = x
    return o.u.sum() + o.v.sum()


STATES = [
    a_named_tuple, a_deque, a_new_object, an_object_in_a_list, an_object_in_a_dictionary, a_closure, a_class_attribute,
    arrays_that_change_places, plain_writes_first,
]  # fmt: skip


@pytest.mark.parametrize("change", STATES, ids=lambda change: change.__name__)
def test_what_holds_tracked_values_is_put_back(change: Callable[..., Any]) -> None:
    class Model(Thing):
        shared = 0.0

    o = Model(u=np.array([3.0, 2.0, 1.0]), v=np.zeros(3), items=[], table={}, inner=Thing(v=1.0))
    before = snapshot([o, Model])

    def f(x: Any) -> Any:
        return change(o, x)

    value, slope = bridge.value_and_grad(f)(0.5)
    assert differences(before, snapshot([o, Model])) == []
    plain = [change(copy.deepcopy(o), at) for at in (0.5, 0.5 + 1e-6, 0.5 - 1e-6)]
    Model.shared = 0.0
    assert value == plain[0]
    assert slope == pytest.approx((plain[1] - plain[2]) / 2e-6, rel=1e-6)


def test_a_function_that_is_handed_out_shows_what_was_written() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(3)
        last = a[1:]
        a[1] = x
        return x * x, lambda: (a[1], last[0])

    (_, shown), _ = bridge.value_and_grad(f, has_aux=True)(0.5)
    assert shown() == (0.5, 0.5)


def test_checkpoints_and_loops_lend_and_return() -> None:
    o = Thing(u=np.ones(4))

    def body(y: Any) -> Any:
        o.u[2] = y * y
        return o.u.sum()

    def f(x: Any) -> Any:
        return bridge.checkpoint(body)(x) * o.u[2]

    before = snapshot(o)
    assert bridge.value_and_grad(f)(2.0) == (28.0, 44.0)
    assert differences(before, snapshot(o)) == []


def test_an_outer_function_s_array_that_an_inner_one_writes_is_named() -> None:
    o = Thing(u=np.ones(4))

    def inner(y: Any) -> Any:
        o.u[1] = y * y
        return o.u.sum()

    def f(x: Any) -> Any:
        o.u[0] = x
        return o.u.sum() * bridge.grad(inner)(3.0)

    with pytest.raises(BridgeError, match="a Buffer of an outer context"):
        bridge.grad(f)(2.0)
    np.testing.assert_array_equal(o.u, np.ones(4))


def test_many_arrays_are_lent() -> None:
    things = [Thing(u=np.ones(2)) for _ in range(800)]

    def f(x: Any) -> Any:
        total = 0.0
        for thing in things:
            thing.u[0] = x
            total = total + thing.u[0]
        return total

    assert bridge.grad(f)(1.0) == 800
    assert all(np.array_equal(thing.u, np.ones(2)) for thing in things)
