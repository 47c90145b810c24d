"""NumPy functions that show only some of their arguments to `__array_function__`: a tracked value among the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError
from tests.helpers.by_differences import differences

TABLE = np.array([1.0, 2.0, 4.0])
X = np.array([0.7, 1.3, 0.4])


def diagonal(x: Any) -> Any:
    m = np.zeros((3, 3))
    np.fill_diagonal(m, x**2)
    np.fill_diagonal(m[1:, 1:], x[0])
    return np.trace(m @ m)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "fill_diagonal": diagonal,
    "pad": lambda x: np.sum(np.pad(TABLE, 1, constant_values=x[0]) ** 2),
    "interp left and right": lambda x: np.sum(np.interp([0.5, 1.5, 9.0], TABLE, [1, 4, 9], left=x[0], right=x[1] ** 2)),
    "interp at a place": lambda x: np.interp(2 * x[0], TABLE, [1, 4, 9]),
    "interp at places": lambda x: np.sum(np.interp(2 * x, TABLE, np.sqrt(TABLE)) * x),
    "interp in a period": lambda x: np.sum(np.interp(2 * x, TABLE, TABLE**2, period=2.5)),
    "nan_to_num": lambda x: np.sum(np.nan_to_num([np.nan, np.inf, -np.inf], nan=x[0], posinf=x[1], neginf=x[2]) ** 2),
    "nan_to_num, half tracked": lambda x: np.sum(np.nan_to_num(np.array([0.0, np.inf, 0.0]) + x, posinf=x[0] ** 2)),
    "take": lambda x: np.sum(np.take(TABLE, np.argsort(x)) * x) + np.take(TABLE, np.argmax(x)) * x[0],
    "roll": lambda x: np.sum(np.roll(TABLE, np.argmax(x)) * x),
    "piecewise": lambda x: np.sum(np.piecewise(TABLE, [TABLE > 1, TABLE <= 1], [x[0], x[1] ** 2])),
}


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_its_gradient_is_that_of_differences(program: Callable[[Any], Any], engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    value, found = bridge.value_and_grad(program, engine=engine)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-12)
    np.testing.assert_allclose(found, differences(program, X), rtol=1e-6, atol=1e-7)


def test_parts_of_complex_numbers_are_not_replaced() -> None:
    with pytest.raises(RefusedError, match=r"nan_to_num of complex numbers with a tracked nan=.*\n(.|\n)*np.where"):
        bridge.grad(lambda x: np.sum(np.abs(np.nan_to_num(x * 1j, nan=x[0]))))(X)
