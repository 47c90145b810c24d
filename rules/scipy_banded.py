"""Matrices given by their diagonals: banded systems, banded Cholesky factors, tridiagonal systems and eigenvalues.

Row `upper + i - j` of such an array holds element `[i, j]` in column `j`. What lies outside of the matrix is not read.
The pull of a banded Cholesky factor, and that of the vectors of a tridiagonal matrix, work with dense matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, conj, known, needs, refuse, rule, stand_in
from bridge.rules import decompositions
from bridge.rules.contractions import fitted
from bridge.rules.scipy_arguments import checked, must_be_known, over_batch, same_type
from bridge.rules.scipy_systems import as_columns
from bridge.rules.spectral import hermitian_cotangent

sl = needs("scipy.linalg")


def _rows(lower, upper, n):
    """The row of the matrix that each element of the array of diagonals is in, and whether there is such a row."""
    rows = np.arange(lower + upper + 1)[:, None] - upper + np.arange(n)
    return np.clip(rows, 0, max(n - 1, 0)), (rows >= 0) & (rows < n)


def dense(lower: int, upper: int, ab: Any) -> Any:
    """The matrix of which the diagonals are given."""
    n = ab.shape[-1]
    rows = upper + np.arange(n)[:, None] - np.arange(n)
    inside = (rows >= 0) & (rows <= lower + upper)
    return np.where(inside, ab[np.clip(rows, 0, lower + upper), np.arange(n)], 0)


def diagonals(lower: int, upper: int, a: Any) -> Any:
    """The diagonals of a matrix, and zeros outside of it."""
    rows, inside = _rows(lower, upper, a.shape[-1])
    return np.where(inside, a[rows, np.arange(a.shape[-1])], 0)


def adjoint_bands(lower: int, upper: int, ab: Any) -> Any:
    """The diagonals of the adjoint matrix, which has `upper` ones below and `lower` ones above the main one."""
    n = ab.shape[-1]
    columns, inside = _rows(upper, lower, n)
    rows = upper + lower - np.arange(lower + upper + 1)[:, None]
    return np.where(inside, conj(ab[rows, columns]), 0)


def banded(lower, upper, ab, b):
    """The solution of systems with a matrix of which `lower + upper + 1` diagonals are given."""
    return sl.solve_banded((lower, upper), *same_type(ab, b), check_finite=False)


@rule(banded, reads=("out", "ab"), facts=Facts(static=("lower", "upper"), fails_on="singular"))
def banded(ct, out, lower, upper, ab, b):
    by_b = banded(upper, lower, adjoint_bands(lower, upper, ab), ct)
    rows, inside = _rows(lower, upper, ab.shape[-1])
    by_ab = np.where(inside, -np.sum(by_b[rows] * conj(out), axis=-1), 0)
    return None, None, fitted(by_ab, ab.shape, ab.dtype), fitted(by_b, b.shape, b.dtype)


def _solved(lower, upper, ab, b):
    if ab.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("shapes of ab and b are not compatible.")
    if lower + upper + 1 != ab.shape[-2]:
        raise ValueError(
            f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
            f"does not equal ab.shape[0] ({ab.shape[-2]})"
        )

    def solve(right):
        return over_batch(lambda one, other: banded(lower, upper, one, other), (ab, right), (2, 2))

    return as_columns(solve, b)


@stand_in(sl.solve_banded)
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    lower, upper = map(int, l_and_u)
    return _solved(lower, upper, *same_type(checked(ab, check_finite), checked(b, check_finite)))


def _hermitian_bands(ab, lower):
    """All diagonals of the Hermitian matrix of which those on one side of the main one, and this one, are given."""
    width = ab.shape[0] - 1
    diagonal = np.real(ab[:1] if lower else ab[width:])
    if lower:
        above = adjoint_bands(width, 0, ab)[:width]
        return np.concatenate([above, diagonal, ab[1:]])
    below = adjoint_bands(0, width, ab)[1:]
    return np.concatenate([ab[:width], diagonal, below])


@stand_in(sl.solveh_banded)
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    ab, b = same_type(checked(ab, check_finite), checked(b, check_finite))
    if known(ab) is not None:
        sl.cholesky_banded(known(ab), lower=lower, check_finite=False)  # Raises if it is not positive definite.
    width = ab.shape[-2] - 1
    return _solved(width, width, over_batch(lambda one: _hermitian_bands(one, lower), (ab,), (2,)), b)


def banded_factor(ab, lower):
    """The Cholesky factor of a matrix of which the diagonals on one side are given."""
    return sl.cholesky_banded(ab, lower=lower, check_finite=False)


@rule(banded_factor, reads=("out",), facts=Facts(static=("lower",), fails_on="not positive definite"))
def banded_factor(ct, out, ab, lower):
    below, above = (ab.shape[0] - 1, 0) if lower else (0, ab.shape[0] - 1)
    factor, by_factor = dense(below, above, out), dense(below, above, ct)
    cotangent = decompositions.cholesky.joint(by_factor, factor, None, upper=not lower)
    return fitted(diagonals(below, above, cotangent), ab.shape, ab.dtype)


@stand_in(sl.cholesky_banded)
def cholesky_banded(ab, overwrite_ab=False, lower=False, check_finite=True):
    """Where a diagonal lies outside of the matrix, the factor holds what `ab` holds, as in SciPy."""
    ab = checked(ab, check_finite)
    return over_batch(lambda one: _kept_outside(banded_factor(one, bool(lower)), one, lower), (ab,), (2,))


def _kept_outside(factor, ab, lower):
    width = ab.shape[0] - 1
    return np.where(_rows(*((width, 0) if lower else (0, width)), ab.shape[1])[1], factor, ab)


@stand_in(sl.cho_solve_banded)
def cho_solve_banded(cb_and_lower, b, overwrite_b=False, check_finite=True):
    cb, lower = cb_and_lower
    cb, b = same_type(checked(cb, check_finite), checked(b, check_finite))
    if cb.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("shapes of cb and b are not compatible.")
    width = cb.shape[-2] - 1
    below, above = (width, 0) if lower else (0, width)

    def solve(factor, right):
        other = adjoint_bands(below, above, factor)
        if lower:
            return banded(0, width, other, banded(width, 0, factor, right))
        return banded(0, width, factor, banded(width, 0, other, right))

    return as_columns(lambda right: over_batch(solve, (cb, right), (2, 2)), b)


def tridiagonal_eigen(d, e):
    """Eigenvalues and eigenvectors of a symmetric tridiagonal matrix."""
    return sl.eigh_tridiagonal(d, e, check_finite=False)


@rule(tridiagonal_eigen, reads=("out",), facts=Facts(precision="inexact"))
def tridiagonal_eigen(ct, out, d, e):
    matrix = hermitian_cotangent(*ct, *out)
    inner = np.arange(e.shape[0])
    by_d = matrix[np.arange(d.shape[0]), np.arange(d.shape[0])]
    return by_d, matrix[inner + 1, inner] + matrix[inner, inner + 1]


@stand_in(sl.eigh_tridiagonal)
def eigh_tridiagonal(
    d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):
    d, e = same_type(checked(d, check_finite), checked(e, check_finite))
    if d.ndim != 1 or e.ndim != 1:
        raise ValueError("expected a 1-D array")
    if d.dtype.kind == "c":
        raise TypeError("Only real arrays currently supported")
    if d.size != e.size + 1:
        raise ValueError(f"d ({d.size}) must have one more element than e ({e.size})")
    if select not in ("a", "all", 0, "i", "index", 2):
        refuse(f"scipy.linalg.eigh_tridiagonal with select={select!r} has no derivative here", "use select='i'")
    w, v = tridiagonal_eigen(d, e)
    if select not in ("a", "all", 0):
        first, last = map(int, select_range)
        w, v = w[first : last + 1], v[:, first : last + 1]
        if not eigvals_only:
            v = v * same_phase(v, sl.eigh_tridiagonal(*map(_plain, (d, e)), False, select, select_range)[1])
    return w if eigvals_only else (w, v)


def _plain(x):
    return must_be_known(x, "scipy.linalg.eigh_tridiagonal with select='i'", "signs of vectors depend on the numbers")


def same_phase(v: Any, like: Any) -> Any:
    """Numbers of absolute value one that turn the columns of `v` into those of `like`, as far as a phase can."""
    along = np.sum(np.conj(known(v)) * like, axis=-2, keepdims=True)
    size = np.abs(along)
    return np.where(size > 0, along / np.where(size > 0, size, 1), 1)


@stand_in(sl.eigvalsh_tridiagonal)
def eigvalsh_tridiagonal(d, e, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"):
    return eigh_tridiagonal(d, e, True, select, select_range, check_finite)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for lower, upper, n in ((1, 1, 4), (0, 2, 3), (2, 1, 4), (1, 1, 1)):
        ab, b = rng.normal(size=(lower + upper + 1, n)), rng.normal(size=(n, 2))
        ab[upper] += 4
        yield Case(banded.function, (lower, upper, ab, b))
        yield Case(banded.function, (lower, upper, ab * (1 + 0.2j), b[:, ::-1]))
    for lower in (True, False):
        ab = rng.normal(size=(3, 4))
        ab[0 if lower else 2] += 5
        yield Case(banded_factor.function, (ab, lower), loss=lambda cb, lower=lower: np.sum(dense_half(cb, lower)))
    yield Case(tridiagonal_eigen.function, (rng.normal(size=4), rng.normal(size=3)))


def dense_half(cb: Any, lower: bool) -> Any:
    """The factor of which the diagonals are given, its elements with different weights."""
    factor = dense(2, 0, cb) if lower else dense(0, 2, cb)
    return factor * np.arange(1.0, factor.size + 1).reshape(factor.shape)
