"""Cotangents: shapes that broadcasting gave, zeros that a pull writes into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.extend import sum_to_shape, zeros


@pytest.mark.parametrize(
    ("operand", "result"),
    [
        ((3,), (3,)),
        ((), (2, 3)),
        ((3,), (2, 3)),
        ((1, 3), (2, 3)),
        ((2, 1), (2, 3)),
        ((1,), (2, 3)),
        ((1, 3), (4, 2, 3)),
        ((2, 1), (4, 2, 3)),
        ((4, 1, 3), (4, 2, 3)),
        ((1, 4, 1), (3, 2, 4, 1)),
        ((1, 1), ()),
        ((1, 3), (3,)),
        ((1, 1, 1), (1,)),
        ((2, 0), (5, 2, 0)),
    ],
)
def test_what_was_broadcast_is_summed(operand: tuple[int, ...], result: tuple[int, ...]) -> None:
    """Each element gets the sum over the elements that it went to; axes of length one may be missing."""
    ct = np.asarray(np.random.rand(*result))
    expected = np.zeros(operand)
    shown = np.broadcast_to(np.arange(expected.size).reshape(operand), np.broadcast_shapes(operand, result))
    np.add.at(expected.reshape(-1), shown.reshape(-1), ct.reshape(-1))
    found = sum_to_shape(ct, operand)
    assert found.shape == operand
    np.testing.assert_allclose(found, expected)


@pytest.mark.parametrize("shape", [3, (3,), (2, 3), ()])
@pytest.mark.parametrize("dtype", [None, np.float32, np.complex128])
@pytest.mark.parametrize("tracked", [False, True])
def test_zeros_live_where_others_do(shape: Any, dtype: Any, tracked: bool) -> None:
    like: Any = np.ones(4, np.float64)
    alone = zeros(shape, like, dtype)
    with bridge.Context() as context:
        found = zeros(shape, context.buffer(like) if tracked else like, dtype)
        assert hasattr(found, "place") == tracked
        assert found.shape == alone.shape == np.zeros(shape).shape
        assert found.dtype == alone.dtype == (dtype or np.float64)
        assert not np.any(np.asarray(bridge.detach(found)))
        if found.shape:
            found[0] = 1
