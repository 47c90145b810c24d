"""Containers and arrays that a checkpointed body makes are its own; those that it finds were there before."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from tests.helpers.finite_differences import gradient

X = np.linspace(0.2, 1.4, 4)
OUTSIDE = [np.zeros(4)]


class Holder:
    pass


def in_a_list(x: Any) -> Any:
    d = [np.zeros(4)]
    d[0][...] = x
    return np.sum(d[0] ** 2)


def in_a_dict(x: Any) -> Any:
    d = {"a": np.zeros(4)}
    d["a"][1:] = x[1:]
    return np.sum(d["a"] ** 2)


def in_an_object(x: Any) -> Any:
    o = Holder()
    o.w, o.d = np.zeros(4), {"k": [np.ones(4)]}
    o.w[...] = x * 2
    o.d["k"][0][...] *= x
    return np.sum(o.w * o.d["k"][0])


def in_lists_of_lists(x: Any) -> Any:
    d = [[np.zeros(4)] for _ in range(2)]
    d[1][0][:] = x
    d[0][0][:] = x * x
    return np.sum(d[0][0] * d[1][0])


def by_rows(x: Any) -> Any:
    a = np.zeros((2, 4))
    rows = [a[0], a[1]]
    rows[0][...] = x
    rows[1][...] = x * x
    return np.sum(a**2)


def from_a_helper(x: Any) -> Any:
    def helper(buffer: Any) -> Any:
        b = [buffer]
        b[0][...] = np.sin(x)
        return b

    return np.sum(helper(np.array([0.0, 1, 2, 3]))[0] ** 2)


def a_list_that_grows(x: Any) -> Any:
    d: list[Any] = []
    for i in range(3):
        d.append(np.zeros(4))
        d[-1][...] = x * i
    return sum(np.sum(one**2) for one in d)


def a_deep_copy(x: Any) -> Any:
    d = copy.deepcopy([np.zeros(4)])
    d[0][...] = x
    return np.sum(d[0] ** 2)


def by_a_closure(x: Any) -> Any:
    c = np.zeros(4)

    def write() -> None:
        c[...] = x

    write()
    return np.sum(c**2)


def outside_in_a_list(x: Any) -> Any:
    d = {"k": OUTSIDE}
    d["k"][0][...] = d["k"][0] * 0.5 + x
    return np.sum(d["k"][0] ** 2)


def own_in_a_list_outside(x: Any) -> Any:
    d = [np.zeros(4)]
    OUTSIDE.append(d[0])
    d[0][...] = x
    OUTSIDE.pop()
    return np.sum(d[0] ** 2)


def of_the_body_around(x: Any) -> Any:
    d = [np.array([0.5, 0, 0, 1])]

    def inner(y: Any, d: Any) -> Any:
        e = [np.array([0.0, 1, 0, 0])]
        e[0][...] = y
        d[0][...] = d[0] * y + e[0]
        return np.sum(d[0] ** 2)

    return bridge.checkpoint(inner)(x, d) + bridge.checkpoint(inner)(2 * x, d) + np.sum(d[0])


def of_the_body_around_by_a_closure(x: Any) -> Any:
    d = [np.zeros(4)]

    def inner(y: Any) -> Any:
        d[0][...] = d[0] + y
        return np.sum(d[0] ** 2)

    return bridge.checkpoint(inner)(x) + bridge.checkpoint(inner)(2 * x)


PROGRAMS = (
    in_a_list, in_a_dict, in_an_object, in_lists_of_lists, by_rows, from_a_helper, a_list_that_grows, a_deep_copy,
    by_a_closure, outside_in_a_list, own_in_a_list_outside, of_the_body_around, of_the_body_around_by_a_closure,
)  # fmt: skip

WAYS: dict[str, Callable[[Any], Any]] = {
    "once": lambda f: bridge.grad(bridge.checkpoint(f)),
    "in a loop": lambda f: bridge.grad(lambda x: bridge.fori_loop(0, 1, lambda i, v: v + f(x), 0.0)),
    "in a body": lambda f: bridge.grad(bridge.checkpoint(lambda x: bridge.checkpoint(f)(x))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_what_a_body_makes_is_its_own(f: Any, way: str) -> None:
    def fresh(x: Any) -> Any:
        OUTSIDE[0][:] = 0.25
        return f(x)

    (expected,) = gradient(fresh, [X])
    OUTSIDE[0][:] = 0.25
    np.testing.assert_allclose(WAYS[way](f)(X), expected, rtol=1e-5)
    np.testing.assert_array_equal(OUTSIDE[0], np.full(4, 0.25))
