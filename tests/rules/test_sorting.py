"""Sorting, where second derivatives and engines other than the rule book meet it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sort(x) * [1.0, 2.0, 3.0]),
        lambda x: np.sum(np.partition(x, 1) * [1.0, 2.0, 3.0]) + x[0] ** 2,
        lambda x: np.median(x) * 2,
    ],
)
def test_what_is_linear_in_sorted_elements_has_second_derivatives(f: Callable[[Any], Any]) -> None:
    x, t = np.array([0.3, -0.2, 0.9]), np.array([1.0, 2.0, 3.0])
    change = (bridge.grad(f)(x + 1e-4 * t) - bridge.grad(f)(x - 1e-4 * t)) / 2e-4
    np.testing.assert_allclose(bridge.hvp(f, (x,), (t,)), change, atol=1e-9)


@pytest.mark.parametrize("name", ["unique", "unique_values", "unique_all", "union1d"])
def test_distinct_values_have_a_gradient_under_jax(name: str) -> None:
    """JAX's own derivative of them is zero."""
    pytest.importorskip("jax")

    def f(x: Any) -> Any:
        found = np.union1d(x, [0.5]) if name == "union1d" else getattr(np, name)(x)
        return np.sum((found[0] if name == "unique_all" else found) ** 2)

    x = np.array([0.3, -0.2, 0.9, 0.3])
    expected = 2 * x / np.array([2, 1, 1, 2])
    for engine in ("native", "jax"):
        np.testing.assert_allclose(bridge.grad(f, engine=engine)(x), expected)
