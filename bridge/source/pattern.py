"""What memory holds while it is lent: NaNs by which it is known that somebody has computed with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract

PATTERNS: dict[int, Any] = {
    2: np.array([0x7C5D], np.uint16),
    4: np.array([0x7F9B4000], np.uint32),
    8: np.array([0x7FF5B41D00000000], np.uint64),
}
"""Signalling NaNs that nothing else makes, by the bytes of a real number; the free bits are zero.

Arithmetic makes them quiet, and keeps their other bits: memory that was computed with in place is not as it was, and
what was computed from it is known.
"""
_FREE = {2: 0, 4: 0xFFF, 8: 0xFFFFFFFF}
"""The bits that say whose memory it is and where in it, so that bits which were moved or copied are known, too."""
_QUIET = {2: 9, 4: 22, 8: 51}
"""The bit by which a quiet NaN differs, by the bytes of a real number."""
_PLACES = np.arange(1 << 15, dtype=np.uint32)
_SPREAD = 0x9E3779B1


def width(dtype: Any) -> int:
    """The bytes of a real number, of which a complex one has two."""
    return dtype.itemsize // (2 if dtype.kind == "c" else 1)


def bits_of(array: np.ndarray) -> np.ndarray:
    """The memory of an array without gaps, as integers of the width of its real numbers."""
    flat = array.ravel(order="K")
    assert flat.size == 0 or flat.base is not None, "the owner of memory has gaps"
    return flat.view(PATTERNS[width(array.dtype)].dtype)


def fill(bits: np.ndarray, number: int) -> None:
    """Let memory hold the pattern of the array of this number."""
    for part, expected in _parts(bits, number):
        part[...] = expected


def is_filled(bits: np.ndarray, number: int) -> bool:
    """Whether memory holds the pattern of the array of this number, as it was filled."""
    return all(np.array_equal(part, expected) for part, expected in _parts(bits, number))


def _parts(bits: np.ndarray, number: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Memory piece by piece, and what is in each."""
    pattern, free = PATTERNS[bits.itemsize], np.uint32(_FREE[bits.itemsize])
    for start in range(0, bits.size, _PLACES.size):
        part = bits[start : start + _PLACES.size]
        places = (_PLACES[: part.size] + np.uint32((number * _SPREAD + start) % 2**32)) & free
        yield part, pattern | places.astype(bits.dtype)


def is_marked(bits: np.ndarray) -> np.ndarray:
    """Which numbers, as integers, hold the pattern of some array, be it computed with or not."""
    kind = bits.dtype.type
    ignored = kind(_FREE[bits.itemsize] | 1 << _QUIET[bits.itemsize] | 1 << 8 * bits.itemsize - 1)
    found: np.ndarray = (bits | ignored) == (PATTERNS[bits.itemsize] | ignored)
    return found


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
    bits = np.ascontiguousarray(plain).reshape(-1).view(PATTERNS[width(dtype)].dtype)
    return bool(np.any(is_marked(bits)))
