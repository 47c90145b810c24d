"""Short loops of a program: unrolled, unless a long loop is in them, which would be compiled for each turn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

X = np.linspace(0.5, 1.5, 12)


def around_a_long_loop(x: Any) -> Any:
    y = np.zeros(3)
    for k in range(2):
        for e in range(4):
            for j in range(10):
                if e - k >= 0:
                    y[k] += x[j] * np.sin(x[e - k])
    return np.sum(y * y)


def around_a_while(x: Any) -> Any:
    y = np.zeros(3)
    for k in range(3):
        j = 0
        while j < 10:
            y[k] += x[j] * x[j + k]
            j += 1
    return np.sum(y * y)


def alone(x: Any) -> Any:
    y = np.zeros(3)
    for k in range(3):
        for j in range(3):
            y[k] += x[j] * x[j + k]
    return np.sum(y * y)


def triangle(x: Any) -> Any:
    y = np.zeros(3)
    for k in range(3):
        for j in range(k):
            y[k] += x[j] * x[j + k]
    return np.sum(y * y)


def shapes_change(x: Any) -> Any:
    y = x
    for _ in range(3):
        for j in range(8):
            y[j] = y[j] * np.sin(y[j + 1])
        y = y[:-1] * 2.0
    return np.sum(y * y)


def other_names(x: Any) -> Any:
    found = []
    for k in range(3):
        total = 0.0
        for j in range(10):
            total = total + x[j] * x[k]
        found.append(total)
    return found[0] * found[1] + found[2]


def from_an_iterator(x: Any) -> Any:
    factors = iter((2.0, 3.0, 5.0))
    total = 0.0
    for _ in range(3):
        factor = next(factors)
        for j in range(10):
            total = total + factor * x[j] * x[j]
    return total


def raises_in_a_loop(x: Any, k: int) -> None:
    for _ in x[:k]:
        raise ValueError("none of these")


def bound_by_the_first_turn(x: Any) -> Any:
    """Nothing has ended a loop before its first turn, also where the function may have returned before it."""
    for k in range(2):
        if x[k] < 0.0:
            return x[k]
    for i in reversed(range(5)):
        if x[i] > 0.1:
            break
        raises_in_a_loop(x, i)
        return x[0]
    return x[1] * x[1] + 0.1 * i


def bound_by_the_first_turn_of_a_while(x: Any) -> Any:
    for k in range(2):
        if x[k] < 0.0:
            return x[k]
    i, n = 5, 5
    while n > 0:
        i, n = n - 1, n - 1
        w = x[:n] * 2.0
        if x[i] > 0.1:
            break
        raises_in_a_loop(x, i)
        return x[0]
    return np.sum(w * w) + 0.1 * i


def whiles(f: Callable[[Any], Any]) -> int:
    """How many loops XLA gets."""
    return int(bridge.xla(f).lower(X).as_text().count("stablehlo.while"))


@pytest.mark.ci
@pytest.mark.parametrize(("f", "count"), [(around_a_long_loop, 3), (around_a_while, 2), (alone, 0), (triangle, 0)])
def test_a_short_loop_is_one_loop_where_a_long_one_is_in_it(f: Callable[[Any], Any], count: int) -> None:
    assert whiles(f) == count


@pytest.mark.ci
@pytest.mark.parametrize(
    "f",
    [
        around_a_long_loop, around_a_while, alone, triangle, shapes_change, other_names, from_an_iterator,
        bound_by_the_first_turn, bound_by_the_first_turn_of_a_while,
    ],
)  # fmt: skip
def test_gradients(f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(bridge.xla(bridge.grad(f))(X.copy()), bridge.grad(f)(X.copy()), rtol=1e-10, atol=1e-10)


@pytest.mark.ci
def test_second_order() -> None:
    f = around_a_long_loop
    np.testing.assert_allclose(bridge.hvp(f, [X.copy()], [X], engine="xla"), bridge.hvp(f, [X.copy()], [X]), rtol=1e-10)
