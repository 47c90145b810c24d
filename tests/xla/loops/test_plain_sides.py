# ruff: noqa: SIM108
"""Branches one side of which is an array that the program has: read as it is at each call, and written as in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import TraceError

TABLE = np.full(3, 2.0)
OTHER = np.arange(1.0, 4.0)


class Holder:
    def __init__(self, y: Any) -> None:
        self.y = y


def bound_on_a_side(x: Any) -> Any:
    if x[0] > 0:
        y = TABLE
    else:
        y = x * 2
    return np.sum(y * x)


def bound_again(x: Any) -> Any:
    y = x
    if x[0] > 0:
        y = TABLE
    return np.sum(y * x)


def bound_before(x: Any) -> Any:
    y = TABLE
    if x[0] > 0:
        y = x
    return np.sum(y * x)


def either_of_two(x: Any) -> Any:
    y = TABLE if x[0] > 0 else OTHER
    return np.sum(y * x)


def parts(x: Any) -> Any:
    if x[0] > 0:
        y = TABLE[:2]
    else:
        y = x[1:]
    return np.sum(y * x[:2])


def in_a_loop(x: Any) -> Any:
    total = 0.0
    for k in range(30):
        if x[0] + k > 2:
            y = TABLE
        else:
            y = x * k
        total += np.sum(y * x)
    return total


def of_an_object(x: Any) -> Any:
    holder = Holder(x * 1)
    if x[0] > 0:
        holder.y = TABLE
    return np.sum(holder.y * x)


def then_written(x: Any) -> Any:
    if x[0] > 0:
        y = TABLE
    else:
        y = x * 2
    y[0] = 5.0
    return np.sum(y * x) + np.sum(TABLE)


def written_by_its_name(x: Any) -> Any:
    y = x * 2
    if x[0] > 0:
        y = TABLE
    TABLE[1] = x[2] * 3
    return np.sum(y * x) + np.sum(TABLE)


PROGRAMS = [bound_on_a_side, bound_again, bound_before, either_of_two, parts, in_a_loop, of_an_object]
PROGRAMS += [then_written, written_by_its_name]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_plain_array_on_one_side(program: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = bridge.value_and_grad(program, engine="xla")
    for table in (2.0, 3.0):
        for sign in (1, -1):
            x = sign * np.array([0.5, 1.5, -2.0])
            monkeypatch.setitem(globals(), "TABLE", np.full(3, table))
            expected, slope = bridge.value_and_grad(program)(x)
            monkeypatch.setitem(globals(), "TABLE", np.full(3, table))
            value, gradient = compiled(x)
            assert value == pytest.approx(expected)
            np.testing.assert_allclose(gradient, slope)


def test_its_elements_may_change_between_calls() -> None:
    table = np.full(3, 2.0)

    def program(x: Any) -> Any:
        y = table if x[0] > 0 else x
        return np.sum(y * x)

    compiled = bridge.grad(program, engine="xla")
    assert compiled(np.ones(3)).tolist() == [2.0, 2.0, 2.0]
    table[1] = 7.0
    assert compiled(np.ones(3)).tolist() == [2.0, 7.0, 2.0]
    assert table.tolist() == [2.0, 7.0, 2.0]


def test_writes_into_integers_would_not_be_seen() -> None:
    table = np.arange(3)

    def program(x: Any) -> Any:
        y = np.zeros(3, int)
        if x[0] > 0:
            y = table
        y[0] = 5
        return np.sum(table * x)

    with pytest.raises(TraceError, match="int64 that the program has"):
        bridge.grad(program, engine="xla")(np.ones(3))
