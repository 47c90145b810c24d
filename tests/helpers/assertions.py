"""What many tests assert of a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bridge
from tests.helpers.finite_differences import gradient


def assert_gradient(f: Callable[[Any], Any], x: np.ndarray) -> None:
    """Reverse and forward mode against finite differences, and the caller's bits."""
    (expected,) = gradient(f, (x,))
    kept = x.copy()
    value, found = bridge.value_and_grad(f)(x)
    np.testing.assert_array_equal(value, f(x.copy()))
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)
    tangent = np.cos(np.arange(x.size)).reshape(x.shape)
    np.testing.assert_allclose(bridge.jvp(f, (x,), (tangent,))[1], np.sum(expected * tangent), rtol=1e-6, atol=1e-8)
    assert x.tobytes() == kept.tobytes()
