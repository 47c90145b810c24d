"""Random draws as XLA computes them: JAX's own cipher, counted as NumPy's twin in `bridge.random` counts.

The settings of `jax.random` (which generator, partitionable or not) do not matter here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.random import threefry2x32_p

from bridge.random.draws import rounds
from bridge.xla.lowering.register import entry

Words = tuple[Any, Any]


def _draw(name: str) -> Callable[[Callable[..., Any]], Any]:
    return entry(f"bridge.random.draws.{name}")


def _cipher(keys: Words, counter: Words) -> Words:
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*keys, *counter)))
    first, second = threefry2x32_p.bind(
        *(jnp.broadcast_to(jnp.asarray(x, np.uint32), shape) for x in (*keys, *counter))
    )
    return first, second


def _blocks(key: Any, shape: tuple[int, ...]) -> Words:
    numbers = lax.iota(np.uint64, math.prod(shape)).reshape(shape)
    key = jnp.asarray(key)
    return _cipher((key[0], key[1]), ((numbers >> 32).astype(np.uint32), numbers.astype(np.uint32)))


def _combined(words: Words, width: int) -> Any:
    high, low = words
    if width == 64:
        return (high.astype(np.uint64) << 32) | low.astype(np.uint64)
    return (high ^ low).astype(f"u{width // 8}")


def _branch(keys: Words, number: int) -> Words:
    return _cipher(keys, (np.uint32(0), np.uint32(number)))


def _unit(words: Any, dtype: Any) -> Any:
    one = np.ones((), dtype)
    shift = words.dtype.type(words.dtype.itemsize * 8 - np.finfo(dtype).nmant)
    return lax.bitcast_convert_type((words >> shift) | one.view(words.dtype), dtype) - one


def _normal(unit: Any) -> Any:
    kind = unit.dtype.type
    least = np.nextafter(kind(-1), kind(0))
    return kind(np.sqrt(2)) * lax.erf_inv(jnp.maximum(unit * (kind(1) - least) + least, least))


@_draw("seeded")
def seeded(seed: Any) -> Any:
    """The 64 bits of an integer as two words."""
    wide = jnp.asarray(seed, np.int64).astype(np.uint64)
    return jnp.stack([(wide >> 32).astype(np.uint32), wide.astype(np.uint32)])


@_draw("split_keys")
def split_keys(key: Any, shape: tuple[int, ...]) -> Any:
    """New keys."""
    return jnp.stack(_blocks(key, shape), axis=-1)


@_draw("folded")
def folded(key: Any, data: Any) -> Any:
    """A new key from a key and an integer."""
    key = jnp.asarray(key)
    return jnp.stack(_cipher((key[0], key[1]), (np.uint32(0), jnp.asarray(data, np.int64).astype(np.uint32))))


@_draw("random_bits")
def random_bits(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Unsigned integers."""
    return _combined(_blocks(key, shape), np.dtype(dtype).itemsize * 8)


@_draw("unit_uniform")
def unit_uniform(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Uniform numbers in [0, 1)."""
    return _unit(_combined(_blocks(key, shape), np.dtype(dtype).itemsize * 8), dtype)


@_draw("standard_normal")
def standard_normal(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Normal numbers."""
    return _normal(unit_uniform(key, shape, dtype))


@_draw("standard_exponential")
def standard_exponential(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Exponential numbers."""
    return -jnp.log1p(-unit_uniform(key, shape, dtype))


@_draw("standard_gumbel")
def standard_gumbel(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Gumbel numbers."""
    tiny = np.finfo(dtype).tiny
    span = np.ones((), dtype) - tiny
    return -jnp.log(-jnp.log(jnp.maximum(unit_uniform(key, shape, dtype) * span + tiny, tiny)))


@_draw("shuffled")
def shuffled(key: Any, shape: tuple[int, ...], axis: int = 0) -> Any:
    """Integers in random order along one axis."""
    order = lax.broadcasted_iota(np.int64, shape, axis)
    for _ in range(rounds(math.prod(shape))):
        key, other = split_keys(key, (2,))
        _, order = lax.sort_key_val(_combined(_blocks(other, shape), 32), order, axis)
    return order


@_draw("standard_gamma")
def standard_gamma(key: Any, a: Any) -> Any:
    """Gamma numbers, each by rejection with keys of its own; see `bridge.random.samplers`."""
    a = jnp.asarray(a)
    kind = a.dtype.type
    keys = _blocks(key, a.shape)
    raised = jnp.where(a >= 1, a, a + kind(1))
    d = raised - kind(1 / 3)
    cubes = _accepted(_branch(keys, 0), kind(1 / 3) / jnp.sqrt(d), d)
    power = (kind(1) - _one_unit(_branch(keys, 1), kind)) ** (kind(1) / a)
    return d * cubes * jnp.where(a >= 1, kind(1), power)


def _one_unit(keys: Words, kind: Any) -> Any:
    zero = np.uint32(0)
    return _unit(_combined(_cipher(keys, (zero, zero)), np.dtype(kind).itemsize * 8), kind)


def _accepted(keys: Words, c: Any, d: Any) -> Any:
    kind = c.dtype.type

    def propose(state: Any) -> Any:
        refused, keys, found = state
        squares, cubes = _proposed(_branch(keys, 1), c, refused)
        u = _one_unit(_branch(keys, 2), kind)
        again = (u >= kind(1) - kind(0.0331) * (squares * squares)) & (
            jnp.log(u) >= squares * kind(0.5) + d * ((kind(1) - cubes) + jnp.log(cubes))
        )
        return refused & again, _branch(keys, 0), jnp.where(refused, cubes, found)

    first = (jnp.ones(c.shape, bool), keys, jnp.ones_like(c))
    return lax.while_loop(lambda state: jnp.any(state[0]), propose, first)[2]


def _proposed(keys: Words, c: Any, wanted: Any) -> tuple[Any, Any]:
    kind = c.dtype.type

    def draw(state: Any) -> Any:
        missing, keys, x, v = state
        fresh = _normal(_one_unit(_branch(keys, 1), kind))
        x, v = jnp.where(missing, fresh, x), jnp.where(missing, kind(1) + fresh * c, v)
        return missing & (v <= 0), _branch(keys, 0), x, v

    first = (wanted, keys, jnp.zeros_like(c), jnp.full_like(c, -1))
    _, _, x, v = lax.while_loop(lambda state: jnp.any(state[0]), draw, first)
    return x * x, v * v * v
