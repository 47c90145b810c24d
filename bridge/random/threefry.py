"""The Threefry-2x32 block cipher as a source of random bits, counted as `jax.random` counts.

Every 32-bit word of a key and a 64-bit counter gives two words: element number n of a draw, in C order, is a function
of the key and n alone. That is JAX's scheme with `jax_threefry_partitionable=True`, its default.

Source: J. Salmon, M. Moraes, R. Dror, D. Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Words = tuple[np.ndarray, np.ndarray]
"""Two uint32 arrays of one shape (n,): the halves of keys, counters or blocks."""

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def cipher(key: Words, counter: Words) -> Words:
    """Blocks of 64 bits for keys and counters, twenty rounds each; all four arrays broadcast.

    Arrays have at least one axis: NumPy warns of a wrapped sum of numbers, and wraps that of arrays silently.
    """
    first, second = np.broadcast_arrays(*key)
    schedule = (first, second, first ^ second ^ _PARITY)
    x, y = counter[0] + schedule[0], counter[1] + schedule[1]
    for turn in range(5):
        for distance in _ROTATIONS[turn % 2]:
            x += y
            y = (y << np.uint32(distance)) | (y >> np.uint32(32 - distance))
            y ^= x
        x += schedule[(turn + 1) % 3]
        y += schedule[(turn + 2) % 3] + np.uint32(turn + 1)
    return x, y


def blocks(key: np.ndarray, count: int) -> Words:
    """The first `count` blocks of one key, a uint32 array of shape (2,)."""
    numbers = np.arange(count, dtype=np.uint64)
    counter = (numbers >> np.uint64(32)).astype(np.uint32), numbers.astype(np.uint32)
    return cipher((key[:1], key[1:]), counter)


def bits(key: np.ndarray, shape: tuple[int, ...], width: int) -> np.ndarray:
    """Random unsigned integers of `width` bits (8, 16, 32 or 64), in an array of `shape`."""
    high, low = blocks(key, math.prod(shape))
    return combined(high, low, width).reshape(shape)


def combined(high: np.ndarray, low: np.ndarray, width: int) -> np.ndarray:
    """Blocks as unsigned integers of `width` bits."""
    if width == 64:
        return (high.astype(np.uint64) << np.uint64(32)) | low
    return (high ^ low).astype(f"u{width // 8}")


def branch(keys: Words, number: int) -> Words:
    """Key number `number` of those into which each of `keys` is split."""
    zero = np.zeros(1, np.uint32)
    return cipher(keys, (zero, zero + np.uint32(number)))


def unit(words: np.ndarray, dtype: Any) -> np.ndarray:
    """Unsigned integers as floats of the same width in [0, 1): their leading bits are the fraction of one in [1, 2)."""
    one = np.ones((), dtype)
    shift = words.dtype.type(words.dtype.itemsize * 8 - np.finfo(dtype).nmant)
    return ((words >> shift) | one.view(words.dtype)).view(dtype) - one
