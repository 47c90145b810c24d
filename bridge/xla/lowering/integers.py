"""Arithmetic of integers where XLA's is not NumPy's: at zero divisors, of long exponents, of the least integer."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from bridge.xla.lowering.register import entry


@entry("np.gcd")
def gcd(x: Any, y: Any) -> Any:
    """Euclid's, of magnitudes without a sign: that of the least integer is none of its dtype."""
    a, b = jnp.broadcast_arrays(_magnitude(x), _magnitude(y))

    def step(state: Any) -> Any:
        a, b = state
        return jnp.where(b == 0, a, b), jnp.where(b == 0, b, lax.rem(a, jnp.maximum(b, 1)))

    found, _ = lax.while_loop(lambda state: jnp.any(state[1] != 0), step, (a, b))
    return lax.convert_element_type(found, x.dtype)


@entry("np.lcm")
def lcm(x: Any, y: Any) -> Any:
    """0 where one is 0."""
    a, b = _magnitude(x), _magnitude(y)
    common = gcd(a, b)
    return lax.convert_element_type(jnp.where(common == 0, 0, a // jnp.maximum(common, 1) * b), x.dtype)


def _magnitude(x: Any) -> Any:
    unsigned = lax.convert_element_type(x, f"u{x.dtype.itemsize}")
    return jnp.where(x < 0, -unsigned, unsigned) if x.dtype.kind == "i" else unsigned


def integer_power(x: Any, y: Any) -> Any:
    """A power of integers, by squares: as many as the longest exponent has digits."""
    x, y = jnp.broadcast_arrays(x, y)

    def step(state: Any) -> Any:
        found, square, left = state
        return jnp.where(left & 1 == 1, found * square, found), square * square, left >> 1

    start = jnp.ones_like(x), x, jnp.maximum(y, 0)
    found, _, _ = lax.while_loop(lambda state: jnp.any(state[2] != 0), step, start)
    return found
