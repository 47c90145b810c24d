"""Arithmetic whose derivatives at kinks and singular points are those of docs/conventions.md, not JAX's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.casting import converted
from bridge.xla.lowering.integers import integer_power
from bridge.xla.lowering.register import entry


@entry("np.power", "np.float_power", keeps_integers=True)
def power(x: Any, y: Any) -> Any:
    """Known integer exponents are products; `0**y` with `y >= 0` depends on nothing, also where inf arrives."""
    if type(y) is int:
        return jax.lax.integer_pow(x, y)
    if x.dtype.kind not in "fc":
        return integer_power(x, y)
    constant = (x == 0) & (jnp.real(y) >= 0)
    exponent = jnp.where(constant, jax.lax.stop_gradient(y), y)
    return jnp.power(jnp.where(constant & (y == 0), jax.lax.stop_gradient(x), x), exponent)


@entry("np.floor_divide")
def floor_divide(x: Any, y: Any) -> Any:
    """0 where integers are divided by 0; of floats, from the remainder, rounded as NumPy does."""
    if x.dtype.kind in "iu":
        found = jnp.floor_divide(x, y)
        return jnp.where(y == 0, np.zeros((), found.dtype), found)
    x, y = lax.stop_gradient(x), lax.stop_gradient(y)
    rest = lax.rem(*jnp.broadcast_arrays(x, y))
    quotient = (x - rest) / y - jnp.where((rest != 0) & ((y < 0) != (rest < 0)), 1, 0).astype(x.dtype)
    whole = jnp.floor(quotient)
    whole = jnp.where(quotient - whole > 0.5, whole + 1, whole)
    return jnp.where(y == 0, x / y, jnp.where(quotient == 0, jnp.copysign(0, x / y).astype(x.dtype), whole))


@entry("np.divmod")
def divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Likewise."""
    return floor_divide(x, y), jnp.remainder(x, y)


@entry("np.reciprocal")
def reciprocal(x: Any) -> Any:
    """Of integers, that of floats, cast."""
    return jnp.reciprocal(x) if x.dtype.kind in "fc" else converted(1.0 / x.astype(float), x.dtype)


@entry("np.absolute", "np.fabs")
def absolute(x: Any) -> Any:
    """Its derivative at 0 is 0, also of complex numbers."""
    if x.dtype.kind == "f":
        return x * jax.lax.stop_gradient(jnp.sign(x))
    if x.dtype.kind != "c":
        return jnp.abs(x)
    away = x != 0
    found = jnp.where(away, jnp.abs(jnp.where(away, x, 1)), 0)
    return jnp.where(jnp.isinf(x), jnp.inf, found)


@entry("np.sign")
def sign(x: Any) -> Any:
    """Of complex numbers with one infinite part the sign of that part, and where both are, NaN."""
    if x.dtype.kind != "c":
        return jnp.sign(x)
    is_real, is_imaginary = jnp.isinf(x.real), jnp.isinf(x.imag)
    zero = jnp.zeros_like(x.real)
    finite = jnp.where(is_real | is_imaginary, 1, x)
    found = jnp.where(is_real, lax.complex(jnp.sign(x.real), zero), jnp.sign(finite))
    found = jnp.where(is_imaginary, lax.complex(zero, jnp.sign(x.imag)), found)
    return jnp.where(is_real & is_imaginary, jnp.asarray(complex(np.nan, np.nan), x.dtype), found)


@entry("np.nextafter")
@jax.custom_jvp
def _nextafter(x: Any, y: Any) -> Any:
    return jnp.nextafter(x, y)


@_nextafter.defjvp
def _nextafter_moves_with_x(primals: Any, tangents: Any) -> Any:
    out = _nextafter(*primals)
    return out, jnp.broadcast_to(tangents[0], out.shape)
