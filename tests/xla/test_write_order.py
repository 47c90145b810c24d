"""Writes of memory from itself, at places that a run finds: right where the order cannot count, else an error."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

import bridge
from bridge.errors import AliasError
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.write_order import Line, keeps_its_value

LINES = [
    Line((Affine(row), Affine(column)), along, step, Affine(3))
    for row, column, along, step in product(range(2, 5), range(2, 5), (0, 1), (1, 2, -1))
    if step < 2 or (column, row)[1 - along] < 4
]


def shown(memory: Any, line: Line) -> Any:
    """The elements of a line, as an array on the same memory."""
    row, column = (first.constant for first in line.first)
    one = memory[row, :] if line.along else memory[:, column]
    return one[column if line.along else row :: line.step][:3]


def test_what_is_said_to_keep_its_value_does_so_in_numpy() -> None:
    said = {False: 0, True: 0}
    lost = 0
    for target, value in product(LINES, LINES):
        memory, buffered = np.arange(64.0).reshape(8, 8), np.arange(64.0).reshape(8, 8)
        shown(memory, target)[:] = shown(memory, value)
        shown(buffered, target)[:] = shown(buffered, value).copy()
        kept, keeps = keeps_its_value(target, value), np.array_equal(memory, buffered)
        assert keeps or not kept, (target, value)
        said[kept] += 1
        lost += not keeps
    assert lost > 20
    assert said[True] > 3 * said[False]


def test_what_is_no_line_may_be_overwritten() -> None:
    assert not keeps_its_value(None, LINES[0])
    assert not keeps_its_value(LINES[0], None)


def column_from_row(A: Any, x: Any) -> Any:
    j = np.argmax(x)
    A[1:5, j] = A[3, 1:5]
    return np.sum(A * A)


def column_from_row_of_run_time_length(A: Any, x: Any) -> Any:
    j = np.argmax(x)
    A[1:j, j] = A[j - 1, 1:j]
    return np.sum(A * A)


@pytest.mark.parametrize("program", [column_from_row, column_from_row_of_run_time_length])
def test_an_order_that_nobody_knows_is_an_error(program: Any) -> None:
    A, x = np.arange(25.0).reshape(5, 5), np.array([0.0, 1, 2, 9, 3])
    with pytest.raises(AliasError, match=r"(?s)memory that it is read from.*NumPy may read elements.*copy what is"):
        bridge.xla(program)(A, x)


def diagonal_block(A: Any, x: Any) -> Any:
    j = np.argmax(x)
    A[:, j] = A[j, :]
    A[j:, j] = A[j, j:]
    A[0, j:] = A[0, : 5 - j]
    return np.sum(A * np.cos(A))


def test_rows_and_columns_that_meet_on_the_diagonal_are_copied() -> None:
    A, x = np.linspace(0.1, 0.9, 25).reshape(5, 5), np.array([0.0, 1, 2, 9, 3])
    assert bridge.xla(diagonal_block)(A.copy(), x) == pytest.approx(diagonal_block(A.copy(), x))
    expected = bridge.grad(diagonal_block, engine="native")(A.copy(), x)
    np.testing.assert_allclose(bridge.grad(diagonal_block, engine="xla")(A.copy(), x), expected)
