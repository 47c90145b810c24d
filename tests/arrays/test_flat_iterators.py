"""`x.flat` is an iterator, as NumPy's: gone through once, and begun again when it is indexed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge


def twice(x: Any) -> Any:
    flat = x.flat
    return 2 * sum(flat) + sum(flat)


def begun(x: Any) -> Any:
    flat = x.flat
    first = next(flat)
    return first * sum(flat) + flat.index


def indexed(x: Any) -> Any:
    flat = x.flat
    next(flat)
    return flat[2] * sum(v * v for v in flat)


def written(x: Any) -> Any:
    y = x * 2
    flat = y.flat
    next(flat)
    flat[1:] = x[0]
    return sum(v * v for v in flat)


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("program", [twice, begun, indexed, written])
def test_as_in_numpy(program: Callable[[Any], Any], engine: str) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    x = np.array([1.5, -0.5, 2.0])
    value, gradient = bridge.value_and_grad(program, engine=engine)(x)
    assert value == pytest.approx(program(x))
    slopes = [(program(x + step) - program(x - step)) / 2e-6 for step in 1e-6 * np.eye(3)]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)
