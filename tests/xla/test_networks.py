"""A network whose convolutions are loops over windows, compiled as one program: large enough for XLA to fuse it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RANDOM = np.random.default_rng(3)
IMAGES = RANDOM.uniform(0.0, 1.0, (4, 12, 12, 8))
KERNELS = [RANDOM.uniform(-0.5, 0.5, shape) for shape in ((1, 1, 8, 4), (3, 3, 4, 4), (1, 1, 4, 8))]


def convolved(images: Any, kernel: Any) -> Any:
    size, _, _, channels = kernel.shape
    rows, columns = images.shape[1] - size + 1, images.shape[2] - size + 1
    found = np.empty((len(images), rows, columns, channels))
    for i in range(rows):
        for j in range(columns):
            window = images[:, i : i + size, j : j + size, :, None]
            found[:, i, j] = (window * kernel).sum(axis=(1, 2, 3))
    return found


def normalised(x: Any) -> Any:
    return (x - x.mean(axis=0, keepdims=True)) / np.sqrt(x.var(axis=0, keepdims=True) + 1e-3)


def block(images: Any, narrow: Any, between: Any, wide: Any) -> Any:
    """A residual block: narrow, padded, convolved, wide again, and added to what came in."""
    padded = np.zeros((len(images), images.shape[1] + 2, images.shape[2] + 2, narrow.shape[3]))
    padded[:, 1:-1, 1:-1] = convolved(images, narrow)
    x = np.maximum(normalised(padded), 0.0)
    x = np.maximum(normalised(convolved(x, between)), 0.0)
    return np.maximum(normalised(convolved(x, wide)) + images, 0.0)


def loss(images: Any, narrow: Any, between: Any, wide: Any) -> Any:
    found = block(images, narrow, between, wide)
    return np.sum(found * np.cos(np.arange(found.size)).reshape(found.shape))


def test_a_residual_block() -> None:
    positions = (0, 1, 2, 3)
    expected, those = bridge.value_and_grad(loss, positions, engine="native")(IMAGES, *KERNELS)
    value, gradient = bridge.value_and_grad(loss, positions, engine="xla")(IMAGES, *KERNELS)
    np.testing.assert_allclose(value, expected, rtol=1e-10)
    for found, wanted in zip(gradient, those, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9 * np.max(np.abs(wanted)))
