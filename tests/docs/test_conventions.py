"""docs/conventions.md holds: every row of its tables, in reverse and in forward mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.proof.programs.kinks import page, table


def rows() -> list[tuple[str, str, str]]:
    """Function, point and gradient of every row, as they are written."""
    return [(row.function, row.at, row.gradient) for row in table()]


def loss_of(expression: str) -> Callable[[Any], Any]:
    """The sum of what an expression in `x` says, as the page promises."""
    function = eval(f"lambda x: {expression}", {"np": np})
    return lambda x: np.sum(function(x))


def concrete(expression: str) -> np.ndarray:
    return np.array(eval(expression, {"np": np}))


def test_every_line_of_the_tables_is_a_row_that_is_read() -> None:
    path = page()
    assert path is not None
    lines = path.read_text(encoding="utf-8").splitlines()
    tables = sum(line.startswith("|---") for line in lines)
    assert tables > 5
    assert len(rows()) == sum(line.startswith("|") for line in lines) - 2 * tables


@pytest.mark.parametrize(("function", "at", "gradient"), rows())
def test_gradient(function: str, at: str, gradient: str) -> None:
    with np.errstate(all="ignore"):
        found = bridge.grad(loss_of(function))(concrete(at))
    np.testing.assert_allclose(found, concrete(gradient), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("function", "at", "gradient"), rows())
def test_tangents_agree_with_the_gradient(function: str, at: str, gradient: str) -> None:
    point, expected = concrete(at), concrete(gradient)
    for index in np.ndindex(point.shape):
        for step in (1.0, 1j) if point.dtype.kind == "c" else (1.0,):
            direction = np.zeros_like(point)
            direction[index] = step
            with np.errstate(all="ignore"):
                _, found = bridge.jvp(loss_of(function), (point,), (direction,))
            np.testing.assert_allclose(found, np.real(np.conj(expected[index]) * step), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("function", "at", "gradient"), rows())
def test_value_is_the_plain_value(function: str, at: str, gradient: str) -> None:
    loss, point = loss_of(function), concrete(at)
    with np.errstate(all="ignore"):
        found, _ = bridge.value_and_grad(loss)(point)
        np.testing.assert_array_equal(found, loss(point))
