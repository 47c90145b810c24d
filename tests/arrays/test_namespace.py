"""Programs written for any library of arrays, by the Python array API standard."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])


def program(x: Any) -> Any:
    """Knows no library; overwrites what it makes."""
    xp = x.__array_namespace__()
    rows = xp.zeros((3, x.shape[0]), dtype=x.dtype, device=x.device)
    rows[0, :] = xp.sum(x, axis=1)
    rows[1, :] = xp.linalg.vector_norm(x, axis=-1)
    rows[2, :] = xp.vecdot(x, xp.exp(x))
    moved = xp.permute_dims(xp.concat([x, xp.asarray(x, copy=True)], axis=0), (1, 0))
    moved[1:, ...] *= xp.astype(moved[:-1, ...], xp.float64)
    return xp.sum(rows**2) + xp.sum(xp.matmul(moved, moved.mT)) + xp.sum(xp.pow(x, 2).to_device("cpu"))


@pytest.mark.parametrize("engine", ["native", "jax", "xla"])
def test_a_program_of_any_library(engine: Any) -> None:
    value, gradient = bridge.value_and_grad(program, engine=engine)(X)
    np.testing.assert_allclose(value, program(X), rtol=1e-12)
    differences = [(program(X + h) - program(X - h)) / 2e-6 for h in 1e-6 * np.eye(X.size).reshape(-1, *X.shape)]
    np.testing.assert_allclose(gradient, np.reshape(differences, X.shape), rtol=1e-6)


def test_the_namespace_is_numpy_that_tracks() -> None:
    def found(x: Any) -> Any:
        assert x.__array_namespace__(api_version="2023.12") is bridge.numpy
        assert x[0, 0].__array_namespace__() is bridge.numpy
        return np.sum(x)

    bridge.grad(found)(X)


def test_what_numpy_does_not_know() -> None:
    with pytest.raises(ValueError, match="1999"):
        bridge.grad(lambda x: x.__array_namespace__(api_version="1999.1").sum(x))(X)
    with pytest.raises(ValueError, match="tpu"):
        bridge.grad(lambda x: np.sum(x.to_device("tpu")))(X)
