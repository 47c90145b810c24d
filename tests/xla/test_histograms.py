"""Compiled histograms: in the bins in which NumPy counts, also of data on edges that are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RANDOM = np.random.default_rng(0)
EDGES = np.linspace(0.1, 0.7, 1000)
DATA: dict[str, tuple[Any, dict[str, Any]]] = {
    "on edges": (EDGES, {"bins": 999}),
    "just below": (np.nextafter(EDGES, 0.0), {"bins": 999, "range": (0.1, 0.7)}),
    "just above": (np.nextafter(EDGES, 1.0), {"bins": 999, "range": (0.1, 0.7)}),
    "rounded": (np.round(RANDOM.uniform(-2.0, 3.0, 500), 1), {"bins": 50}),
    "single precision": (RANDOM.uniform(-2.0, 3.0, 500).astype(np.float32), {"bins": 7, "range": (-1.0, 2.0)}),
    "integers": (RANDOM.integers(-5, 5, (4, 30)), {"bins": 9}),
    "none": (np.zeros(0), {"bins": 3}),
    "all alike": (np.ones(3), {"bins": 4}),
    "beyond": (np.array([np.nan, 0.5, np.inf, -np.inf, 2.0]), {"bins": 10, "range": (0.0, 1.0)}),
    "edges that are given": (RANDOM.uniform(-2.0, 3.0, 500), {"bins": np.array([-1.0, 0.0, 0.5, 3.0])}),
}


@pytest.mark.ci
@pytest.mark.parametrize("name", DATA)
def test_counts_and_edges(name: str) -> None:
    data, options = DATA[name]
    counts, edges = bridge.xla(lambda a: np.histogram(a, **options))(data)
    expected, those = np.histogram(data, **options)
    np.testing.assert_array_equal(counts, expected)
    np.testing.assert_array_equal(edges, those)
    assert (counts.dtype, edges.dtype) == (expected.dtype, those.dtype)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", [name for name, (data, _) in DATA.items() if np.ndim(data) == 1])
def test_the_gradient_of_weights_is_found_in_their_bins(name: str, engine: Any) -> None:
    data, options = DATA[name]
    weights = RANDOM.uniform(0.5, 1.5, np.shape(data))
    counts, edges = np.histogram(data, weights=weights, **options)
    factors = np.arange(1.0, len(counts) + 1)

    def total(w: Any) -> Any:
        return np.sum(factors * np.histogram(data, weights=w, **options)[0])

    number = np.searchsorted(edges, data, side="right") - 1
    number[data == edges[-1]] = len(counts) - 1
    inside = (data >= edges[0]) & (data <= edges[-1])
    expected = np.where(inside, factors[np.clip(number, 0, len(counts) - 1)], 0.0)
    np.testing.assert_array_equal(bridge.grad(total, engine=engine)(weights), expected)


@pytest.mark.ci
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("options", [{}, {"bins": 3}, {"bins": 3, "density": True}, {"weights": np.ones(3)}])
def test_data_that_have_no_range(wrong: float, options: dict[str, Any]) -> None:
    def counted(a: Any) -> Any:
        return np.histogram(a, **options)[0]

    data = np.array([0.5, wrong, 2.0])
    with pytest.raises(ValueError, match="autodetected range"):
        counted(data)
    compiled = bridge.xla(counted)
    with pytest.raises(ValueError, match=r"autodetected range .* not finite, at .*test_histograms.py"):
        compiled(data)
    np.testing.assert_allclose(compiled(np.arange(3.0)), counted(np.arange(3.0)), rtol=1e-12)


@pytest.mark.ci
def test_data_without_a_range_in_a_loop() -> None:
    def counted(a: Any) -> Any:
        total = np.zeros(3)
        for i in range(20):
            total += np.histogram(a[i], 3)[0]
        return total

    data = np.random.default_rng(0).normal(size=(20, 5))
    compiled = bridge.xla(counted)
    np.testing.assert_array_equal(compiled(data), counted(data))
    data[7, 2] = np.nan
    with pytest.raises(ValueError, match="autodetected range"):
        compiled(data)
