"""Polynomials given by their coefficients, highest power first.

NumPy trims leading zeros in some of these functions (`polymul`), in others not (`polyadd`): the pulls go by
the length of the result. The leading coefficients that were trimmed then have no derivative.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, RuleError, composed, conj, pulls, refused, rule, zeros


def _array(values):
    return np.asarray(values) if isinstance(values, (list, tuple)) else values


def _matched(cotangent, operand):
    return np.real(cotangent) if cotangent.dtype.kind == "c" and operand.dtype.kind != "c" else cotangent


def _exponents(count):
    """Exponents from count - 1 down to 0, of a dtype that leaves float32 what it is."""
    return np.arange(count - 1, -1, -1, dtype=np.int16)


def _powers(x, count):
    """x**(count-1), ..., x, 1 along a new last axis."""
    return np.expand_dims(x, -1) ** _exponents(count)


def _polyval_coefficients(ct, out, p, x):
    flat = np.reshape(_array(x), -1)
    return _matched(np.matmul(np.reshape(ct, -1), conj(_powers(flat, p.shape[0]))), p)


def _slope(p):
    """Coefficients of the derivative."""
    return p[:-1] * _exponents(p.shape[0])[:-1]


def _polyval_points(ct, out, p, x):
    return _matched(ct * conj(np.polyval(_slope(_array(p)), x)), x)


pulls(np.polyval, _polyval_coefficients, _polyval_points, facts=Facts(promotes=("p", "x")))


@rule(np.polyder, reads=(), linear=True, facts=Facts(static=("m",)))
def polyder(ct, out, p, m=1):
    surviving = max(p.shape[0] - m, 0)
    factor = np.ones(surviving, ct.real.dtype)
    for k in range(m):
        factor *= np.arange(surviving - 1 + m - k, m - k - 1, -1)
    return np.concatenate([ct * factor, zeros(p.shape[0] - surviving, like=ct)])


@composed(np.polyint, facts=Facts(static=("m",), traced=("k",)))
def polyint(p, m=1, k=None):
    constants = [0.0] * m if k is None else [k] * m if np.ndim(k) == 0 else k
    for number in range(m):
        constant = np.reshape(constants[number], (1,))
        p = np.concatenate([p / np.arange(p.shape[0], 0, -1), constant])
    return p


def _last(ct, operand):
    """The cotangent of a shorter polynomial that was added to a longer one."""
    return np.reshape(_matched(ct[ct.shape[0] - operand.size :], operand), operand.shape)


def _first_of_sum(ct, out, a1, a2):
    return _last(ct, a1)


def _second_of_sum(ct, out, a1, a2):
    return _last(ct, a2)


def _second_of_difference(ct, out, a1, a2):
    return -_last(ct, a2)


_TWO = Facts(promotes=("a1", "a2"))
pulls(np.polyadd, _first_of_sum, _second_of_sum, reads=(), structure="linear", facts=_TWO)
pulls(np.polysub, _first_of_sum, _second_of_difference, reads=(), structure="linear", facts=_TWO)


def _factor(ct, operand, other):
    """The cotangent of one factor of a product whose leading zeros may have been trimmed."""
    other = np.reshape(_array(other), -1)
    if 0 in (operand.size, other.shape[0]):
        return np.zeros_like(operand)
    untrimmed = operand.size + other.shape[0] - 1
    whole = np.concatenate([zeros(untrimmed - ct.shape[0], like=ct), ct])
    return np.reshape(_matched(np.correlate(whole, other, "valid"), operand), operand.shape)


def _first_of_product(ct, out, a1, a2):
    return _factor(ct, a1, a2)


def _second_of_product(ct, out, a1, a2):
    return _factor(ct, a2, a1)


pulls(np.polymul, _first_of_product, _second_of_product, facts=_TWO)


@rule(np.poly)
def poly(ct, out, seq_of_zeros):
    """The polynomial loses the factor (x - r): d/dr is minus the product of all the others."""
    roots = seq_of_zeros
    if roots.ndim != 1:
        raise RuleError("np.poly of a matrix has no rule", remedy="use np.poly(np.linalg.eigvals(matrix))")
    one = np.ones_like(roots[:1])
    found = []
    for k in range(roots.shape[0]):
        others = one
        for j in range(roots.shape[0]):
            if j != k:
                others = np.convolve(others, np.concatenate([one, -roots[j : j + 1]]))
        found.append(-np.sum(ct[1:] * conj(others)))
    return _matched(np.stack(found), roots) if found else np.zeros_like(roots)


@rule(np.roots, facts=Facts(precision="inexact"))
def roots(ct, out, p):
    """dr/dp[k] = -r**(n-1-k) / p'(r); infinite at a double root."""
    share = ct / conj(np.polyval(_slope(p), out))
    return _matched(-np.matmul(share, conj(_powers(out, p.shape[0]))), p)


@rule(np.vander, facts=Facts(static=("N",)))
def vander(ct, out, x, N=None, increasing=False):
    powers = _exponents(ct.shape[1])[:: -1 if increasing else 1]
    slopes = powers * np.expand_dims(x, -1) ** np.maximum(powers - 1, 0)
    return _matched(np.sum(ct * conj(slopes), axis=-1), x)


@composed(np.polyfit, facts=Facts(precision="double", distinct=("x", "w"), static=("deg",)))
def polyfit(x, y, deg, rcond=None, full=False, w=None, cov=False):
    if full or cov:
        raise RuleError("np.polyfit has a rule for the coefficients alone", remedy="leave full= and cov= out")
    powers, weighted = _powers(np.multiply(x, 1.0), deg + 1), y
    if w is not None:
        powers = powers * np.expand_dims(w, -1)
        weighted = y * (w if np.ndim(y) == 1 else np.expand_dims(w, -1))
    scale = np.sqrt(np.sum(powers * powers, axis=0))
    rcond = np.shape(x)[0] * np.finfo(powers.dtype).eps if rcond is None else rcond
    return np.transpose(np.transpose(np.linalg.lstsq(powers / scale, weighted, rcond)[0]) / scale)


refused("divide with np.convolve and np.linalg.solve; its remainder is trimmed by value", np.polydiv)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    p, q, x = rng.normal(size=4), rng.normal(size=3), rng.normal(size=(2, 3))
    z = q + 1j * rng.normal(size=3)
    for points in (x, x.T, x[0, 0], x[:, ::2]):
        yield Case(np.polyval, (p, points))
    yield Case(np.polyval, (z, x))
    yield Case(np.polyval, (p, z))
    yield Case(np.polyval, ([2.0, -1.0, 0.5], x.astype(np.float32)), tolerance=2e-2)
    for times in (0, 1, 2, 3):
        yield Case(np.polyder, (p, times))
        yield Case(np.polyint, (p, times))
    yield Case(np.polyint, (z, 2), {"k": np.array([0.5, 2.0])})
    for function in (np.polyadd, np.polysub, np.polymul):
        yield Case(function, (p, q))
        yield Case(function, (q, p))
        yield Case(function, (q, z))
        yield Case(function, (p, [1.0, 2.0]))
    yield Case(np.poly, (p,))
    yield Case(np.poly, (z,))
    yield Case(np.poly, (np.array([0.0, 0.0, 2.0]),))
    yield Case(np.roots, (np.array([1.0, -3.0, 1.5, 0.2]),))
    yield Case(np.roots, (np.array([1.0, 0.5, 2.0]),))
    yield Case(np.roots, (z,))
    for increasing in (False, True):
        yield Case(np.vander, (p,), {"increasing": increasing})
        yield Case(np.vander, (z, 4, increasing))
    yield Case(np.vander, (np.array([0.0, 1.0, -2.0]), 4))
    where = np.linspace(-1.0, 2.0, 6)
    yield Case(np.polyfit, (where, rng.normal(size=6), 2))
    yield Case(np.polyfit, (where, rng.normal(size=(6, 2)), 1), {"w": rng.random(6) + 0.5})
