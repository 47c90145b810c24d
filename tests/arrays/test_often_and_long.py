"""Recurrences backwards in blocks, elements that are named often, and long segments: as they are step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.arrays.ufunc_at import _stable_order
from bridge.arrays.ufunc_steps import _recurred_in_blocks

RNG = np.random.default_rng(7)


@pytest.mark.parametrize("shape", [(2,), (16,), (17,), (997,), (4096,), (5, 300), (300, 5), (1000, 3, 2), (2, 1, 1)])
def test_a_recurrence_in_blocks(shape: tuple[int, ...]) -> None:
    factors, ct = RNG.uniform(-1.1, 1.1, (shape[0] - 1, *shape[1:])), RNG.normal(size=shape)
    factors[RNG.uniform(size=factors.shape) < 0.1] = 0
    ct[RNG.uniform(size=shape) < 0.01] = np.inf
    expected = ct.copy()
    with np.errstate(invalid="ignore"):
        for k in range(shape[0] - 2, -1, -1):
            expected[k] += np.where(factors[k] == 0, 0, factors[k] * np.where(factors[k] == 0, 0, expected[k + 1]))
        found = _recurred_in_blocks(factors.copy(), ct.copy())
    finite = np.isfinite(expected)
    np.testing.assert_allclose(found[finite], expected[finite], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("most", [3, 65536, 200_000, 5_000_000_000])
def test_an_order_without_comparisons(most: int) -> None:
    numbers = RNG.integers(0, most, 5000)
    np.testing.assert_array_equal(_stable_order(numbers), np.argsort(numbers, kind="stable"))


@pytest.mark.parametrize("ufunc", [np.multiply, np.maximum, np.divide, np.logaddexp, np.hypot])
@pytest.mark.parametrize(("bins", "count"), [((1,), 40), ((7,), 200), ((3, 2), 60), ((50,), 90)])
def test_elements_that_are_named_often(ufunc: np.ufunc, bins: tuple[int, ...], count: int) -> None:
    numbers = np.unravel_index(RNG.integers(0, np.prod(bins), count), bins)
    weights = RNG.normal(size=bins)

    def program(x: Any) -> Any:
        y = np.ones(bins) + x[0] * 0.1
        ufunc.at(y, numbers, x)
        return np.sum(y * weights)

    x = RNG.permutation(np.linspace(0.8, 1.2, count))
    value, gradient = bridge.value_and_grad(program)(x)
    assert value == program(x)
    for step in 1e-6 * np.eye(count):
        slope = (program(x + step) - program(x - step)) / 2e-6
        np.testing.assert_allclose(gradient @ step, slope * 1e-6, rtol=1e-5, atol=1e-11)


@pytest.mark.parametrize("ufunc", [np.subtract, np.divide, np.logaddexp, np.hypot, np.minimum])
@pytest.mark.parametrize("cuts", [[0, 400], [0, 700, 1], [5, 5, 300], [799]])
def test_long_segments(ufunc: np.ufunc, cuts: list[int]) -> None:
    weights, x, direction = (
        RNG.normal(size=len(cuts)),
        RNG.permutation(np.linspace(0.8, 1.2, 800)),
        RNG.normal(size=800),
    )
    program = lambda x: np.sum(ufunc.reduceat(x, cuts) * weights)  # noqa: E731
    value, gradient = bridge.value_and_grad(program)(x)
    assert value == program(x)
    step = 1e-6 * direction
    slope = (program(x + step) - program(x - step)) / 2e-6
    np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-5, atol=1e-5)
