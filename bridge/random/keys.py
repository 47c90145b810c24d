"""Keys: where a stream of random numbers begins, and how new streams are made from one."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays.dispatch import call
from bridge.random import draws
from bridge.random.checking import checked_key, checked_shape, is_integer, known_integer, wrong


def key(seed: Any) -> Any:
    """The key of an integer: a uint32 array of shape (2,), as `jax.random.key_data(jax.random.key(seed))`.

    All 64 bits of the seed count, as in JAX where it keeps 64 bits; from 0 to 2**32 - 1 its setting does not matter.
    """
    if not is_integer(seed):
        raise wrong("key", f"the seed is {seed!r}", "give one integer")
    known = known_integer(seed)
    if known is not None and not -(2**63) <= known < 2**63:
        raise wrong("key", f"the seed {known} has more than 64 bits", "give an integer from -2**63 to 2**63 - 1")
    return call(draws.seeded, (seed if known is None else known,), {})


def split(key: Any, num: Any = 2) -> Any:
    """`num` new keys, independent of each other and of `key`, which is not to be used again.

    Returns a uint32 array of shape (num, 2), or (*num, 2) for a tuple: iterate over it, or unpack it.
    """
    return call(draws.split_keys, (checked_key("split", key),), {"shape": checked_shape("split", num)})


def fold_in(key: Any, data: Any) -> Any:
    """A new key from a key and an integer, as the step of a loop; it may be one that is known at run time only."""
    own = checked_key("fold_in", key)
    if not is_integer(data):
        raise wrong("fold_in", f"the data is {data!r}", "give one integer, as the number of a step")
    known = known_integer(data)
    if known is not None and not 0 <= known < 2**32:
        raise wrong("fold_in", f"the data is {known}", "give an integer from 0 to 2**32 - 1")
    return call(draws.folded, (own, data if known is None else known), {})


def bits(key: Any, shape: Any = (), dtype: Any = np.uint32) -> Any:
    """Random unsigned integers of 8, 16, 32 or 64 bits, every bit of which is random."""
    kind = np.dtype(dtype)
    if kind.kind != "u":
        raise wrong("bits", f"dtype {kind}", "give uint8, uint16, uint32 or uint64")
    return _drawn(draws.random_bits, "bits", key, shape, kind)


def _drawn(function: Any, name: str, key: Any, shape: Any, dtype: Any) -> Any:
    return call(function, (checked_key(name, key),), {"shape": checked_shape(name, shape), "dtype": dtype})
