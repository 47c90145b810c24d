"""How gamma numbers move with their shape parameter, as XLA computes it: see `rules/gamma_quantiles.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy import special as jax_special
from jax.scipy.special import digamma

from bridge.xla.lowering.register import entry

Three = tuple[Any, Any, Any]
"""A value with its first two derivatives in the shape parameter."""


@jax.custom_jvp
def slope(a: Any, x: Any) -> Any:
    """dx/da of a gamma number x at its quantile; 0 at 0. In float64: JAX's in float32 has three digits in places."""
    wide, number = jnp.asarray(a, np.float64), jnp.asarray(x, np.float64)
    found = jnp.where(number == 0, 0, lax.random_gamma_grad(wide, jnp.where(number == 0, 1, number)))
    return found.astype(jnp.result_type(a, x))


@slope.defjvp
def _slope_moves(primals: Any, tangents: Any) -> Any:
    a, x = primals
    out = slope(a, x)
    safe = jnp.where(x == 0, 1, x)
    through = jnp.where(x == 0, 0, digamma(a) - jnp.log(safe) - out * ((a - 1) / safe - 1))
    return out, slope_in_shape(a, x) * tangents[0] + through * tangents[1]


@jax.custom_jvp
def moved(a: Any, x: Any, start: Any) -> Any:
    """The number at whose quantile under `a` lies what `x` is under `start`: `x` itself where the two are equal."""
    proper = (a > 0) & (start > 0) & (x > 0) & jnp.isfinite(a) & jnp.isfinite(start) & jnp.isfinite(x)
    kind = jnp.result_type(a, x, start)
    end, number, begin = (jnp.where(proper, jnp.asarray(one, np.float64), 1) for one in (a, x, start))
    found = _same_quantile(end, number, begin, proper & (a != start)).astype(kind)
    stays = (a == start) | ((a > 0) & (start > 0))
    return jnp.where(proper & (a != start), found, jnp.where(stays, x, jnp.nan)).astype(kind)


def _same_quantile(a: Any, x: Any, start: Any, wanted: Any) -> Any:
    """By Newton's method for the logarithm of the smaller tail, in log x; no step where nothing is wanted."""
    at = jax_special.gammainc(start, x), jax_special.gammaincc(start, x)
    left = at[0] < at[1]
    level = jnp.log(jnp.minimum(*at))

    def nearer(state: Any) -> Any:
        turn, log, _ = state
        now = jnp.exp(log)
        tail = jnp.log(jnp.where(left, jax_special.gammainc(a, now), jax_special.gammaincc(a, now)))
        step = (tail - level) / jnp.exp(_log_density(a, now) + log - tail)
        step = jnp.where(wanted, jnp.clip(jnp.where(left, step, -step), -1, 1), 0)
        return turn + 1, log - step, jnp.any(jnp.abs(step) > 1e-15)

    state = (0, jnp.log(x), jnp.any(wanted))
    return jnp.exp(lax.while_loop(lambda state: state[2] & (state[0] < 60), nearer, state)[1])


@moved.defjvp
def _moves_with_its_quantile(primals: Any, tangents: Any) -> Any:
    a, x, start = primals
    out = moved(a, x, start)
    safe, other = jnp.where(out == 0, 1, x), jnp.where(out == 0, 1, out)
    ratio = jnp.where(out == 0, 0, jnp.exp(_log_density(start, safe) - _log_density(a, other)))
    return out, slope(a, out) * tangents[0] + ratio * (tangents[1] - slope(start, x) * tangents[2])


def _log_density(a: Any, x: Any) -> Any:
    return (a - 1) * jnp.log(x) - x - lax.lgamma(a)


def slope_in_shape(a: Any, x: Any) -> Any:
    """The partial derivative in a of the slope, at fixed x; computed in float64."""
    wide, number = jnp.asarray(a, np.float64), jnp.asarray(x, np.float64)
    beyond = number > jnp.maximum(wide, 1)
    proper = (number > 0) & (wide > 0)
    log = jnp.log(jnp.where(proper, number, 1))
    below = _curved(wide, number, proper & ~beyond, 1, _series, -1)
    above = _curved(wide, number, proper & beyond, 0, _fraction, 1)
    (found, curve), other = below, above
    found, curve = (jnp.where(beyond, two, one) for one, two in zip((found, curve), other, strict=True))
    whole = curve - found * (log - digamma(wide))
    answer = jnp.where(number == 0, 0, jnp.where(proper, whole, jnp.nan))
    return answer.astype(jnp.result_type(a, x))


def _curved(a: Any, x: Any, chosen: Any, above: int, form: Callable[..., Three], sign: int) -> tuple[Any, Any]:
    a, x = jnp.where(chosen, a, 1), jnp.where(chosen, x, 2 - above)
    total, first, second = form(a, x)
    rate = jnp.log(x) - digamma(a + above) + first / total
    bend = second / total - (first / total) ** 2 - _trigamma(a + above)
    scale = sign * x * total / (a if above else 1)
    return scale * rate, scale * (bend + rate**2)


def _trigamma(x: Any) -> Any:
    """By its asymptotic series at x + 12: JAX's polygamma is long to compile."""
    y = x + 12
    numbers = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
    tail = sum(b / y ** (2 * k + 1) for k, b in enumerate(numbers, 1))
    return 1 / y + 0.5 / y**2 + tail + jnp.sum((x[..., None] + np.arange(12.0)) ** -2, axis=-1)


def _series(a: Any, x: Any) -> Three:
    def grow(state: Any) -> Any:
        n, term, once, twice, total, first, second, _ = state
        term, once, twice = term * (x / (a + n)), once + 1 / (a + n), twice + 1 / (a + n) ** 2
        grown = once * once + twice
        found = total + term, first - term * once, second + term * grown
        small = (term * jnp.maximum(grown, 1) <= 1e-17 * total) & (x < a + n)
        return n + 1, term, once, twice, *found, jnp.all(small)

    one, zero = jnp.ones_like(x), jnp.zeros_like(x)
    state = (1.0, one, zero, zero, one, zero, zero, False)
    *_, total, first, second, _ = lax.while_loop(lambda state: ~state[-1], grow, state)
    return total, first, second


def _fraction(a: Any, x: Any) -> Three:
    def outward(state: Any) -> Any:
        n, value, first, second = state
        ratio, ratio_first, ratio_second = _inverse((value, first, second))
        up = -n * (n - a)
        return (
            n - 1,
            x + 2 * n - 1 - a + up * ratio,
            -1 + n * ratio + up * ratio_first,
            (2 * n * ratio_first + up * ratio_second),
        )

    terms = jnp.floor(100 + 12 * jnp.sqrt(jnp.max(a, initial=1.0)))
    state = (terms, x + 2 * terms + 1 - a, jnp.full_like(x, -1), jnp.zeros_like(x))
    return _inverse(lax.while_loop(lambda state: state[0] > 0, outward, state)[1:])


def _inverse(of: Three) -> Three:
    value, first, second = of
    ratio = 1 / value
    return ratio, -first * ratio**2, (2 * first**2 * ratio - second) * ratio**2


for _name, _function in (("gamma_slope", slope), ("gamma_slope_in_shape", slope_in_shape), ("gamma_moved", moved)):
    entry(f"bridge.rules.gamma_quantiles.{_name}")(_function)
