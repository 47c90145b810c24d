"""Integers and masks that follow from a program's text are known while it is compiled, until it writes into them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import bridge
import bridge.numpy as np

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = numpy.linspace(-1, 2, 7)
Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def program(f: Program) -> Program:
    PROGRAMS.append(f)
    return f


@program
def array_of_indices(x: Any) -> Any:
    index = np.array([2, 0, 2])
    return np.sum(x[index] * x[index + 1])


@program
def mask_and_its_complement(x: Any) -> Any:
    mask = np.array([True, False] * 3 + [True])
    return np.sum(x[mask] ** 2) + np.sum(x[~mask] ** 3)


@program
def questions_about_types(x: Any) -> Any:
    wide = np.zeros(7, np.result_type(x, np.float32)) + x
    same = np.ones(7, np.common_type(x)) if np.can_cast(np.float32, x.dtype) else wide
    return np.sum(wide * (2 if np.isrealobj(x) else 3)) * (5 if np.iscomplexobj(x * 1j) else 7) + np.sum(same * x)


@program
def loop_and_branch_over_a_range(x: Any) -> Any:
    total = 0.0
    for k in np.arange(3):
        if k % 2 == 0:
            total = total + x[k] * x[k : k + 2][1]
    return total


@program
def indices_written_into(x: Any) -> Any:
    index = np.arange(3)
    index[0] = 5
    return np.sum(x[index] ** 2 * np.array([1.0, 2.0, 3.0]))


@program
def counts_of_repeats(x: Any) -> Any:
    y = np.repeat(x, np.array([1, 2, 0, 1, 1, 1, 3]))
    return np.sum(y * y * np.arange(9.0))


@program
def shapes_that_follow_from_a_mask(x: Any) -> Any:
    mask = np.array([True, False] * 3 + [True])
    return np.sum(x[np.nonzero(mask)[0]] ** 3) + np.sum(np.compress(mask, x)) + x[np.flatnonzero(mask)[1]]


@program
def bounds_of_a_loop(x: Any) -> Any:
    counts = np.array([1, 2, 3])
    total = 0.0
    for i in range(int(counts[2])):
        total = total + x[i] * counts[i]
    return total


@program
def view_of_indices_changed_under_it(x: Any) -> Any:
    index = np.array([1, 2, 3])
    view = index[1:]
    index[1] = 4
    y = x.copy()
    y[view] = 7 * x[view - 1]
    return np.sum(y * y * np.arange(7.0))


@program
def index_written_in_a_loop(x: Any) -> Any:
    index = np.zeros(3, int)

    def body(i: Any, total: Any) -> Any:
        index[1] = i
        return total + x[index[1]] * x[index[0]]

    return bridge.fori_loop(0, 3, body, x[0])


@program
def permutation_and_unbuffered_products(x: Any) -> Any:
    order = np.argsort(np.array([3, 1, 2, 0]))
    y = x[:4][order]
    y[order] *= x[1]
    np.add.at(y, order, x[:4])
    np.multiply.at(y, np.array([0, 0]), x[:2])
    return np.sum(y * np.arange(4.0))


@program
def reshaped_and_transposed_indices(x: Any) -> Any:
    index = np.reshape(np.arange(6), (2, 3))
    turned = index.T
    turned[0, 1] = 0
    return np.sum(x[index] * x[turned.T])


@program
def triangles_grids_and_diagonals(x: Any) -> Any:
    i, j = np.triu_indices(3, 1)
    a = np.zeros((3, 3))
    a[i, j] = x[:3]
    a[np.eye(3, dtype=bool)] = x[3:6]
    a[np.ix_([0, 2], [1, 2])] *= 2
    return np.sum(a @ a)


@program
def masks_of_writes(x: Any) -> Any:
    y = np.zeros(7)
    np.place(y, np.array([1, 0] * 3 + [1], bool), x[:2])
    np.putmask(y, np.arange(7) > 4, x)
    np.copyto(y, x * x, where=np.arange(7) < 2)
    return np.sum(y * x)


@program
def places_of_splits(x: Any) -> Any:
    parts = np.split(x, np.array([2, 5]))
    return np.sum(parts[0]) * np.sum(parts[1] ** 2) + np.sum(parts[2])


@program
def counter_of_a_while_loop(x: Any) -> Any:
    count = np.zeros(1, int)

    def body(state: Any) -> Any:
        count[0] += 1
        return state * x[count[0]]

    return bridge.while_loop(lambda state: count[0] < 3, body, x[1], limit=5)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f: Program) -> None:
    expected = bridge.value_and_grad(f, engine="native")(X)
    found = bridge.value_and_grad(f, engine="xla")(X)
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_what_was_written_with_run_time_values_is_not_known() -> None:
    def f(x: Any) -> Any:
        flags = np.array([1, 0])
        flags[1] = np.argmax(x)
        return x[0] if flags[0] else x[1]

    np.testing.assert_allclose(bridge.grad(f, engine="xla")(X), bridge.grad(f)(X))


def test_branches_of_a_choice_do_not_know_of_each_other() -> None:
    def f(x: Any) -> Any:
        index = np.array([0, 1])

        def first() -> None:
            index[0] = 3

        bridge.cond(x[0] > 0, first, lambda: None)
        return x[index[0]] ** 2

    for x in (X, -X):
        numpy.testing.assert_allclose(bridge.grad(f, engine="xla")(x), bridge.grad(f, engine="native")(x))
