"""How quantiles of the gamma distribution move with its shape parameter: implicit reparameterisation.

With F(a, x) the distribution function and f = dF/dx the density, the number x(a) at a fixed quantile F(a, x) = u has
the slope dx/da = -(dF/da) / f. Sources: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients",
NeurIPS 2018; the series and the continued fraction of F are dlmf.nist.gov 8.7.1 and 8.9.2, differentiated term by term;
the expansion for large parameters is that of E. A. Cornish and R. A. Fisher (chi-square with 2a degrees of freedom).

All functions are elementwise on float arrays `a > 0`, `x >= 0` of one shape; they compute in float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, RefusedError, Rule, pulls

LARGE = 1e5
"""From this parameter on, the expansion in powers of `1 / sqrt(a)` is exact to rounding."""

# Bernoulli numbers B2, B4, ..., B14.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)
_SHIFT = 12
HALF_LOG_TAU = math.log(2 * math.pi) / 2


def digamma(x):
    """The derivative of log gamma, for x > 0: by its asymptotic series at x + 12."""
    y = x + _SHIFT
    tail = sum(b / (2 * k * y ** (2 * k)) for k, b in enumerate(_BERNOULLI, 1))
    return np.log(y) - 0.5 / y - tail - sum(1 / (x + k) for k in range(_SHIFT))


def _trigamma(x):
    y = x + _SHIFT
    tail = sum(b / y ** (2 * k + 1) for k, b in enumerate(_BERNOULLI, 1))
    return 1 / y + 0.5 / y**2 + tail + sum(1 / (x + k) ** 2 for k in range(_SHIFT))


def _log_gamma(x):
    y = x + _SHIFT
    tail = sum(b / (2 * k * (2 * k - 1) * y ** (2 * k - 1)) for k, b in enumerate(_BERNOULLI, 1))
    below = sum(np.log(x + k) for k in range(_SHIFT))
    return (y - 0.5) * np.log(y) - y + HALF_LOG_TAU + tail - below


def _log_density(a, x):
    return (a - 1) * np.log(x) - x - _log_gamma(a)


def _series(a, x):
    """The sum S of x**n / ((a + 1) ... (a + n)), with its first two derivatives in a; F = x f S / a."""
    total, slope, curve = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    term, first, second = np.ones_like(x), np.zeros_like(x), np.zeros_like(x)
    n = 0
    while True:
        n += 1
        term = term * (x / (a + n))
        first, second = first + 1 / (a + n), second + 1 / (a + n) ** 2
        grown = first * first + second
        total, slope, curve = total + term, slope - term * first, curve + term * grown
        # The terms fall geometrically from here on, and faster.
        if not np.any((term * np.maximum(grown, 1) > 1e-17 * total) | (x >= a + n)):
            return total, slope, curve


def _fraction(a, x):
    """The continued fraction C of 1 - F = x f C, with its first two derivatives in a; for x > a, x > 1."""
    terms = int(100 + 12 * np.sqrt(np.max(a, initial=1.0)))
    value, slope, curve = x + 2 * terms + 1 - a, np.full_like(x, -1.0), np.zeros_like(x)
    for n in range(terms, 0, -1):
        up, up_slope = -n * (n - a), float(n)
        ratio = 1 / value
        ratio_slope = -slope * ratio**2
        ratio_curve = (2 * slope**2 * ratio - curve) * ratio**2
        value, slope, curve = (
            x + 2 * n - 1 - a + up * ratio,
            -1 + up_slope * ratio + up * ratio_slope,
            2 * up_slope * ratio_slope + up * ratio_curve,
        )
    ratio = 1 / value
    return ratio, -slope * ratio**2, (2 * slope**2 * ratio - curve) * ratio**2


def _by_series(a, x):
    """dx/da, and its partial derivative in a."""
    total, slope, curve = _series(a, x)
    log = np.log(x)
    first = log - digamma(a + 1) + slope / total
    second = curve / total - (slope / total) ** 2 - _trigamma(a + 1)
    scale = x * total / a
    found = -scale * first
    return found, -scale * (second + first**2) - found * (log - digamma(a))


def _by_fraction(a, x):
    """dx/da, and its partial derivative in a."""
    total, slope, curve = _fraction(a, x)
    log = np.log(x)
    first = log - digamma(a) + slope / total
    second = curve / total - (slope / total) ** 2 - _trigamma(a)
    scale = x * total
    found = scale * first
    return found, scale * (second + first**2) - found * (log - digamma(a))


def _by_expansion(a, x):
    """dx/da, and its partial derivative in a, through the normal number z of the same quantile."""
    z = _normal_number(a, x)
    # The whole second derivative along the quantile, less what comes through x.
    found, along = _expanded(z, a, 1), _expanded(z, a, 2)
    return found, along - found * (digamma(a) - np.log(x) - found * ((a - 1) / x - 1))


def _normal_number(a, x):
    """The z whose expansion is x."""
    root = np.sqrt(a)
    z = (x - a) / root
    for _ in range(20):
        z = z - (_expanded(z, a, 0) - x) / root
    return z


def _expanded(z, a, order):
    """The quantile of the normal number z, or its derivative in a of first or second order, at fixed z."""
    parts = (
        (1.0, 1.0), (0.5, z), (0.0, (z**2 - 1) / 3), (-0.5, (z**3 - 7 * z) / 36),
        (-1.0, -(3 * z**4 + 7 * z**2 - 16) / 810), (-1.5, (9 * z**5 + 256 * z**3 - 433 * z) / 38880),
    )  # fmt: skip
    factors = ((lambda p: 1.0), (lambda p: p), (lambda p: p * (p - 1)))
    return sum(factors[order](p) * part * a ** (p - order) for p, part in parts)


def _both(a, x):
    """dx/da and its partial derivative in a, each by the form that is exact there; 0 at x = 0, which does not move."""
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))
    found = np.full((2, *a.shape), np.nan)
    found[:, (x == 0) & (a > 0)] = 0.0
    proper = (x > 0) & (a > 0) & np.isfinite(a) & np.isfinite(x)
    beyond = x > np.maximum(a, 1)
    for chosen, form in (
        (proper & (a < LARGE) & ~beyond, _by_series),
        (proper & (a < LARGE) & beyond, _by_fraction),
        (proper & (a >= LARGE), _by_expansion),
    ):
        if chosen.any():
            with np.errstate(all="ignore"):
                found[:, chosen] = form(a[chosen], x[chosen])
    return found


def gamma_slope(a, x):
    """dx/da of a gamma number x at its quantile; 0 at 0. Arrays of one shape and dtype, which the result has."""
    return _both(a, x)[0].astype(np.result_type(a, x))[()]


def gamma_slope_in_shape(a, x):
    """The partial derivative in a of `gamma_slope(a, x)`, at fixed x."""
    return _both(a, x)[1].astype(np.result_type(a, x))[()]


def _no_third_derivative(ct, out, a, x):
    raise RefusedError("third derivatives of gamma numbers", remedy='gradient="frozen"')


def _slope_in_number(ct, out, a, x):
    safe = np.where(x == 0, 1, x)
    return ct * np.where(x == 0, 0, digamma(a) - np.log(safe) - out * ((a - 1) / safe - 1))


# Not in the book, which has proved rules only: calling it runs the function on tracked arrays too.
_in_shape = Rule(gamma_slope_in_shape, _no_third_derivative, None, reads=(), linear=False, structure=None)

tracked_slope = pulls(
    gamma_slope, lambda ct, out, a, x: ct * _in_shape(a, x), _slope_in_number, structure="elementwise"
)


def gamma_moved(a, x, start):
    """The number at whose quantile under `a` lies what `x` is under `start`: `x` itself where the two are equal.

    Elsewhere it is found by Newton's method for the logarithm of the smaller tail, in log x.
    """
    kind = np.result_type(a, x, start)
    a, x, start = np.broadcast_arrays(*(np.asarray(one, float) for one in (a, x, start)))
    found = np.array(x)
    proper = (a > 0) & (start > 0) & np.isfinite(a) & np.isfinite(start)
    found[~proper & (a != start)] = np.nan
    moves = proper & (a != start) & (x > 0) & np.isfinite(x)
    large = np.maximum(a, start) >= LARGE
    with np.errstate(all="ignore"):
        if (moves & large).any():
            one, number, other = (x[moves & large] for x in (a, x, start))
            found[moves & large] = _expanded(_normal_number(other, number), one, 0)
        if (moves & ~large).any():
            found[moves & ~large] = _same_quantile(*(x[moves & ~large] for x in (a, x, start)))
    return found.astype(kind)[()]


def _same_quantile(a, x, start):
    lower, upper = _log_tails(start, x)
    left = lower < upper
    log = np.log(x)
    for _ in range(60):
        at = np.exp(log)
        tails = _log_tails(a, at)
        rate = at * np.exp(_log_density(a, at) - np.where(left, *tails))
        step = np.where(left, tails[0] - lower, upper - tails[1]) / rate
        log = log - np.clip(step, -1, 1)
        if np.all(np.abs(step) < 1e-15):
            break
    return np.exp(log)


def _log_tails(a, x):
    """Logarithms of F and of 1 - F."""
    density = _log_density(a, x) + np.log(x)
    tail = np.empty((2, *a.shape))
    beyond = x > np.maximum(a, 1)
    for chosen, mine, form in (
        (~beyond, 0, lambda a, x: _series(a, x)[0] / a),
        (beyond, 1, lambda a, x: _fraction(a, x)[0]),
    ):
        if chosen.any():
            tail[mine, chosen] = density[chosen] + np.log(form(a[chosen], x[chosen]))
            tail[1 - mine, chosen] = np.log(-np.expm1(tail[mine, chosen]))
    return tail


def _density_ratio(a, x, start, out):
    zero = (x == 0) | (out == 0)
    safe, moved = np.where(zero, 1, x), np.where(zero, 1, out)
    return np.where(zero, 0, np.exp(_log_density(start, safe) - _log_density(a, moved)))


pulls(
    gamma_moved,
    lambda ct, out, a, x, start: ct * tracked_slope(a, out),
    lambda ct, out, a, x, start: ct * _density_ratio(a, x, start, out),
    lambda ct, out, a, x, start: -ct * _density_ratio(a, x, start, out) * tracked_slope(start, x),
    structure="elementwise",
)


def cases() -> Iterator[Case]:
    a = np.array([0.2, 1.0, 6.0])
    low, high = a * np.array([0.2, 0.3, 0.6]), a + 2.5 * np.sqrt(a) + 0.5
    for x in (low, high):
        yield Case(gamma_slope, (a, x))
        yield Case(gamma_moved, (a, x, a * 1.1))
