"""Keys: where a stream of random numbers begins, and how new streams are made from one."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bridge.arrays.creation import array
from bridge.arrays.dispatch import call
from bridge.arrays.operands import context_of
from bridge.random import draws
from bridge.random.checking import checked_shape, is_integer, known_integer, wrong

_NEW_KEY = "make one with bridge.random.key(seed), and new ones from it with bridge.random.split or fold_in"


def key(seed: Any) -> NDArray[Any]:
    """The key of an integer: a uint32 array of shape (2,), as `jax.random.key_data(jax.random.key(seed))`.

    All 64 bits of the seed count, as in JAX where it keeps 64 bits; from 0 to 2**32 - 1 its setting does not matter.
    """
    if not is_integer(seed):
        raise wrong("key", f"the seed is {seed!r}", "give one integer")
    known = known_integer(seed)
    if known is not None and not -(2**63) <= known < 2**63:
        raise wrong("key", f"the seed {known} has more than 64 bits", "give an integer from -2**63 to 2**63 - 1")
    return call(draws.seeded, (seed if known is None else known,), {})


def split(key: Any, num: Any = 2) -> NDArray[Any]:
    """`num` new keys, independent of each other and of `key`, which is not to be used again.

    Returns a uint32 array of shape (num, 2), or (*num, 2) for a tuple: iterate over it, or unpack it.
    """
    return call(draws.split_keys, (checked_key("split", key),), {"shape": checked_shape("split", num)})


def fold_in(key: Any, data: Any) -> NDArray[Any]:
    """A new key from a key and an integer, as the step of a loop; it may be one that is known at run time only."""
    own = checked_key("fold_in", key)
    if not is_integer(data):
        raise wrong("fold_in", f"the data is {data!r}", "give one integer, as the number of a step")
    known = known_integer(data)
    if known is not None and not 0 <= known < 2**32:
        raise wrong("fold_in", f"the data is {known}", "give an integer from 0 to 2**32 - 1")
    return call(draws.folded, (own, data if known is None else known), {})


def bits(key: Any, shape: Any = (), dtype: Any = np.uint32) -> NDArray[Any]:
    """Random unsigned integers of 8, 16, 32 or 64 bits, every bit of which is random."""
    kind = np.dtype(dtype)
    if kind.kind != "u":
        raise wrong("bits", f"dtype {kind}", "give uint8, uint16, uint32 or uint64")
    own, sides = checked_key("bits", key), checked_shape("bits", shape)
    return call(draws.random_bits, (own,), {"shape": sides, "dtype": kind})


def checked_key(function: str, key: Any) -> Any:
    """A key as a plain or tracked uint32 array of shape (2,); ArgumentError for anything else."""
    if key is None or isinstance(key, (bool, int, float, str, np.random.Generator, np.random.BitGenerator)):
        held = "None" if key is None else f"{key!r}, which is no key"
        raise wrong(function, f"the key is {held}", _NEW_KEY)
    key = _plain_if_typed(key)
    if not hasattr(key, "place"):
        key = array(key) if context_of((key,)) is not None else np.asarray(key)
    if key.dtype != np.uint32 or key.shape != (2,):
        several = key.dtype == np.uint32 and len(key.shape) > 1 and key.shape[-1] == 2
        remedy = "these are several keys: take one of them, keys[0]" if several else _NEW_KEY
        raise wrong(
            function, f"a key is a uint32 array of shape (2,), this has dtype {key.dtype}, shape {key.shape}", remedy
        )
    return key


def _plain_if_typed(key: Any) -> Any:
    """The words of one of JAX's typed keys (`jax.random.key`); anything else as it is."""
    dtype = getattr(key, "dtype", None)
    if dtype is None or not str(dtype).startswith("key<"):
        return key
    if str(dtype) != "key<fry>":
        raise wrong("key", f"a JAX key of dtype {dtype}", "make it with impl='threefry2x32'")
    return np.asarray(sys.modules["jax"].random.key_data(key))
