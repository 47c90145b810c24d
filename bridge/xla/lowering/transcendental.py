"""Functions of complex numbers with NumPy's values everywhere; lengths, with the derivative at 0 of conventions.md."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.complex_values import (
    finite,
    in_a_quadrant,
    joined,
    of_complex,
    signed,
    tabled,
    where_it_turns,
)
from bridge.xla.lowering.register import entry


@entry("np.hypot")
@jax.custom_jvp
def _hypot(x: Any, y: Any) -> Any:
    return jnp.hypot(x, y)


@_hypot.defjvp
def _hypot_moves(primals: Any, tangents: Any) -> Any:
    """Also near the ends of the range; 0 at the origin."""
    out = _hypot(*primals)
    safe = jnp.where(out == 0, 1, out)
    x, y = primals
    return out, x / safe * tangents[0] + y / safe * tangents[1]


def _odd(name: str) -> None:
    def values(z: Any) -> Any:
        found = getattr(jnp, name)(in_a_quadrant(z))
        return tabled(name, z, joined(signed(found.real, z.real), signed(found.imag, z.imag)))

    of_complex(name)(values)


for _name in ("arcsin", "arcsinh", "arctan", "arctanh"):
    _odd(_name)


def _arccos_of(z: Any) -> Any:
    found = jnp.arccos(in_a_quadrant(z))
    re = jnp.where(jnp.signbit(z.real), np.asarray(np.pi, found.real.dtype) - found.real, found.real)
    return joined(re, jnp.copysign(jnp.abs(found.imag), jnp.where(jnp.signbit(z.imag), 1.0, -1.0)))


@of_complex("arccos")
def _arccos(z: Any) -> Any:
    return tabled("arccos", z, _arccos_of(z))


@of_complex("arccosh")
def _arccosh(z: Any) -> Any:
    found = _arccos_of(z)
    return tabled("arccosh", z, joined(jnp.abs(found.imag), jnp.copysign(found.real, z.imag)))


def _by_table(name: str) -> None:
    of_complex(name)(lambda z: tabled(name, z, getattr(jnp, name)(finite(z))))


for _name in ("log", "log2", "log10"):
    _by_table(_name)


@of_complex("log1p")
def _log1p(z: Any) -> Any:
    """As NumPy has it, whose logarithm of 1 + z is no more exact near 0."""
    x, y = z.real + 1, z.imag
    either = jnp.isinf(x) | jnp.isinf(y)
    return joined(jnp.where(either, jnp.inf, jnp.log(jnp.hypot(x, y))), jnp.arctan2(y, x))


def _halves(x: Any) -> Any:
    """The root of `exp(abs(x))`, which is in range where `exp(x)` times less than 1 is."""
    return jnp.exp(jnp.abs(x) / 2)


def _exp_of(z: Any) -> Any:
    x, y = z.real, z.imag
    large = x > np.log(np.finfo(x.dtype).max) - 1
    half = jnp.where(large, _halves(x), 1)
    size = jnp.where(large, half, jnp.exp(x))
    # A number with an imaginary part of zero stays real.
    is_real = y == 0
    return joined(
        jnp.where(is_real, jnp.exp(x), size * jnp.cos(y) * half), jnp.where(is_real, y, size * jnp.sin(y) * half)
    )


@of_complex("exp")
def exp(z: Any) -> Any:
    """Return the exponential of complex numbers."""
    return where_it_turns("exp", z, _exp_of(z))


@of_complex("exp2")
def _exp2(z: Any) -> Any:
    """Return powers of 2 through `exp`, as NumPy does."""
    two = np.asarray(np.log(2.0), z.real.dtype)
    return exp(joined(z.real * two, z.imag * two))


@of_complex("expm1")
def _expm1(z: Any) -> Any:
    """As NumPy has it, zeros times infinities included."""
    x, y = z.real, z.imag
    half = jnp.sin(y / 2)
    return joined(jnp.expm1(x) * jnp.cos(y) - 2 * half * half, jnp.exp(x) * jnp.sin(y))


def _hyperbolic(x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """`sinh` and `cosh` of x and of y's rotation, scaled by a factor that keeps them in range, and that factor."""
    large = jnp.abs(x) > np.log(np.finfo(x.dtype).max) - 1
    half = jnp.where(large, _halves(x), 1)
    sinh = jnp.where(large, jnp.sign(x) * half / 2, jnp.sinh(x))
    cosh = jnp.where(large, half / 2, jnp.cosh(x))
    return sinh, cosh, half, y == 0


def _sinh_of(z: Any) -> Any:
    sinh, cosh, half, is_real = _hyperbolic(z.real, z.imag)
    return joined(
        jnp.where(is_real, jnp.sinh(z.real), sinh * jnp.cos(z.imag) * half),
        jnp.where(is_real, z.imag, cosh * jnp.sin(z.imag) * half),
    )


def _cosh_of(z: Any) -> Any:
    sinh, cosh, half, is_real = _hyperbolic(z.real, z.imag)
    zero = jnp.where(jnp.signbit(z.real) != jnp.signbit(z.imag), -0.0, 0.0).astype(z.real.dtype)
    return joined(
        jnp.where(is_real, jnp.cosh(z.real), cosh * jnp.cos(z.imag) * half),
        jnp.where(is_real, zero, sinh * jnp.sin(z.imag) * half),
    )


def _tanh_of(z: Any) -> Any:
    found = jnp.tanh(finite(z))
    far = joined(jnp.sign(z.real), jnp.copysign(jnp.zeros_like(z.imag), jnp.sin(2 * z.imag)))
    return jnp.where(jnp.isinf(z.real), far, found)


@of_complex("sinh")
def _sinh(z: Any) -> Any:
    return where_it_turns("sinh", z, _sinh_of(z))


@of_complex("cosh")
def _cosh(z: Any) -> Any:
    return where_it_turns("cosh", z, _cosh_of(z))


@of_complex("tanh")
def _tanh(z: Any) -> Any:
    return where_it_turns("tanh", z, _tanh_of(z))


def _turned(z: Any) -> Any:
    """`1j * z`."""
    return joined(-z.imag, z.real)


def _turned_back(z: Any) -> Any:
    """`-1j * z`."""
    return joined(z.imag, -z.real)


@of_complex("sin")
def _sin(z: Any) -> Any:
    return where_it_turns("sin", z, _turned_back(_sinh_of(_turned(z))))


@of_complex("cos")
def _cos(z: Any) -> Any:
    return where_it_turns("cos", z, _cosh_of(_turned(z)))


@of_complex("tan")
def _tan(z: Any) -> Any:
    return where_it_turns("tan", z, _turned_back(_tanh_of(_turned(z))))


def log_of(z: Any) -> Any:
    """The logarithm of complex numbers."""
    return tabled("log", z, jnp.log(finite(z)))
