"""`np.emath`: functions whose real arguments outside of their domain have complex values.

The pulls read the value, whose kind says which side of the domain an argument lies on; where it is complex and the
argument real, the real part of the cotangent counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, conj, pulls, rule, sum_to_shape

_INEXACT = Facts(precision="inexact")


def _matched(cotangent, x):
    return np.real(cotangent) if cotangent.dtype.kind == "c" and x.dtype.kind != "c" else cotangent


@rule(np.emath.sqrt, reads=("out",), facts=_INEXACT)
def sqrt(ct, out, x):
    return _matched(ct / conj(2 * out), x)


@rule(np.emath.log, reads=("x",), facts=_INEXACT)
def log(ct, out, x):
    return _matched(ct / conj(x), x)


@rule(np.emath.log2, reads=("x",), facts=_INEXACT)
def log2(ct, out, x):
    return _matched(ct / conj(x * math.log(2)), x)


@rule(np.emath.log10, reads=("x",), facts=_INEXACT)
def log10(ct, out, x):
    return _matched(ct / conj(x * math.log(10)), x)


@rule(np.emath.arcsin, reads=("out",), facts=_INEXACT)
def arcsin(ct, out, x):
    return _matched(ct / conj(np.cos(out)), x)


@rule(np.emath.arccos, reads=("out",), facts=_INEXACT)
def arccos(ct, out, x):
    return _matched(-ct / conj(np.sin(out)), x)


@rule(np.emath.arctanh, reads=("x",), facts=_INEXACT)
def arctanh(ct, out, x):
    return _matched(ct / conj(1 - x * x), x)


def _power_base(ct, out, x, p):
    return sum_to_shape(_matched(ct * conj(p * np.emath.power(x, p - 1)), x), np.shape(x))


def _power_exponent(ct, out, x, p):
    at_zero = x == 0
    by_exponent = ct * conj(np.where(at_zero, 0, out * np.emath.log(np.where(at_zero, 1, x))))
    return sum_to_shape(_matched(by_exponent, p), np.shape(p))


pulls(np.emath.power, _power_base, _power_exponent, facts=_INEXACT)


def _logn_base(ct, out, n, x):
    return sum_to_shape(_matched(-ct * conj(out / (n * np.emath.log(n))), n), np.shape(n))


def _logn_argument(ct, out, n, x):
    return sum_to_shape(_matched(ct / conj(x * np.emath.log(n)), x), np.shape(x))


# The base is an array, where `n` is a length in most functions.
pulls(np.emath.logn, _logn_base, _logn_argument, facts=Facts(precision="inexact", traced=("n",)))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    inside = rng.uniform(0.2, 0.8, (3, 4))
    z = inside + 1j * rng.normal(size=(3, 4))
    mixed = np.array([-1.7, 0.4, 2.3, -0.6])
    for function in (np.emath.sqrt, np.emath.log, np.emath.log2, np.emath.log10, np.emath.arcsin, np.emath.arccos):
        for x in (inside, mixed, z[:, ::2], np.float64(0.3)):
            yield Case(function, (x,))
    for x in (inside, mixed, z):
        yield Case(np.emath.arctanh, (x,))
    yield Case(np.emath.power, (inside, inside[0]))
    yield Case(np.emath.power, (mixed, np.array([0.5, 2.0, 1.5, 3.0])))
    yield Case(np.emath.power, (z, 2.5))
    yield Case(np.emath.logn, (inside[0] + 1, mixed))
    yield Case(np.emath.power, (inside[0], inside))
    yield Case(np.emath.logn, (3.0, inside))
    yield Case(np.emath.logn, (inside + 1, inside[0]))
