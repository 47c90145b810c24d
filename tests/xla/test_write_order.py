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
    for row, column, along, step in product(range(4), range(4), (0, 1), (1, 2, -1))
]


def places_of(line: Line) -> list[tuple[int, ...]]:
    starts = [first.constant for first in line.first]
    return [tuple(one + line.step * k * (axis == line.along) for axis, one in enumerate(starts)) for k in range(3)]


def is_read_late(target: Line, value: Line) -> bool:
    """Whether an element is read after it was written, if both are gone through from the first on."""
    written, read = places_of(target), places_of(value)
    return any(read[k] == written[m] for k in range(3) for m in range(k))


def test_what_is_said_to_keep_its_value_is_never_read_after_it_was_written() -> None:
    said = {False: 0, True: 0}
    for target, value in product(LINES, LINES):
        buffered = target.step * value.step < 0 or (target.along, target.step) == (value.along, value.step)
        kept = keeps_its_value(target, value)
        said[kept] += 1
        assert not (kept and not buffered and is_read_late(target, value)), (target, value)
    assert said[True] > 3 * said[False] > 0


@pytest.mark.parametrize("step", [1, -1])
def test_of_lines_that_cross_only_those_are_refused_that_are_read_late(step: int) -> None:
    lines = [one for one in LINES if one.step == step]
    crossing = [(target, value) for target, value in product(lines, lines) if target.along != value.along]
    late = [pair for pair in crossing if is_read_late(*pair)]
    assert len(late) > 5
    assert [pair for pair in crossing if not keeps_its_value(*pair)] == late


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
