"""Formulas of the common distributions of `scipy.stats`, with location 0 and scale 1."""

from __future__ import annotations

import math

import numpy as np

from bridge.extend import needs
from bridge.rules.scipy_stats import formulas

sp = needs("scipy.special")
stats = needs("scipy.stats")

_LOG_ROOT_TAU = math.log(2 * math.pi) / 2
_ROOT_2 = math.sqrt(2)


def _normal(x):
    return -x * x / 2 - _LOG_ROOT_TAU


def _probability(shape):
    return (shape >= 0) & (shape <= 1)


formulas(
    stats.norm,
    log_density=_normal,
    cdf=sp.ndtr,
    sf=lambda x: sp.ndtr(-x),
    logcdf=sp.log_ndtr,
    logsf=lambda x: sp.log_ndtr(-x),
    ppf=sp.ndtri,
    isf=lambda q: -sp.ndtri(q),
    mean=lambda: 0.0,
    var=lambda: 1.0,
    valid=lambda: True,
)


def _student(x, df):
    infinite = np.isinf(df)
    df = np.where(infinite, 1, df)
    finite = sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2) - (np.log(df) + math.log(math.pi)) / 2
    return np.where(infinite, _normal(x), finite - (df + 1) / 2 * np.log1p(x * x / df))


formulas(
    stats.t,
    log_density=_student,
    cdf=lambda x, df: sp.stdtr(df, x),
    sf=lambda x, df: sp.stdtr(df, -x),
    ppf=lambda q, df: sp.stdtrit(df, q),
    isf=lambda q, df: -sp.stdtrit(df, q),
)
formulas(
    stats.expon,
    log_density=lambda x: -x,
    cdf=lambda x: -np.expm1(-x),
    sf=lambda x: np.exp(-x),
    logsf=lambda x: -x,
    ppf=lambda q: -np.log1p(-q),
    isf=lambda q: -np.log(q),
    mean=lambda: 1.0,
    var=lambda: 1.0,
    valid=lambda: True,
)
formulas(
    stats.gamma,
    log_density=lambda x, a: sp.xlogy(a - 1, x) - x - sp.gammaln(a),
    cdf=lambda x, a: sp.gammainc(a, x),
    sf=lambda x, a: sp.gammaincc(a, x),
    ppf=lambda q, a: sp.gammaincinv(a, q),
    isf=lambda q, a: sp.gammainccinv(a, q),
    mean=lambda a: a,
    var=lambda a: a,
)
formulas(
    stats.invgamma,
    log_density=lambda x, a: -(a + 1) * np.log(x) - sp.gammaln(a) - 1 / x,
    cdf=lambda x, a: sp.gammaincc(a, 1 / x),
    sf=lambda x, a: sp.gammainc(a, 1 / x),
)
formulas(
    stats.chi2,
    log_density=lambda x, df: sp.xlogy(df / 2 - 1, x) - x / 2 - sp.gammaln(df / 2) - math.log(2) * df / 2,
    cdf=lambda x, df: sp.chdtr(df, x),
    sf=lambda x, df: sp.chdtrc(df, x),
    ppf=lambda q, df: 2 * sp.gammaincinv(df / 2, q),
    isf=lambda q, df: 2 * sp.gammainccinv(df / 2, q),
    mean=lambda df: df,
    var=lambda df: 2 * df,
)
formulas(
    stats.beta,
    log_density=lambda x, a, b: sp.xlog1py(b - 1, -x) + sp.xlogy(a - 1, x) - sp.betaln(a, b),
    cdf=lambda x, a, b: sp.betainc(a, b, x),
    sf=lambda x, a, b: sp.betaincc(a, b, x),
    ppf=lambda q, a, b: sp.betaincinv(a, b, q),
    isf=lambda q, a, b: sp.betainccinv(a, b, q),
    mean=lambda a, b: a / (a + b),
    var=lambda a, b: a * b / ((a + b) ** 2 * (a + b + 1)),
)
formulas(
    stats.f,
    log_density=lambda x, n, m: (
        m / 2 * np.log(m)
        + n / 2 * np.log(n)
        + sp.xlogy(n / 2 - 1, x)
        - ((n + m) / 2 * np.log(m + n * x) + sp.betaln(n / 2, m / 2))
    ),
    cdf=lambda x, n, m: sp.fdtr(n, m, x),
    sf=lambda x, n, m: sp.fdtrc(n, m, x),
)
formulas(
    stats.lognorm,
    log_density=lambda x, s: -(np.log(x) ** 2) / (2 * s * s) - np.log(s * x) - _LOG_ROOT_TAU,
    cdf=lambda x, s: sp.ndtr(np.log(x) / s),
    sf=lambda x, s: sp.ndtr(-np.log(x) / s),
    logcdf=lambda x, s: sp.log_ndtr(np.log(x) / s),
    logsf=lambda x, s: sp.log_ndtr(-np.log(x) / s),
    ppf=lambda q, s: np.exp(s * sp.ndtri(q)),
    isf=lambda q, s: np.exp(-s * sp.ndtri(q)),
    mean=lambda s: np.exp(s * s / 2),
    var=lambda s: np.expm1(s * s) * np.exp(s * s),
)
formulas(
    stats.uniform,
    log_density=lambda x: 0 * x,
    cdf=lambda x: x,
    sf=lambda x: 1 - x,
    ppf=lambda q: q,
    mean=lambda: 0.5,
    var=lambda: 1 / 12,
    valid=lambda: True,
)


def _laplace_tail(x):
    """The probability of a number below -|x|."""
    return np.exp(-np.abs(x)) / 2


formulas(
    stats.laplace,
    log_density=lambda x: -math.log(2) - np.abs(x),
    cdf=lambda x: np.where(x > 0, 1 - _laplace_tail(x), _laplace_tail(x)),
    sf=lambda x: np.where(x > 0, _laplace_tail(x), 1 - _laplace_tail(x)),
    ppf=lambda q: np.where(q > 0.5, -np.log(2 * (1 - q)), np.log(2 * q)),
    isf=lambda q: np.where(q > 0.5, np.log(2 * (1 - q)), -np.log(2 * q)),
    mean=lambda: 0.0,
    var=lambda: 2.0,
    valid=lambda: True,
)
formulas(
    stats.logistic,
    log_density=lambda x: -np.abs(x) - 2 * np.log1p(np.exp(-np.abs(x))),
    cdf=sp.expit,
    sf=lambda x: sp.expit(-x),
    logcdf=sp.log_expit,
    logsf=lambda x: sp.log_expit(-x),
    ppf=sp.logit,
    isf=lambda q: -sp.logit(q),
    mean=lambda: 0.0,
    var=lambda: math.pi**2 / 3,
    valid=lambda: True,
)


def _cauchy(x):
    """With 1 / x where the square of x could be too large."""
    large = np.abs(x) >= 1
    size = np.where(large, np.abs(x), 1)
    small = np.where(large, 0, x)
    return -math.log(math.pi) - np.where(large, 2 * np.log(size) + np.log1p(1 / size**2), np.log1p(small * small))


formulas(
    stats.cauchy,
    log_density=_cauchy,
    cdf=lambda x: np.arctan2(1, -x) / math.pi,
    sf=lambda x: np.arctan2(1, x) / math.pi,
    ppf=lambda q: np.tan(math.pi * (q - 0.5)),
    isf=lambda q: np.tan(math.pi * (0.5 - q)),
    valid=lambda: True,
)
formulas(
    stats.halfcauchy,
    log_density=lambda x: math.log(2 / math.pi) - np.log1p(x * x),
    cdf=lambda x: 2 / math.pi * np.arctan(x),
    sf=lambda x: 2 / math.pi * np.arctan2(1, x),
    valid=lambda: True,
)
formulas(
    stats.weibull_min,
    log_density=lambda x, c: np.log(c) + sp.xlogy(c - 1, x) - x**c,
    cdf=lambda x, c: -np.expm1(-(x**c)),
    sf=lambda x, c: np.exp(-(x**c)),
    logsf=lambda x, c: -(x**c),
    ppf=lambda q, c: (-np.log1p(-q)) ** (1 / c),
    isf=lambda q, c: (-np.log(q)) ** (1 / c),
)
formulas(
    stats.pareto,
    log_density=lambda x, b: np.log(b) - (b + 1) * np.log(x),
    cdf=lambda x, b: 1 - x**-b,
    sf=lambda x, b: x**-b,
    ppf=lambda q, b: (1 - q) ** (-1 / b),
    isf=lambda q, b: q ** (-1 / b),
    inside=2.0,
)
formulas(
    stats.halfnorm,
    log_density=lambda x: math.log(2 / math.pi) / 2 - x * x / 2,
    cdf=lambda x: sp.erf(x / _ROOT_2),
    sf=lambda x: 2 * sp.ndtr(-x),
    ppf=lambda q: sp.ndtri((1 + q) / 2),
    isf=lambda q: -sp.ndtri(q / 2),
    mean=lambda: math.sqrt(2 / math.pi),
    var=lambda: 1 - 2 / math.pi,
    valid=lambda: True,
)
formulas(
    stats.rayleigh,
    log_density=lambda x: np.log(x) - x * x / 2,
    cdf=lambda x: -np.expm1(-x * x / 2),
    sf=lambda x: np.exp(-x * x / 2),
    logsf=lambda x: -x * x / 2,
    ppf=lambda q: np.sqrt(-2 * np.log1p(-q)),
    isf=lambda q: np.sqrt(-2 * np.log(q)),
    valid=lambda: True,
)
formulas(
    stats.gumbel_r,
    log_density=lambda x: -x - np.exp(-x),
    cdf=lambda x: np.exp(-np.exp(-x)),
    sf=lambda x: -np.expm1(-np.exp(-x)),
    logcdf=lambda x: -np.exp(-x),
    ppf=lambda q: -np.log(-np.log(q)),
    isf=lambda q: -np.log(-np.log1p(-q)),
    valid=lambda: True,
)
formulas(
    stats.gumbel_l,
    log_density=lambda x: x - np.exp(x),
    cdf=lambda x: -np.expm1(-np.exp(x)),
    sf=lambda x: np.exp(-np.exp(x)),
    logsf=lambda x: -np.exp(x),
    ppf=lambda q: np.log(-np.log1p(-q)),
    isf=lambda q: np.log(-np.log(q)),
    valid=lambda: True,
)
formulas(
    stats.powerlaw,
    log_density=lambda x, a: np.log(a) + sp.xlogy(a - 1, x),
    cdf=lambda x, a: x**a,
    logcdf=lambda x, a: a * np.log(x),
    ppf=lambda q, a: q ** (1 / a),
)
formulas(
    stats.invgauss,
    log_density=lambda x, mu: -_LOG_ROOT_TAU - 1.5 * np.log(x) - (x / mu - 1) ** 2 / (2 * x),
)
formulas(stats.skewnorm, log_density=lambda x, a: math.log(2) + _normal(x) + sp.log_ndtr(a * x), valid=np.isfinite)
formulas(
    stats.vonmises,
    log_density=lambda x, kappa: kappa * sp.cosm1(x) - 2 * _LOG_ROOT_TAU - np.log(sp.i0e(kappa)),
    valid=lambda kappa: kappa >= 0,
)


def _log_mass(a, b):
    """Logarithm of the normal probability of numbers between a and b, from the tail on the left."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    lower, upper = sp.log_ndtr(low), sp.log_ndtr(high)
    return upper + np.log(-np.expm1(np.minimum(lower - upper, -1e-300)))


formulas(
    stats.truncnorm,
    log_density=lambda x, a, b: _normal(x) - _log_mass(a, b),
    cdf=lambda x, a, b: np.exp(_log_mass(a, x) - _log_mass(a, b)),
    sf=lambda x, a, b: np.exp(_log_mass(x, b) - _log_mass(a, b)),
    inside=lambda a, b: np.where(
        np.isinf(a), np.where(np.isinf(b), 0, b - 1), np.where(np.isinf(b), a + 1, (a + b) / 2)
    ),
    valid=lambda a, b: a < b,
)

# Discrete distributions; numbers and counts of trials are whole, and their probabilities differentiable.
formulas(
    stats.poisson,
    log_density=lambda k, mu: sp.xlogy(k, mu) - sp.gammaln(k + 1) - mu,
    cdf=lambda k, mu: sp.pdtr(k, mu),
    sf=lambda k, mu: sp.pdtrc(k, mu),
    mean=lambda mu: mu,
    var=lambda mu: mu,
    valid=lambda mu: mu >= 0,
    inside=0.0,
)


def _binomial(k, n, p):
    ways = sp.gammaln(n + 1) - (sp.gammaln(k + 1) + sp.gammaln(n - k + 1))
    return ways + sp.xlogy(k, p) + sp.xlog1py(n - k, -p)


formulas(
    stats.binom,
    log_density=_binomial,
    cdf=lambda k, n, p: sp.betaincc(k + 1, n - k, p),
    sf=lambda k, n, p: sp.betainc(k + 1, n - k, p),
    mean=lambda n, p: n * p,
    var=lambda n, p: n * p * (1 - p),
    valid=lambda n, p: (n >= 0) & (np.round(n) == n) & _probability(p),
    inside=0.0,
)
formulas(
    stats.bernoulli,
    log_density=lambda k, p: _binomial(k, 1.0, p),
    cdf=lambda k, p: 1 - p + 0 * k,
    sf=lambda k, p: p + 0 * k,
    mean=lambda p: p,
    var=lambda p: p * (1 - p),
    valid=_probability,
    inside=0.0,
)
formulas(
    stats.nbinom,
    log_density=lambda k, n, p: (
        sp.gammaln(n + k) - sp.gammaln(k + 1) - sp.gammaln(n) + n * np.log(p) + sp.xlog1py(k, -p)
    ),
    cdf=lambda k, n, p: sp.betainc(n, k + 1, p),
    sf=lambda k, n, p: sp.betaincc(n, k + 1, p),
    mean=lambda n, p: n * (1 - p) / p,
    var=lambda n, p: n * (1 - p) / p**2,
    valid=lambda n, p: (n > 0) & (p > 0) & (p <= 1),
    inside=0.0,
)
formulas(
    stats.geom,
    log_density=lambda k, p: sp.xlog1py(k - 1, -p) + np.log(p),
    cdf=lambda k, p: -np.expm1(np.log1p(-p) * k),
    sf=lambda k, p: np.exp(np.log1p(-p) * k),
    logsf=lambda k, p: np.log1p(-p) * k,
    mean=lambda p: 1 / p,
    var=lambda p: (1 - p) / p**2,
    valid=lambda p: (p > 0) & (p <= 1),
    inside=1.0,
)
