"""What the tests of the five reports share: the engines, and one assertion of value, both modes and differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from tests.helpers import finite_differences as reference

ENGINES = [
    pytest.param("native"),
    pytest.param("jax"),
    pytest.param("xla"),
    pytest.param("julia", marks=pytest.mark.julia),
]


def needed(engine: str) -> None:
    """Skip the test where the engine's library is not installed."""
    if engine in ("jax", "xla"):
        pytest.importorskip("jax", reason='needs JAX: pip install "mutation-bridge[jax]"')


def assert_agreement(
    f: Callable[..., Any], x: np.ndarray, engine: str, gradient: Any = None, second: bool = True, **options: Any
) -> None:
    """Value, reverse and forward mode, and both orders of second derivatives, against plain runs and differences.

    `gradient` replaces finite differences where the program has none (at the edge of its domain); `second=False`
    leaves second derivatives out; `options` go to the transforms (`index_mode`).
    """
    before = x.tobytes()
    with np.errstate(all="ignore"):
        plain = f(reference.replica(x)) if not options else None
        expected = np.asarray(gradient) if gradient is not None else reference.gradient(f, (x,))[0]
        value, found = bridge.value_and_grad(f, engine=engine, **options)(x)
        tangent = np.cos(np.arange(x.size)).reshape(x.shape)
        pushed, derivative = bridge.jvp(f, (x,), (tangent,), engine=engine, **options)
        if second:
            inner = bridge.grad(f)
            products = [bridge.hvp(f, (x,), (tangent,), engine="native" if engine == "julia" else engine)]
            if engine != "julia":
                products.append(bridge.grad(lambda v: np.sum(inner(v) * tangent), engine=engine)(x))
    if plain is not None:
        np.testing.assert_allclose(value, plain, rtol=1e-14 if engine in ("native", "jax", "julia") else 1e-12)
    np.testing.assert_allclose(pushed, value, rtol=1e-12)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(derivative, np.sum(expected * tangent), rtol=1e-6, atol=1e-8)
    if second:
        with np.errstate(all="ignore"):
            change = (
                reference.change_of(lambda v: (inner(v),), (x,), (tangent,))[0] if gradient is None else products[0]
            )
        for product in products:
            assert np.all(np.isfinite(product))
            np.testing.assert_allclose(product, change, rtol=1e-5, atol=1e-7)
    assert x.tobytes() == before, "the caller's array changed"
