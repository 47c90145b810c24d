"""Distribution functions of `scipy.special` and their inverses, by the arguments in which they have closed slopes.

Numbers of trials and degrees of freedom have no pull. Formulas: NIST Digital Library of Mathematical Functions,
dlmf.nist.gov; Johnson, Kotz and Balakrishnan, "Continuous Univariate Distributions" (1995), for the noncentral ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, needs, pulls
from bridge.rules.special import _beta_density, _boxcox_slope, _gamma_density, _ratio

sp = needs("scipy.special")

_ROOT_TAU = (2 * np.pi) ** 0.5

# Poisson, binomial and negative binomial probabilities; counts are rounded down.
pulls(sp.pdtr, None, lambda ct, out, k, m: -ct * _gamma_density(ct, np.floor(k) + 1, m))
pulls(sp.pdtrc, None, lambda ct, out, k, m: ct * _gamma_density(ct, np.floor(k) + 1, m))
pulls(sp.pdtri, None, lambda ct, out, k, y: -ct / _gamma_density(ct, np.floor(k) + 1, out))


def _binomial(ct, k, n, p):
    k = np.floor(k)
    return _beta_density(ct, k + 1, n - k, p)


pulls(sp.bdtr, None, None, lambda ct, out, k, n, p: -ct * _binomial(ct, k, n, p))
pulls(sp.bdtrc, None, None, lambda ct, out, k, n, p: ct * _binomial(ct, k, n, p))
pulls(sp.bdtri, None, None, lambda ct, out, k, n, y: -ct / _binomial(ct, k, n, out))
pulls(sp.nbdtr, None, None, lambda ct, out, k, n, p: ct * _beta_density(ct, n, np.floor(k) + 1, p))
pulls(sp.nbdtrc, None, None, lambda ct, out, k, n, p: -ct * _beta_density(ct, n, np.floor(k) + 1, p))
pulls(sp.nbdtri, None, None, lambda ct, out, k, n, y: ct / _beta_density(ct, n, np.floor(k) + 1, out))

# Gamma, chi-square and F.
pulls(
    sp.gdtr,
    lambda ct, out, a, b, x: ct * x * _gamma_density(ct, b, a * x),
    None,
    lambda ct, out, a, b, x: ct * a * _gamma_density(ct, b, a * x),
)
pulls(
    sp.gdtrc,
    lambda ct, out, a, b, x: -ct * x * _gamma_density(ct, b, a * x),
    None,
    lambda ct, out, a, b, x: -ct * a * _gamma_density(ct, b, a * x),
)
pulls(
    sp.gdtria,
    lambda ct, out, p, b, x: ct / (x * _gamma_density(ct, b, out * x)),
    None,
    lambda ct, out, p, b, x: -ct * out / x,
)
pulls(
    sp.gdtrix,
    lambda ct, out, a, b, p: -ct * out / a,
    None,
    lambda ct, out, a, b, p: ct / (a * _gamma_density(ct, b, a * out)),
)
pulls(sp.chdtri, None, lambda ct, out, v, p: -2 * ct / _gamma_density(ct, v / 2, out / 2))


def _f_density(ct, n, m, x):
    """By the beta variable n x / (m + n x)."""
    total = m + n * x
    return _beta_density(ct, n / 2, m / 2, n * x / total) * (n * m / total**2)


pulls(sp.fdtr, None, None, lambda ct, out, n, m, x: ct * _f_density(ct, n, m, x))
pulls(sp.fdtrc, None, None, lambda ct, out, n, m, x: -ct * _f_density(ct, n, m, x))
pulls(sp.fdtri, None, None, lambda ct, out, n, m, p: ct / _f_density(ct, n, m, out))


def _noncentral_density(x, df, nc):
    """Of the noncentral chi-square distribution, with a Bessel function that is scaled."""
    central = nc == 0
    noncentral = np.where(central, 1, nc)
    order = df / 2 - 1
    root = np.sqrt(noncentral * x)
    bell = np.exp(-((np.sqrt(x) - np.sqrt(noncentral)) ** 2) / 2) / 2
    found = bell * (x / noncentral) ** (order / 2) * sp.ive(order, root)
    return np.where(central, np.exp(sp.xlogy(order, x / 2) - x / 2 - sp.gammaln(df / 2)) / 2, found)


def _noncentral(ct, slope):
    """In the dtype of the cotangent, whatever numbers the degrees of freedom are."""
    return ct * slope.astype(ct.dtype)


def _noncentral_shift(x, df, nc):
    """The slope in the noncentrality: two degrees of freedom more, and less one."""
    return (sp.chndtr(x, df + 2, nc) - sp.chndtr(x, df, nc)) / 2


pulls(
    sp.chndtr,
    lambda ct, out, x, df, nc: _noncentral(ct, _noncentral_density(x, df, nc)),
    None,
    lambda ct, out, x, df, nc: _noncentral(ct, _noncentral_shift(x, df, nc)),
)
pulls(
    sp.chndtrix,
    lambda ct, out, p, df, nc: _noncentral(ct, 1 / _noncentral_density(out, df, nc)),
    None,
    lambda ct, out, p, df, nc: (
        -_noncentral(ct, _ratio(_noncentral_shift(out, df, nc), _noncentral_density(out, df, nc)))
    ),
)


# The mean and the deviation of the normal distribution that has probability p below x.
def _quantile_slope(p):
    return _ROOT_TAU * np.exp(sp.ndtri(p) ** 2 / 2)


pulls(
    sp.nrdtrimn,
    lambda ct, out, p, std, x: -ct * std * _quantile_slope(p),
    lambda ct, out, p, std, x: -ct * sp.ndtri(p),
    lambda ct, out, p, std, x: ct,
)
pulls(
    sp.nrdtrisd,
    lambda ct, out, mean, p, x: -ct / sp.ndtri(p),
    lambda ct, out, mean, p, x: -ct * out / sp.ndtri(p) * _quantile_slope(p),
    lambda ct, out, mean, p, x: ct / sp.ndtri(p),
)


def _tukey_slope(p, shape):
    """The slope of the quantile (p**shape - (1 - p)**shape) / shape in p."""
    return p ** (shape - 1) + (1 - p) ** (shape - 1)


def _tukey_shift(p, shape):
    """The slope of that quantile in the shape."""
    return _boxcox_slope(np.log(p), shape) - _boxcox_slope(np.log1p(-p), shape)


def _where_inside(p, value):
    return np.where((p > 0) & (p < 1), value(np.where((p > 0) & (p < 1), p, 0.5)), 0)


pulls(
    sp.tklmbda,
    lambda ct, out, x, shape: ct * _where_inside(out, lambda p: 1 / _tukey_slope(p, shape)),
    lambda ct, out, x, shape: -ct * _where_inside(out, lambda p: _tukey_shift(p, shape) / _tukey_slope(p, shape)),
)


# Kolmogorov's and Smirnov's statistics: probabilities beyond, and their inverses.
def _kolmogorov_slope(x):
    """Of the theta series: the terms fall fast in one of its two forms."""
    small = x < 1
    left, right = np.where(small, np.where(x > 0, x, 1), 1), np.where(small, 1, x)
    odd = (2 * np.arange(1, 8) - 1.0) ** 2 * np.pi**2 / 8
    terms = [np.exp(-w / left**2) * (2 * w / left**2 - 1) for w in odd]
    low = -_ROOT_TAU / left**2 * sum(terms)
    high = -8 * right * sum((-1.0) ** (k - 1) * k * k * np.exp(-2.0 * k * k * right**2) for k in range(1, 8))
    return np.where(x > 0, np.where(small, low, high), 0)


pulls(sp.kolmogorov, lambda ct, out, x: ct * _kolmogorov_slope(x).astype(ct.dtype))
pulls(sp.kolmogi, lambda ct, out, p: ct / _kolmogorov_slope(out).astype(ct.dtype))


def cases() -> Iterator[Case]:
    x, p = np.array([0.4, 1.1, 2.3]), np.array([0.15, 0.5, 0.8])
    for function in (sp.pdtr, sp.pdtrc):
        yield Case(function, (np.array([0, 2, 3]), x))
    yield Case(sp.pdtri, (np.array([0, 2, 3]), p))
    for function in (sp.bdtr, sp.bdtrc, sp.bdtri, sp.nbdtr, sp.nbdtrc, sp.nbdtri):
        yield Case(function, (np.array([0, 2, 3]), 5, p))
    for function in (sp.gdtr, sp.gdtrc):
        yield Case(function, (x, 2, x[::-1]))
    yield Case(sp.gdtria, (p, 2, x))
    yield Case(sp.gdtrix, (x, 2, p))
    yield Case(sp.chdtri, (3, p))
    for function, y in ((sp.fdtr, x), (sp.fdtrc, x), (sp.fdtri, p)):
        yield Case(function, (3, 5, y))
    yield Case(sp.chndtr, (x, 3, x[::-1]))
    yield Case(sp.chndtrix, (p, 3, x), tolerance=1e-5)
    yield Case(sp.nrdtrimn, (p + 0.1, x, x))
    yield Case(sp.nrdtrisd, (x, np.array([0.1, 0.3, 0.8]), x[::-1] + 1))
    yield Case(sp.tklmbda, (np.array([-0.5, 0.2, 0.6]), np.array([-0.4, 0.3, 1.4])))
    yield Case(sp.kolmogorov, (np.array([0.5, 0.9, 1.4]),))
    yield Case(sp.kolmogi, (p,))
