"""Functions of scipy.special that jax.scipy.special lacks or calls otherwise, by identities that lose no digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax import nn
from jax.scipy import special

from bridge.xla.lowering.register import entry


def _inverse_of_boxcox(y: Any, power: Any, exponential: Any) -> Any:
    """`(y * power + 1) ** (1 / power)`, whose limit at power 0 is `exp(y)`; less 1 with `expm1`."""
    zero = power == 0
    safe = jnp.where(zero, 1, power)
    return exponential(jnp.where(zero, y, jnp.log1p(y * safe) / safe))


@entry("scipy.special.exprel")
def exprel(x: Any) -> Any:
    """`(exp(x) - 1) / x`; by its series near 0, where the derivative of the quotient cancels."""
    small = jnp.abs(x) < 0.05
    safe = jnp.where(small, 1, x)
    series = sum(jnp.where(small, x, 0) ** k / math.factorial(k + 1) for k in range(12))
    return jnp.where(small, series, jnp.expm1(safe) / safe)


@entry("scipy.special.rgamma")
def rgamma(x: Any) -> Any:
    """`1 / gamma(x)`, 0 at the poles of gamma."""
    pole = (x <= 0) & (x == jnp.floor(x))
    return jnp.where(pole, 0, 1 / special.gamma(jnp.where(pole, 1, x)))


@entry("scipy.special._basic.polygamma")
def polygamma(n: Any, x: Any) -> Any:
    """Return polygamma in double precision, as SciPy does."""
    return special.polygamma(jnp.asarray(n), jnp.asarray(x, float))


@entry("scipy.special.huber")
def huber(delta: Any, r: Any) -> Any:
    """`delta` and the residual, as in SciPy."""
    inside = jnp.abs(r) <= delta
    value = jnp.where(inside, r * r / 2, delta * (jnp.abs(r) - delta / 2))
    return jnp.where(delta < 0, jnp.inf, value)


@entry("scipy.special.pseudo_huber")
def pseudo_huber(delta: Any, r: Any) -> Any:
    """Return the pseudo-Huber loss without the difference of a root near 1 and 1."""
    zero = delta == 0
    ratio = r / jnp.where(zero, 1, delta)
    value = r * r / (1 + jnp.sqrt(1 + ratio * ratio))
    return jnp.where(zero, 0, value)


def _of_degrees(function: Callable[[Any], Any], period: float) -> Callable[[Any], Any]:
    def in_degrees(x: Any) -> Any:
        return function(jnp.deg2rad(jnp.remainder(x, period)))

    return in_degrees


_BY_IDENTITIES: dict[str, Callable[..., Any]] = {
    "cbrt": jnp.cbrt,
    "exp2": jnp.exp2,
    "expm1": jnp.expm1,
    "log1p": jnp.log1p,
    "psi": special.digamma,
    "chdtr": lambda v, x: special.gammainc(v / 2, x / 2),
    "chdtrc": lambda v, x: special.gammaincc(v / 2, x / 2),
    "betaincc": lambda a, b, x: special.betainc(b, a, 1 - x),
    "cosm1": lambda x: -2 * jnp.sin(x / 2) ** 2,
    "exp10": lambda x: jnp.exp2(x * math.log2(10)),
    "inv_boxcox": lambda y, lmbda: _inverse_of_boxcox(y, lmbda, jnp.exp),
    "inv_boxcox1p": lambda y, lmbda: _inverse_of_boxcox(y, lmbda, jnp.expm1),
    "powm1": lambda x, y: jnp.expm1(y * jnp.log(x)),
    "log_expit": lambda x: -nn.softplus(-x),
    "erfcinv": lambda x: -special.ndtri(x / 2) / math.sqrt(2),
    "sindg": _of_degrees(jnp.sin, 360),
    "cosdg": _of_degrees(jnp.cos, 360),
    "tandg": _of_degrees(jnp.tan, 180),
    "cotdg": _of_degrees(lambda x: 1 / jnp.tan(x), 180),
}
for _name, _function in _BY_IDENTITIES.items():
    entry(f"scipy.special.{_name}")(_function)
