"""Functions of `scipy.special`; read only when a program has imported that library.

Derivatives with respect to orders and shape parameters, for which no closed form is known, have no pull.
Functions there that are no ufuncs convert their arguments; programs that are read call what stands in for them
(rules/special_functions.py).
Formulas are those of the NIST Digital Library of Mathematical Functions, dlmf.nist.gov.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, RuleError, conj, needs, nondifferentiable, pulls, rule, sum_to_shape
from bridge.rules.gamma_quantiles import tracked_slope

sp = needs("scipy.special")

ROOT_PI, ROOT_2 = np.pi**0.5, 2**0.5
ROOT_TAU = (2 * np.pi) ** 0.5
LOG_2, LOG_10 = float(np.log(2)), float(np.log(10))


def _outputs(ct, *derivatives):
    """The cotangent through those of a function's outputs that have one; derivatives are given as thunks."""
    return sum(one * conj(derivative()) for one, derivative in zip(ct, derivatives, strict=True) if one is not None)


def _ratio(x, y):
    """x / y, and 0 / 0 = 0."""
    return x / np.where((x == 0) & (y == 0), 1, y)


# Error functions and the normal distribution.
pulls(sp.erf, lambda ct, out, x: ct * conj(2 / ROOT_PI * np.exp(-x * x)))
pulls(sp.erfc, lambda ct, out, x: ct * conj(-2 / ROOT_PI * np.exp(-x * x)))
pulls(sp.erfi, lambda ct, out, x: ct * conj(2 / ROOT_PI * np.exp(x * x)))
pulls(sp.erfcx, lambda ct, out, x: ct * conj(2 * x * out - 2 / ROOT_PI))
pulls(sp.dawsn, lambda ct, out, x: ct * conj(1 - 2 * x * out))
pulls(sp.wofz, lambda ct, out, x: ct * conj(2j / ROOT_PI - 2 * x * out))
pulls(sp.erfinv, lambda ct, out, x: ct * (ROOT_PI / 2) * np.exp(out * out))
pulls(sp.erfcinv, lambda ct, out, x: ct * (-ROOT_PI / 2) * np.exp(out * out))
pulls(sp.ndtr, lambda ct, out, x: ct * conj(np.exp(-x * x / 2) / ROOT_TAU))
pulls(sp.ndtri, lambda ct, out, x: ct * ROOT_TAU * np.exp(out * out / 2))
pulls(sp.log_ndtr, lambda ct, out, x: ct * conj(2 / ROOT_TAU / sp.erfcx(-x / ROOT_2)))
pulls(sp.ndtri_exp, lambda ct, out, x: ct * (ROOT_TAU / 2) * sp.erfcx(-out / ROOT_2))
pulls(
    sp.owens_t,
    lambda ct, out, h, a: ct * -np.exp(-h * h / 2) * sp.erf(a * h / ROOT_2) / (2 * ROOT_TAU),
    lambda ct, out, h, a: ct * np.exp(-h * h * (1 + a * a) / 2) / (2 * np.pi * (1 + a * a)),
)
pulls(
    sp.fresnel,
    lambda ct, out, x: _outputs(ct, lambda: np.sin(np.pi / 2 * x * x), lambda: np.cos(np.pi / 2 * x * x)),
)

# Logistic functions, entropies, and losses. At 0, x log x has the slope that it has: -inf.
pulls(sp.expit, lambda ct, out, x: ct * out * sp.expit(-x))
pulls(sp.log_expit, lambda ct, out, x: ct * sp.expit(-x))
pulls(sp.logit, lambda ct, out, x: ct / (x * (1 - x)))
pulls(sp.xlogy, lambda ct, out, x, y: ct * conj(np.log(y)), lambda ct, out, x, y: ct * conj(_ratio(x, y)))
pulls(sp.xlog1py, lambda ct, out, x, y: ct * conj(np.log1p(y)), lambda ct, out, x, y: ct * conj(_ratio(x, 1 + y)))
pulls(sp.entr, lambda ct, out, x: ct * (-np.log(x) - 1))


def _log_ratio(x, y):
    """log(x / y); at 0 / 0 the slope of x log(x / 0), which jumps to infinity."""
    neither = (x == 0) & (y == 0)
    return np.where(neither, np.inf, np.log(np.where(neither, 1, x) / np.where(neither, 1, y)))


def _pseudo_huber_width(ct, out, delta, r):
    root = np.hypot(delta, r)
    return ct * r**4 / np.where(root == 0, 1, root * (root + delta) ** 2)


pulls(sp.rel_entr, lambda ct, out, x, y: ct * (_log_ratio(x, y) + 1), lambda ct, out, x, y: -ct * _ratio(x, y))
pulls(sp.kl_div, lambda ct, out, x, y: ct * _log_ratio(x, y), lambda ct, out, x, y: ct * (1 - _ratio(x, y)))
pulls(
    sp.huber,
    lambda ct, out, delta, r: ct * np.maximum(np.abs(r) - delta, 0),
    lambda ct, out, delta, r: ct * np.minimum(np.maximum(r, -delta), delta),
)
pulls(
    sp.pseudo_huber,
    _pseudo_huber_width,
    lambda ct, out, delta, r: ct * delta * _ratio(r, np.hypot(delta, r)),
)

# Powers, logarithms and angles.
pulls(sp.log1p, lambda ct, out, x: ct / conj(1 + x))
pulls(sp.expm1, lambda ct, out, x: ct * conj(np.exp(x)))
pulls(sp.exp2, lambda ct, out, x: ct * out * LOG_2)
pulls(sp.exp10, lambda ct, out, x: ct * out * LOG_10)
pulls(sp.cbrt, lambda ct, out, x: ct / (3 * out * out))
pulls(sp.cosm1, lambda ct, out, x: ct * -np.sin(x))
pulls(sp.exprel, lambda ct, out, x: ct * sp.hyp1f1(2.0, 3.0, x) / 2)
pulls(sp.sindg, lambda ct, out, x: ct * (np.pi / 180) * sp.cosdg(x))
pulls(sp.cosdg, lambda ct, out, x: ct * (-np.pi / 180) * sp.sindg(x))
pulls(sp.tandg, lambda ct, out, x: ct * (np.pi / 180) * (1 + out * out))
pulls(sp.cotdg, lambda ct, out, x: ct * (-np.pi / 180) * (1 + out * out))
pulls(sp.powm1, lambda ct, out, x, y: ct * y * x ** (y - 1), lambda ct, out, x, y: ct * sp.xlogy(out + 1, x))


def _boxcox_slope(log_x, power):
    """Derivative of (x**power - 1) / power in the power, exact where the power is zero."""
    near = np.abs(power * log_x) < 1
    series = np.where(near, log_x, 0) ** 2 / 2 * sp.hyp1f1(2.0, 3.0, np.where(near, power * log_x, 0))
    at = np.where(near, 1, power)
    grown = np.exp(power * log_x) * np.where(np.isinf(log_x), 0, log_x)
    return np.where(near, series, (grown - np.expm1(power * log_x) / at) / at)


def _inverse_slope(x, power):
    """Derivative in the power of the x whose Box-Cox transform stays what it is."""
    return -_boxcox_slope(np.log(x), power) * x ** (1 - power)


pulls(sp.boxcox, lambda ct, out, x, p: ct * x ** (p - 1), lambda ct, out, x, p: ct * _boxcox_slope(np.log(x), p))
pulls(
    sp.boxcox1p,
    lambda ct, out, x, p: ct * (1 + x) ** (p - 1),
    lambda ct, out, x, p: ct * _boxcox_slope(np.log1p(x), p),
)
pulls(sp.inv_boxcox, lambda ct, out, y, p: ct * out ** (1 - p), lambda ct, out, y, p: ct * _inverse_slope(out, p))
pulls(
    sp.inv_boxcox1p,
    lambda ct, out, y, p: ct * (1 + out) ** (1 - p),
    lambda ct, out, y, p: ct * _inverse_slope(1 + out, p),
)

# The gamma function and its kin. Bernoulli numbers are B2, B4, ..., B14.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def _trigamma(x):
    """The derivative of psi. SciPy has none for complex numbers: reflected, shifted by 10, and expanded there."""
    if x.dtype.kind != "c":
        return sp.zeta(2.0, x)
    left = np.real(x) < 0.5
    z = np.where(left, 1 - x, x)
    far = z + 10
    total = 1 / far + 1 / (2 * far * far)
    for k, number in enumerate(BERNOULLI, 1):
        total = total + number / far ** (2 * k + 1)
    for k in range(10):
        total = total + 1 / ((z + k) * (z + k))
    return np.where(left, (np.pi / np.sin(np.pi * np.where(left, x, 0.5))) ** 2 - total, total)


def _rgamma_slope(x):
    """Left of 1/2 by reflection: 1 / gamma(x) is gamma(1 - x) sin(pi x) / pi, which is smooth at its zeros."""
    left = np.real(x) < 0.5
    mirrored, kept = np.where(left, 1 - x, 1), np.where(left, 1, x)
    turned = np.cos(np.pi * x) - sp.psi(mirrored) * np.sin(np.pi * x) / np.pi
    return np.where(left, sp.gamma(mirrored) * turned, -sp.psi(kept) * sp.rgamma(kept))


# Densities are given in the dtype of the cotangent, whatever numbers the parameters are.


def _gamma_density(ct, a, x):
    return np.exp(sp.xlogy(a - 1, x) - x - sp.gammaln(a)).astype(ct.dtype)


def _beta_density(ct, a, b, x):
    return np.exp(sp.xlogy(a - 1, x) + sp.xlog1py(b - 1, -x) - sp.betaln(a, b)).astype(ct.dtype)


def _student_density(ct, df, t):
    scale = np.exp(sp.gammaln((df + 1) / 2) - sp.gammaln(df / 2)) / np.sqrt(np.pi * df)
    return (scale * (1 + t * t / df) ** (-(df + 1) / 2)).astype(ct.dtype)


pulls(sp.gamma, lambda ct, out, x: ct * conj(out * sp.psi(x)))
pulls(sp.gammaln, lambda ct, out, x: ct * sp.psi(x))
pulls(sp.loggamma, lambda ct, out, x: ct * conj(sp.psi(x)))
pulls(sp.rgamma, lambda ct, out, x: ct * conj(_rgamma_slope(x)))
pulls(sp.psi, lambda ct, out, x: ct * conj(_trigamma(x)))
pulls(sp._ufuncs._zeta, None, lambda ct, out, s, q: -ct * s * sp.zeta(s + 1, q))
pulls(
    sp.beta,
    lambda ct, out, a, b: ct * out * (sp.psi(a) - sp.psi(a + b)),
    lambda ct, out, a, b: ct * out * (sp.psi(b) - sp.psi(a + b)),
)
pulls(
    sp.betaln,
    lambda ct, out, a, b: ct * (sp.psi(a) - sp.psi(a + b)),
    lambda ct, out, a, b: ct * (sp.psi(b) - sp.psi(a + b)),
)


def _quantile_slope(ct, a, x):
    """How a gamma number moves with its shape where its probability stays."""
    finite = np.isfinite(x)
    a, x = np.broadcast_arrays(a * 1.0, np.where(finite, x, 1.0))
    return np.where(finite, tracked_slope(a, x), 0).astype(ct.dtype)


def _shape_slope(ct, a, x):
    """The slope of the distribution function of gamma numbers in the shape; at shape 0, where all are 0, it is -E1."""
    edge = (a == 0) | (x == 0)
    number, shape = np.where(edge, 1, x), np.where(edge, 1, a)
    inside = -_gamma_density(ct, shape, number) * _quantile_slope(ct, shape, number)
    at_edge = np.where(x == 0, 0, -sp.exp1(np.where(x == 0, 1, x)))
    return np.where(edge, at_edge, inside).astype(ct.dtype)


pulls(
    sp.gammainc,
    lambda ct, out, a, x: ct * _shape_slope(ct, a, x),
    lambda ct, out, a, x: ct * _gamma_density(ct, a, x),
)
pulls(
    sp.gammaincc,
    lambda ct, out, a, x: -ct * _shape_slope(ct, a, x),
    lambda ct, out, a, x: -ct * _gamma_density(ct, a, x),
)
pulls(
    sp.gammaincinv,
    lambda ct, out, a, y: ct * _quantile_slope(ct, a, out),
    lambda ct, out, a, y: ct / _gamma_density(ct, a, out),
)
pulls(
    sp.gammainccinv,
    lambda ct, out, a, y: ct * _quantile_slope(ct, a, out),
    lambda ct, out, a, y: -ct / _gamma_density(ct, a, out),
)
pulls(sp.betainc, None, None, lambda ct, out, a, b, x: ct * _beta_density(ct, a, b, x))
pulls(sp.betaincc, None, None, lambda ct, out, a, b, x: -ct * _beta_density(ct, a, b, x))
pulls(sp.betaincinv, None, None, lambda ct, out, a, b, y: ct / _beta_density(ct, a, b, out))
pulls(sp.betainccinv, None, None, lambda ct, out, a, b, y: -ct / _beta_density(ct, a, b, out))
pulls(
    sp.chdtr,
    lambda ct, out, v, x: ct / 2 * _shape_slope(ct, v / 2, x / 2),
    lambda ct, out, v, x: ct / 2 * _gamma_density(ct, v / 2, x / 2),
)
pulls(
    sp.chdtrc,
    lambda ct, out, v, x: -ct / 2 * _shape_slope(ct, v / 2, x / 2),
    lambda ct, out, v, x: -ct / 2 * _gamma_density(ct, v / 2, x / 2),
)
pulls(sp.stdtr, None, lambda ct, out, df, t: ct * _student_density(ct, df, t))
pulls(sp.stdtrit, None, lambda ct, out, df, p: ct / _student_density(ct, df, out))
nondifferentiable(sp.gammasgn, sp.round)


@rule(sp.polygamma)
def polygamma(ct, out, n, x):
    return None, ct * (-1) ** (n % 2) * sp.gamma(n + 2.0) * sp.zeta(n + 2.0, x)


@rule(sp.logsumexp)
def logsumexp(ct, out, a, axis=None, b=None, keepdims=False, return_sign=False):
    """Terms of weight zero get nothing, also where all are: a logarithm of zero is flat there. So are signs."""
    sign = 1
    if return_sign:
        (ct, _), (out, sign) = ct, out
        if ct is None:
            return None, None, None
        if out.dtype.kind == "c":
            raise RuleError(
                "logsumexp of complex numbers with return_sign= has no rule",
                remedy="leave it out, or detach the argument",
            )
        ct = ct * sign
    if axis is not None and not keepdims and max(a.ndim, np.ndim(b)):
        ct, out = np.expand_dims(ct, axis), np.expand_dims(out, axis)
    share = ct * conj(np.exp(a - np.where(out == -np.inf, 0, out)))
    if b is None:
        return np.reshape(share, a.shape)
    share = np.broadcast_to(share, np.broadcast_shapes(share.shape, a.shape, np.shape(b)))
    by_b = sum_to_shape(share, np.shape(b))
    by_a = sum_to_shape(_matched(share * conj(b), a), a.shape)
    return by_a, None, _matched(by_b, b) if hasattr(b, "dtype") else by_b


def _matched(cotangent, operand):
    return cotangent if operand.dtype.kind == "c" else np.real(cotangent)


@rule(sp.softmax)
def softmax(ct, out, x, axis=None):
    weighted = ct * conj(out)
    return weighted - conj(out) * np.sum(weighted, axis=axis, keepdims=True)


@rule(sp.log_softmax)
def log_softmax(ct, out, x, axis=None):
    return ct - conj(np.exp(out)) * np.sum(ct, axis=axis, keepdims=True)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.uniform(0.2, 0.8, (2, 3))
    y = rng.uniform(1.2, 2.5, 3)
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    holomorphic = (sp.erf, sp.erfc, sp.erfi, sp.erfcx, sp.dawsn, sp.wofz, sp.ndtr, sp.log_ndtr, sp.fresnel)
    for function in (*holomorphic, sp.gamma, sp.rgamma, sp.loggamma, sp.psi, sp.log1p, sp.expm1):
        yield Case(function, (x,))
        yield Case(function, (z,))
        yield Case(function, (x[:, ::2].astype(np.float32),), tolerance=2e-2)
    real = (sp.erfinv, sp.erfcinv, sp.ndtri, sp.expit, sp.log_expit, sp.logit, sp.entr, sp.gammaln, sp.exp2)
    for function in (*real, sp.exp10, sp.cbrt, sp.cosm1, sp.exprel, sp.sindg, sp.cosdg, sp.tandg, sp.cotdg):
        yield Case(function, (x,))
        yield Case(function, (np.float64(0.3),))
    for function in (sp.gamma, sp.rgamma, sp.psi, sp.ndtri_exp, sp.exprel):
        yield Case(function, (-x,))
    yield Case(sp.exprel, (np.zeros(2),))
    yield Case(sp.rgamma, (np.array([0.0, -1.0, -3.0, 2.0]),))
    yield Case(sp.pseudo_huber, (x, np.array([0.0, 0.3, -2.0])))
    yield Case(sp.huber, (x, np.array([0.1, -2.0, 3.0])))
    several = (sp.owens_t, sp.xlogy, sp.xlog1py, sp.rel_entr, sp.kl_div, sp.beta, sp.betaln, sp.powm1)
    for function in (*several, sp.boxcox, sp.boxcox1p, sp.inv_boxcox, sp.inv_boxcox1p):
        yield Case(function, (x, y))
        yield Case(function, (y[:, None], y))
    yield Case(sp.boxcox, (x, np.zeros(3)))
    yield Case(sp.inv_boxcox1p, (x, np.array([0.0, 1e-9, -0.3])))
    yield Case(sp.xlogy, (z, y))
    for function in (sp.gammainc, sp.gammaincc, sp.gammaincinv, sp.gammainccinv, sp.chdtr, sp.chdtrc, sp.stdtr):
        yield Case(function, (2.5, x))
    for function in (sp.gammainc, sp.gammaincc, sp.gammaincinv, sp.gammainccinv, sp.chdtr, sp.chdtrc):
        yield Case(function, (y, x))
    yield Case(sp.stdtrit, (4, x))
    yield Case(sp._ufuncs._zeta, (3, y))
    for function in (sp.betainc, sp.betaincc, sp.betaincinv, sp.betainccinv):
        yield Case(function, (2, 3.5, x))
    yield Case(sp.polygamma, (2, x))
    for function in (sp.logsumexp, sp.softmax, sp.log_softmax):
        yield Case(function, (x,))
        yield Case(function, (x.T,), {"axis": -1})
    yield Case(sp.logsumexp, (x, 0, y), {"keepdims": True})
    yield Case(sp.logsumexp, (x,), {"axis": (0, 1), "b": y})
    yield Case(sp.logsumexp, (y, 1, x))
    yield Case(sp.logsumexp, (x, 0, -y), {"return_sign": True}, loss=lambda found: np.sum(found[0]))
