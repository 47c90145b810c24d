"""Which of the writes through an index that repeats survive: those that NumPy leaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.rewind.indices import surviving
from tests.helpers.finite_differences import gradient

SHAPE = (3, 4, 2)
I = np.array([0, 2, 0])  # noqa: E741
J = np.array([1, -1, -3])
K = np.array([1, 1, -1])
MASK = np.array([True, False, True, True])

KEYS: dict[str, Any] = {
    "first axis": I,
    "negative and positive": (slice(None), J),
    "last axis": (..., K),
    "two axes": (I, J),
    "two axes from the end": (..., J, K),
    "three axes": (I, J, K),
    "apart": (I, slice(None), K),
    "apart by nothing": (I, J, ..., K),
    "apart by nothing, after a slice": (slice(None), J, ..., K),
    "an ellipsis of nothing before": (..., I, J, K),
    "an ellipsis of nothing behind": (I, J, K, ...),
    "a new axis between": (I, None, J),
    "a new axis before": (None, I, J),
    "a number and an index": (1, J),
    "a number behind": (slice(None), J, 1),
    "a number apart": (I, slice(None), -1),
    "two dimensions": (np.array([[0, 0], [2, 0]]),),
    "broadcast": (I[:, None], J),
    "a mask and an index": (I, MASK),
    "a mask behind": (slice(None), MASK, K),
    "a slice and an index": (slice(2), J, slice(None, None, -1)),
    "unsigned": (np.array([1, 1], np.uint8),),
    "nothing": (np.array([], int),),
    "true": (True, I),
    "all alike": (np.zeros(5, int), 0, 0),
    "without repetition": (np.array([2, 0, 1]),),
}


def frozen(key: Any) -> Any:
    return tuple(np.asarray(part) if type(part) is list else part for part in key) if type(key) is tuple else key


@pytest.mark.parametrize("name", KEYS)
def test_the_last_survive(name: str) -> None:
    key = frozen(KEYS[name])
    array = np.full(SHAPE, -1)
    written = np.arange(array[key].size).reshape(array[key].shape)
    array[key] = written
    found = surviving(key, SHAPE)
    np.testing.assert_array_equal(
        np.broadcast_to(True if found is None else found, written.shape), array[key] == written
    )


@pytest.mark.parametrize("name", KEYS)
def test_the_cotangents_of_the_last(name: str) -> None:
    key = KEYS[name]
    weights = np.linspace(-1, 2, 24).reshape(SHAPE)

    def program(x: Any) -> Any:
        y = x * weights
        y[key] = np.sin(y[key]) * np.arange(1.0, y[key].size + 1).reshape(y[key].shape)
        return np.sum(y * y * weights) + np.sum(y[key] ** 3)

    x = np.linspace(0.3, 1.4, 24).reshape(SHAPE)
    np.testing.assert_allclose(bridge.grad(program)(x), gradient(program, [x])[0], rtol=1e-6, atol=1e-7)
