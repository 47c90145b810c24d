"""Products of transposed matrices, which are transposed before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RANDOM = np.random.default_rng(0)
A, B = RANDOM.standard_normal((64, 48)), RANDOM.standard_normal((64, 40))

PROGRAMS: dict[str, Callable[..., Any]] = {
    "transposed": lambda a, b: a.T @ b,
    "of itself": lambda a, b: a.T @ a + np.sum(b),
    "both": lambda a, b: b.T @ a @ a.T @ b,
    "reversed": lambda a, b: a.T[::-1] @ b,
    "einsum": lambda a, b: np.einsum("ki,kj->ij", a, b),
    "of a slice": lambda a, b: a[:40].T @ b[:40],
    "of complex": lambda a, b: np.abs((a * (1 + 1j)).T @ b),
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_as_numpy(program: Callable[..., Any], dtype: type) -> None:
    a, b = A.astype(dtype), B.astype(dtype)
    tolerance = 1e-12 if dtype is np.float64 else 1e-3
    found, expected = bridge.xla(program)(a, b), program(a, b)
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * np.max(np.abs(expected)))


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="of the processor's routines")
def test_a_gradient_sums_along_rows() -> None:
    """The gradient of a product is a product with a transposed matrix, which is made for it."""

    def product(a: Any, b: Any) -> Any:
        return np.sum((a @ b) ** 2)

    text = bridge.xla(bridge.grad(product, argnums=1)).lower(A, B[:48]).as_text()
    assert "optimization_barrier" in text
