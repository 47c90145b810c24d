"""Updates in place under a mask: what lies beside it stays, and so does its cotangent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from tests.helpers.finite_differences import gradient

X = np.array([[0.3, 1.2, -0.7], [2.0, 0.4, 0.9]])
MASK = np.array([[True, False, True], [False, True, True]])

UPDATES: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda y, z: np.add(y, z, out=y, where=MASK),
    "add the other way": lambda y, z: np.add(z, y, out=y, where=MASK),
    "add a row": lambda y, z: np.add(y, z[0], out=y, where=MASK),
    "subtract": lambda y, z: np.subtract(y, z, out=y, where=MASK),
    "subtract the other way": lambda y, z: np.subtract(z, y, out=y, where=MASK),
    "multiply": lambda y, z: np.multiply(y, z, out=y, where=MASK),
    "divide by itself": lambda y, z: np.divide(y, y, out=y, where=MASK),
    "a constant": lambda y, z: np.add(y, 2.0, out=y, where=MASK),
    "of others": lambda y, z: np.multiply(z, z, out=y, where=MASK),
    "a row of the mask": lambda y, z: np.add(y, z, out=y, where=MASK[0]),
    "a part": lambda y, z: np.add(y[:, 1:], z[:, :2], out=y[:, 1:], where=MASK[:, 1:]),
    "all": lambda y, z: np.add(y, z, out=y, where=True),
    "none": lambda y, z: np.add(y, z, out=y, where=np.zeros(3, bool)),
    "without a mask": lambda y, z: np.subtract(y, z, out=y),
}


@pytest.mark.parametrize("name", UPDATES)
def test_masked_updates(name: str) -> None:
    def program(x: Any) -> Any:
        y, z = np.sin(x) * 2, x**2
        UPDATES[name](y, z)
        UPDATES[name](y, y * 0.5)
        return np.sum(y**2 * np.arange(1.0, 7.0).reshape(2, 3)) + np.sum(z)

    (expected,) = gradient(program, [X])
    np.testing.assert_allclose(bridge.grad(program)(X), expected, rtol=1e-6, atol=1e-8)
    v = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    np.testing.assert_allclose(bridge.jvp(program, (X,), (v,))[1], np.sum(expected * v), rtol=1e-6)
