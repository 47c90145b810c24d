"""Whether two arrays hold the same, asked piece by piece where they are large: nothing large is allocated."""

from __future__ import annotations

import numpy as np

_PIECE = 1 << 15


def holds_same(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays of one shape hold the same values; NaNs are the same."""
    if one.size > _PIECE and one.dtype == other.dtype and one.flags.c_contiguous and other.flags.c_contiguous:
        return _same_pieces(one.reshape(-1), other.reshape(-1))
    return _same_values(one, other)


def _same_values(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other) or np.array_equal(one, other, equal_nan=True)


def _same_pieces(one: np.ndarray, other: np.ndarray) -> bool:
    starts = range(0, one.size, _PIECE)
    return all(_same_values(one[k : k + _PIECE], other[k : k + _PIECE]) for k in starts)
