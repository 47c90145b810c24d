"""The caller's array under another name: an attribute, a global, a closure, a view; what is written shows there too."""

from __future__ import annotations

import dataclasses
import functools
import gc
import operator
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError
from bridge.source import second_names

X = np.array([0.3, -0.7, 1.1, 0.5, 0.9, -0.2])
ALONG = np.arange(1.0, 7.0)


class Thing:
    def __init__(self, u: Any) -> None:
        self.u = u

    def energy(self) -> Any:
        return np.sum(self.u**3)

    @property
    def tail(self) -> Any:
        return self.u[1:]


@dataclasses.dataclass
class Slotted:
    __slots__ = ("u",)
    u: Any


Program = Callable[[Any], Any]


def attribute(a: Any) -> Program:
    o = Thing(a)

    def f(u: Any) -> Any:
        u *= 2
        return np.sum(o.u**2)

    return f


def part_is_written(a: Any) -> Program:
    o = Thing(a)

    def f(u: Any) -> Any:
        u[1:3] = u[2:4] * 2
        return np.sum(o.u**2 * u)

    return f


def view(a: Any) -> Program:
    v, backwards, matrix = a[::2], a[::-1], a.reshape(2, 3).T

    def f(u: Any) -> Any:
        u[0] = u[1] * u[2]
        return np.sum(v**3) + np.sum(backwards * ALONG) + np.sum(matrix @ matrix.T)

    return f


def containers(a: Any) -> Program:
    held: Any = [1, a], {"k": {"z": a}}, (a, 3)

    def f(u: Any) -> Any:
        u += 1
        w, _ = held[2]
        return np.sum(held[0][1] ** 2) + held[1]["k"]["z"][2] * np.sum(w)

    return f


def loops(a: Any) -> Program:
    views = [a, a[:2]]

    def f(u: Any) -> Any:
        u *= 3
        s = sum(k * w * w for k, w in enumerate(a)) + sum([w * k for w, k in zip(a, range(9), strict=False)])
        for w in views:
            s = s + np.sum(w**2)
        return s

    return f


def functions(a: Any) -> Program:
    def default(w: Any = a) -> Any:
        return np.sum(w**2)

    def scaled(w: Any, k: float) -> Any:
        return np.sum(w**2) * k

    bound, thing = functools.partial(scaled, a), Thing(a)

    def f(u: Any) -> Any:
        u *= 3
        return default() + bound(2.0) + thing.energy() + np.sum(thing.tail**2)

    return f


def methods_and_functions(a: Any) -> Program:
    def f(u: Any) -> Any:
        u *= 3
        found = a.dot(a) + a.max() + a.copy()[0] + float(a[2]) * len(a)
        return found + np.linalg.norm(a) + np.concatenate([a, u]).sum() + np.asarray(a)[2] + np.array(a)[1]

    return f


def code_of_a_library(a: Any) -> Program:
    o = Thing(a)
    get = operator.attrgetter("u")

    def f(u: Any) -> Any:
        u *= 2
        return np.sum(get(o) ** 2)

    return f


def written_by_the_other_name(a: Any) -> Program:
    o = Slotted(a)

    def f(u: Any) -> Any:
        o.u[0] = u[1] * 3
        o.u[1] += 7.0
        o.u *= 2
        return np.sum(u**2)

    return f


def written_and_restored(a: Any) -> Program:
    o = Thing(a)

    def f(u: Any) -> Any:
        o.u *= 3
        r = np.sum(u**2)
        o.u /= 3
        return r

    return f


def plain_values(a: Any) -> Program:
    def f(u: Any) -> Any:
        a[0] = 7.0
        a[1:2].fill(2.0)
        a.put([2], [3.0])
        np.copyto(a[3:4], [5.0])
        return np.sum(u**2)

    return f


def functions_that_write(a: Any) -> Program:
    def f(u: Any) -> Any:
        np.multiply(u, 2, out=a)
        np.add.at(a, [3], 2.0)
        a.flat[1:3] = u[3:5]
        a.sort()
        return np.sum(u * ALONG)

    return f


def swapped(a: Any) -> Program:
    def f(u: Any) -> Any:
        a[0], u[1] = u[1], u[0]
        w = a
        w += u * 2
        w = w.reshape(2, 3)
        w[1] *= 2
        return np.sum(u**2 * ALONG)

    return f


def masked(a: Any) -> Program:
    def f(u: Any) -> Any:
        a[a > 0.4] = 1.0
        return np.sum(np.where(a > 0, a, 2.0) * u)

    return f


def replayed(a: Any) -> Program:
    def f(u: Any) -> Any:
        u *= 2
        return np.sum(bridge.checkpoint(lambda v: v * a)(u)) + np.sum(bridge.fori_loop(0, 3, lambda i, c: c * a, u))

    return f


PROGRAMS = [
    attribute, part_is_written, view, containers, loops, functions, methods_and_functions, code_of_a_library,
    written_by_the_other_name, written_and_restored, plain_values, functions_that_write, swapped, masked, replayed,
]  # fmt: skip


def expected(make: Callable[[Any], Program]) -> tuple[float, np.ndarray]:
    def value(x: np.ndarray) -> float:
        a = x.copy()
        return float(make(a)(a))

    return value(X), np.array([(value(X + 1e-6 * e) - value(X - 1e-6 * e)) / 2e-6 for e in np.eye(6)])


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("make", PROGRAMS)
def test_it_is_the_argument(make: Callable[[Any], Program], engine: str) -> None:
    value, gradient = expected(make)
    a = X.copy()
    f = make(a)
    both = bridge.value_and_grad(f, engine=engine)
    for _ in range(2):
        found, g = both(a)
        assert found == pytest.approx(value, rel=1e-12)
        np.testing.assert_allclose(g, gradient, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(a, X)
    found, pull = bridge.vjp(f, a, engine=engine)
    assert found == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(pull(2.0)[0], 2 * gradient, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(bridge.jvp(f, (a,), (ALONG,), engine=engine)[1], gradient @ ALONG, rtol=1e-6)


@pytest.mark.parametrize("make", [attribute, view, loops, written_by_the_other_name, masked])
def test_inside_of_another_derivative(make: Callable[[Any], Program]) -> None:
    _, gradient = expected(make)
    a = X.copy()
    f = make(a)
    np.testing.assert_allclose(bridge.grad(lambda x: bridge.value_and_grad(f)(x)[0])(a), gradient, rtol=1e-6, atol=1e-7)


def test_a_compiled_program_asks_at_every_call_which_array_is_an_argument() -> None:
    o, other = Thing(X.copy()), X + 1

    def f(u: Any) -> Any:
        u *= 2
        return np.sum(o.u**2) + u[0]

    compiled = bridge.xla(f)
    for x in (o.u, other, o.u, o.u, other, o.u):
        is_same = x is o.u
        assert compiled(x) == pytest.approx(np.sum((2 * x) ** 2 if is_same else o.u**2) + 2 * x[0])
        expected = np.where(np.arange(6) == 0, 2.0, 0.0) + (8 * x if is_same else 0)
        np.testing.assert_allclose(bridge.grad(f, engine="xla")(x), expected)


def test_until_it_is_written_another_name_is_a_constant() -> None:
    a = X.copy()

    def f(u: Any) -> Any:
        first = np.sum(u * a)
        u *= 2
        return first + np.sum(a)

    np.testing.assert_allclose(bridge.grad(f)(a), X + 2.0)


def test_other_memory_of_the_same_owner_is_itself() -> None:
    whole = np.arange(12.0)
    head, tail = whole[:6], whole[6:]

    def f(u: Any) -> Any:
        u *= 2
        tail[0] = 5.0
        return np.sum(tail) + np.sum(head)

    value, g = bridge.value_and_grad(f)(head)
    assert value == 5.0 + np.sum(np.arange(7.0, 12.0)) + 2 * np.sum(np.arange(6.0))
    np.testing.assert_array_equal(g, np.full(6, 2.0))


def test_more_memory_than_the_arguments() -> None:
    whole = np.arange(12.0)

    def f(u: Any) -> Any:
        u *= 2
        return np.sum(whole)

    with pytest.raises(AliasError, match=r"shape \(12,\) and dtype float64 shows memory of an argument") as caught:
        bridge.grad(f)(whole[2:8])
    assert "pass the whole array" in caught.value.remedy and "test_second_names.py" in str(caught.value)


def test_the_same_bits_as_another_dtype() -> None:
    a = X.copy()
    bits = a.view(np.int64)

    def f(u: Any) -> Any:
        u *= 2
        return np.sum(u) + np.sum(bits)

    with pytest.raises(AliasError, match="dtype int64 shows memory of an argument"):
        bridge.grad(f)(a)


@pytest.mark.parametrize("kind", [dict, OrderedDict])
@pytest.mark.parametrize("how", ["two arguments", "a keyword", "within one", "restored"])
def test_a_container_that_is_passed_twice(kind: Any, how: str) -> None:
    d = kind(a=X.copy())

    def f(p: Any, q: Any = None) -> Any:
        p, q = p if q is None else (p, q)
        before = p["a"]
        p["a"] = p["a"] * 2
        s = np.sum(q["a"] ** 2)
        if how == "restored":
            p["a"] = before
        return s

    with pytest.raises(AliasError, match=r"hold the same (Ordered|d)") as caught:
        if how == "within one":
            bridge.grad(f)((d, d))
        elif how == "a keyword":
            bridge.grad(f)(d, q=d)
        else:
            bridge.grad(f)(d, d)
    assert "pass it once" in caught.value.remedy
    np.testing.assert_array_equal(d["a"], X)


def test_a_container_that_is_passed_twice_and_read() -> None:
    columns = [X.copy(), X + 1]

    def f(p: Any, q: Any) -> Any:
        return np.sum(p[0] * q[1])

    first, second = bridge.grad(f, argnums=(0, 1))(columns, columns)
    np.testing.assert_allclose(first[0], X + 1)
    np.testing.assert_allclose(second[1], X)


def test_a_program_that_reached_an_argument_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.arange(3.0)

    def program(x: Any) -> Any:
        x[0] = 2.0 * x[1]
        return np.sum(x * table)

    expected = bridge.grad(program)(table)
    searched: list[Any] = []
    monkeypatch.setattr(second_names, "may_reach", lambda *what: searched.append(what))
    np.testing.assert_array_equal(bridge.grad(program)(table), expected)
    assert not searched
    other = np.array([5.0, 6.0, 7.0])
    np.testing.assert_array_equal(bridge.grad(program)(other), [0.0, 1.0, 2.0])


def test_what_has_been_found_of_a_program_goes_with_it() -> None:
    table = np.arange(3.0)

    def program(x: Any) -> Any:
        x[0] = 2.0 * x[1]
        return np.sum(x * table)

    bridge.grad(program)(table)
    key = id(program)
    assert key in second_names._reached
    del program
    gc.collect()
    assert key not in second_names._reached
