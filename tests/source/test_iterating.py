"""Loops over plain arrays that are written in the loop see what is written, as they do in the program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

W = np.arange(1.0, 5.0)


def values() -> np.ndarray:
    return np.array([1.1, 0.7, 1.3, 0.9])


def enumerated(a: np.ndarray, x: Any) -> Any:
    rest = 0.0
    for k, v in enumerate(a):
        if v > 1:
            a[k] = v * x
        else:
            rest += x
    return a @ W + rest


def zipped(a: np.ndarray, x: Any) -> Any:
    rest = 0.0
    for v, w in zip(a, W, strict=True):
        if v > 1:
            a[2] += x
        else:
            rest += x * w
    return a @ W + rest


def by_itself(a: np.ndarray, x: Any) -> Any:
    rest = 0.0
    for v in a:
        a[3] += x
        if v > 1.05:
            rest += x * v
    return a @ W + rest


def backward(a: np.ndarray, x: Any) -> Any:
    rest = 0.0
    for v in reversed(a):
        a[:2] *= x
        rest += v
    return rest


def in_rows(a: np.ndarray, x: Any) -> Any:
    b = a.reshape(2, 2)
    for p, q in b:
        b[1] = p * x
        b[1, 0] += q
    return a @ W


def by_an_iterator(a: np.ndarray, x: Any) -> Any:
    elements = iter(a)
    next(elements)
    a[2] = x
    return sum(v for v in elements if v > 0.75) * x


def in_a_comprehension(a: np.ndarray, x: Any) -> Any:
    def changed(v: Any) -> Any:
        a[3] += x
        return v

    return sum([changed(v) for v in a])


def in_a_generator(a: np.ndarray, x: Any) -> Any:
    rest = 0.0
    for v in (2 * v for v in a):
        a[2:] = x
        rest += v
    return rest


def in_map(a: np.ndarray, x: Any) -> Any:
    def changed(v: Any) -> Any:
        a[1:] *= x
        return v

    return sum(map(changed, a))


PROGRAMS = (
    enumerated, zipped, by_itself, backward, in_rows, by_an_iterator, in_a_comprehension, in_a_generator, in_map,
)  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_elements_are_what_the_array_shows_when_their_turn_comes(program: Callable[..., Any]) -> None:
    at, step = 0.83, 1e-6
    array = values()

    def f(x: Any) -> Any:
        return program(array, x)

    value, slope = bridge.value_and_grad(f)(at)
    assert value == program(values(), at)
    assert slope == pytest.approx((program(values(), at + step) - program(values(), at - step)) / (2 * step), rel=1e-6)
    np.testing.assert_array_equal(array, values())


def test_integers_and_empty_arrays_are_iterated_over_as_they_are() -> None:
    counts, nothing = np.arange(3), np.zeros(0)

    def f(x: Any) -> Any:
        return sum(int(k) for k in counts) * x + sum(v for v in nothing)

    assert bridge.value_and_grad(f)(2.0) == (6.0, 3.0)


def test_the_array_of_no_dimension_cannot_be_iterated_over() -> None:
    number = np.zeros(())

    def f(x: Any) -> Any:
        for _ in number:
            pass
        return x

    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        bridge.grad(f)(1.0)
