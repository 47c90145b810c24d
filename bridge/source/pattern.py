"""What memory holds while it is lent: NaNs by which it is known that somebody has computed with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract

PATTERNS: dict[int, Any] = {
    2: np.array([0x7C5D], np.uint16),
    4: np.array([0x7F9B41D6], np.uint32),
    8: np.array([0x7FF5B41D6EB41D6E], np.uint64),
}
"""Signalling NaNs that nothing else makes, by the bytes of a real number.

Arithmetic makes them quiet, and keeps their other bits: memory that was computed with in place is not as it was, and
what was computed from it is known.
"""
_QUIET = {2: 9, 4: 22, 8: 51}
"""The bit by which a quiet NaN differs, by the bytes of a real number."""


def width(dtype: Any) -> int:
    """The bytes of a real number, of which a complex one has two."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def bits_of(array: np.ndarray) -> np.ndarray:
    """The memory of an array without gaps, as integers of the width of its real numbers."""
    flat = array.ravel(order="K")
    assert flat.size == 0 or flat.base is not None, "the owner of memory has gaps"
    return flat.view(PATTERNS[width(array.dtype)].dtype)


def shows_pattern(value: Any) -> bool:
    """Whether a value was computed from memory that was lent."""
    plain = grounded(value)
    if isinstance(plain, np.floating) and plain == plain:
        return False
    dtype = getattr(plain, "dtype", None)
    if not isinstance(dtype, np.dtype) or dtype.kind not in "fc" or width(dtype) not in PATTERNS or is_abstract(value):
        return False
    with np.errstate(all="ignore"):
        if not np.isnan(np.sum(plain)):
            return False
    count, pattern = width(dtype), PATTERNS[width(dtype)]
    bits = np.ascontiguousarray(plain).reshape(-1).view(pattern.dtype)
    one = pattern.dtype.type(1)
    quiet, sign = one << pattern.dtype.type(_QUIET[count]), one << pattern.dtype.type(8 * count - 1)
    return bool(np.any((bits & ~sign) | quiet == pattern | quiet))
