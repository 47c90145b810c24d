"""A program that is read, against plain NumPy: its value, its gradient by differences, forward mode, second order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bridge


def differences(f: Callable[[Any], Any], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function of one vector."""
    return np.stack([(f(x + step * unit) - f(x - step * unit)) / (2 * step) for unit in np.eye(x.size)])


def agrees(
    f: Callable[[Any], Any],
    x: np.ndarray,
    tolerance: float = 1e-6,
    second: bool = False,
    bits: bool = True,
    step: float = 1e-6,
) -> None:
    """Assert that the number `f(x)` and its derivatives are right."""
    value, gradient = bridge.value_and_grad(f)(x)
    if bits:
        assert value == f(x)
    else:
        np.testing.assert_allclose(value, f(x), rtol=1e-12)
    np.testing.assert_allclose(gradient, differences(f, x, step), rtol=tolerance, atol=tolerance)
    direction = np.cos(np.arange(x.size))
    np.testing.assert_allclose(bridge.jvp(f, (x,), (direction,))[1], gradient @ direction, rtol=1e-9, atol=1e-12)
    if second:
        hessian = differences(bridge.grad(f), x, step)
        np.testing.assert_allclose(bridge.hessian(f)(x), hessian, rtol=10 * tolerance, atol=10 * tolerance)
        np.testing.assert_allclose(
            bridge.jacrev(bridge.jacrev(f))(x), hessian, rtol=10 * tolerance, atol=10 * tolerance
        )
