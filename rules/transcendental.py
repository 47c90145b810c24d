"""Exponentials, logarithms, trigonometric and hyperbolic functions, with their inverses.

Where a formula in the output loses digits (`expm1` far left) or divides by zero (`hypot` at 0), the pull
uses another one; docs/conventions.md lists the values at such points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, conj, pulls

LOG_2 = math.log(2.0)
LOG_10 = math.log(10.0)
DEGREE = math.pi / 180

pulls(np.exp, lambda ct, out, x: ct * conj(out))
pulls(np.exp2, lambda ct, out, x: ct * conj(out * LOG_2))
pulls(np.expm1, lambda ct, out, x: ct * conj(np.exp(x)))
pulls(np.log, lambda ct, out, x: ct / conj(x))
pulls(np.log2, lambda ct, out, x: ct / conj(x * LOG_2))
pulls(np.log10, lambda ct, out, x: ct / conj(x * LOG_10))
pulls(np.log1p, lambda ct, out, x: ct / conj(1 + x))

pulls(np.sin, lambda ct, out, x: ct * conj(np.cos(x)))
pulls(np.cos, lambda ct, out, x: -ct * conj(np.sin(x)))
pulls(np.tan, lambda ct, out, x: ct * conj(1 + out * out))
pulls(np.arcsin, lambda ct, out, x: ct / conj(np.sqrt((1 - x) * (1 + x))))
pulls(np.arccos, lambda ct, out, x: -ct / conj(np.sqrt((1 - x) * (1 + x))))
pulls(np.arctan, lambda ct, out, x: ct / conj(1 + x * x))

pulls(np.sinh, lambda ct, out, x: ct * conj(np.cosh(x)))
pulls(np.cosh, lambda ct, out, x: ct * conj(np.sinh(x)))
pulls(np.tanh, lambda ct, out, x: ct * conj(1 - out * out))
pulls(np.arccosh, lambda ct, out, x: ct / conj(np.sqrt(x - 1) * np.sqrt(x + 1)))
pulls(np.arctanh, lambda ct, out, x: ct / conj((1 - x) * (1 + x)))


def _arcsinh_of(ct: Any, out: Any, x: Any) -> Any:
    """`1 / sqrt(1 + x**2)`, without overflow for real `x`."""
    return ct / (conj(np.sqrt(1 + x * x)) if x.dtype.kind == "c" else np.hypot(1, x))


pulls(np.arcsinh, _arcsinh_of)

for in_degrees in (np.deg2rad, np.radians):
    pulls(in_degrees, lambda ct, out, x: ct * DEGREE, linear=True)
for in_radians in (np.rad2deg, np.degrees):
    pulls(in_radians, lambda ct, out, x: ct / DEGREE, linear=True)


def _without_zeros(x: Any) -> Any:
    """`x` with 1 in place of 0: a denominator where the numerator is 0 too."""
    return np.where(x == 0, 1, x)


def direction(part: Any, radius: Any) -> Any:
    """`part / radius**2`, 0 at the origin and infinitely far from it, where the angle does not move."""
    far = np.isinf(radius)
    radius = np.where(far | (radius == 0), 1, radius)
    # The sum takes a Python number into the precision of the arrays.
    return np.where(far, 0, part + np.zeros_like(radius)) / radius / radius


def _arctan2_of_ordinate(ct: Any, out: Any, y: Any, x: Any) -> Any:
    return ct * direction(x, np.hypot(y, x))


def _arctan2_of_abscissa(ct: Any, out: Any, y: Any, x: Any) -> Any:
    return -ct * direction(y, np.hypot(y, x))


pulls(np.arctan2, _arctan2_of_ordinate, _arctan2_of_abscissa)
pulls(
    np.hypot,
    lambda ct, out, x, y: ct * (x / _without_zeros(out)),
    lambda ct, out, x, y: ct * (y / _without_zeros(out)),
)


def _sum_of_powers_pulls(power: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The pulls of the logarithm of a sum of two powers, each of which takes its share of the sum."""

    def share(term: Any, out: Any) -> Any:
        # Nothing where the sum is zero or infinite: it stays so, however far a term moves.
        fixed = np.isinf(out)
        return power(np.where(fixed, -np.inf, term) - np.where(fixed, 0, out))

    return lambda ct, out, x, y: ct * share(x, out), lambda ct, out, x, y: ct * share(y, out)


pulls(np.logaddexp, *_sum_of_powers_pulls(np.exp))
pulls(np.logaddexp2, *_sum_of_powers_pulls(np.exp2))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    inside, beyond = rng.uniform(-0.9, 0.9, (3, 4)), rng.uniform(1.1, 3.0, (3, 4))
    everywhere = (np.exp, np.exp2, np.expm1, np.sin, np.cos, np.tan, np.sinh, np.cosh, np.tanh)
    inverse = (np.arcsin, np.arccos, np.arctan, np.arcsinh, np.arctanh, np.log1p)
    outside = (np.log, np.log2, np.log10, np.arccosh)
    angles = (np.deg2rad, np.radians, np.rad2deg, np.degrees)
    for function in (*everywhere, *inverse, *outside, *angles):
        x = beyond if function in outside else inside
        yield Case(function, (x,))
        yield Case(function, (x.T[::2],))
        yield Case(function, (x[0, 0],))
        yield Case(function, (x[:0],))
        yield Case(function, (x[0].astype(np.float32),), tolerance=1e-2)
        if function not in angles:
            yield Case(function, (x + 1j * rng.uniform(0.2, 0.8, x.shape),))
    for function in (np.arctan2, np.hypot, np.logaddexp, np.logaddexp2):
        yield Case(function, (inside, beyond))
        yield Case(function, (beyond[:, :1], inside[0]))
        yield Case(function, (inside, 0.5))
        yield Case(function, (-2.0, beyond[0, ::2]))
        yield Case(function, (inside[0].astype(np.float32), beyond[0].astype(np.float32)), tolerance=1e-2)
    yield Case(np.expm1, (np.array([-40.0, -5.0]),))
