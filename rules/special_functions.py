"""Functions of `scipy.special` that are no ufuncs: they convert their arguments; programs that are read call these."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, as_array, conj, needs, pulls, refuse, stand_in
from bridge.rules import special
from bridge.rules.scipy_arguments import inexact

sp = needs("scipy.special")


@stand_in(sp.logsumexp)
def logsumexp(a, axis=None, b=None, keepdims=False, return_sign=False):
    a = inexact(a)
    return special.logsumexp(a, axis, None if b is None else as_array(b), keepdims, return_sign)


@stand_in(sp.softmax)
def softmax(x, axis=None):
    return special.softmax(inexact(x), axis)


@stand_in(sp.log_softmax)
def log_softmax(x, axis=None):
    return special.log_softmax(inexact(x), axis)


@stand_in(sp.polygamma)
def polygamma(n, x):
    return special.polygamma(n, inexact(x))


@stand_in(sp.zeta)
def zeta(x, q=None, out=None):
    if out is not None:
        refuse("scipy.special.zeta with out= of tracked numbers", "leave it out, and write the result yourself")
    return sp._ufuncs._riemann_zeta(x) if q is None else sp._ufuncs._zeta(x, q)


@stand_in(sp.lambertw)
def lambertw(z, k=0, tol=1e-8):
    return sp._ufuncs._lambertw(z, np.asarray(k, dtype=np.dtype("long")), tol)


def _whole_only(function, exact):
    if exact:
        refuse(
            f"scipy.special.{function} with exact=True of tracked numbers", "leave it out: whole numbers have no slope"
        )


@stand_in(sp.comb)
def comb(N, k, *, exact=False, repetition=False):
    _whole_only("comb", exact)
    N, k = inexact(N), inexact(k)
    if repetition:
        found = comb(N + k - 1, k)
        return np.where((k == 0) & (N >= 0), 1.0, found)[()]
    return np.where((k <= N) & (N >= 0) & (k >= 0), sp.binom(N, k), 0.0)[()]


@stand_in(sp.perm)
def perm(N, k, exact=False):
    _whole_only("perm", exact)
    N, k = inexact(N), inexact(k)
    return np.where((k <= N) & (N >= 0) & (k >= 0), sp.poch(N - k + 1, k), 0.0)[()]


@stand_in(sp.factorial)
def factorial(n, exact=False, extend="zero"):
    _whole_only("factorial", exact)
    n = inexact(n)
    if extend == "complex":
        return sp.gamma(n + 1)[()]
    return np.where(n < 0, 0.0, sp.gamma(np.where(n < 0, 0, n) + 1))[()]


@stand_in(sp.multigammaln)
def multigammaln(a, d):
    a, d = inexact(a), int(d)
    terms = [sp.gammaln(a - (j - 1.0) / 2) for j in range(1, d + 1)]
    return sum(terms) + d * (d - 1) * 0.25 * np.log(np.pi)


def _register_spherical(letter: str, sign: int) -> None:
    """Functions with z**2 f'' + 2 z f' + (sign z**2 - n (n + 1)) f = 0, and their slopes."""
    function, slope = (getattr(sp._ufuncs, f"_spherical_{letter}n{end}") for end in ("", "_d"))

    def spherical(n, z, derivative=False):
        n = np.asarray(n, dtype=np.dtype("long"))
        return (slope if derivative else function)(n, z)

    def curve(ct, out, n, z):
        zero = z == 0
        at = np.where(zero, 1, z)
        found = -2 * out / at - (sign - n * (n + 1.0) / (at * at)) * function(n, z)
        at_zero = np.where(n == 0, -sign / 3, np.where(n == 2, 2 / 15, 0)) if letter in "ji" else np.nan
        return ct * conj(np.where(zero, at_zero, found)).astype(ct.dtype)

    pulls(function, None, lambda ct, out, n, z: ct * conj(slope(n, z)))
    pulls(slope, None, curve)
    stand_in(getattr(sp, f"spherical_{letter}n"))(spherical)


for _letter, _sign in (("j", 1), ("y", 1), ("i", -1), ("k", -1)):
    _register_spherical(_letter, _sign)


def cases() -> Iterator[Case]:
    z = np.array([0.8, 1.5, 2.7])
    for letter in "jyik":
        for end in ("", "_d"):
            function = getattr(sp._ufuncs, f"_spherical_{letter}n{end}")
            yield Case(function, (np.array([0, 1, 3]), z))
            yield Case(function, (2, z + 0.3j))
