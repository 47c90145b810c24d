"""Linear systems of `scipy.linalg` with dense matrices: general, of a known structure, triangular, factored.

What a structure leaves unread has gradient zero. Arguments that may be overwritten keep their values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, known, needs, rule, stand_in
from bridge.rules.contractions import fitted
from bridge.rules.products import adjoint
from bridge.rules.scipy_arguments import checked, must_be_known, same_type, square

sl = needs("scipy.linalg")

_FORMS = {"N": 0, "T": 1, "C": 2, 0: 0, 1: 1, 2: 2}
_HERMITIAN = ("her", "hermitian")
_SYMMETRIC = ("sym", "symmetric")
_POSITIVE = ("pos", "positive definite")
_GENERAL = (None, "gen", "general", "banded")
_STRUCTURES = ("diagonal", "tridiagonal", "upper triangular", "lower triangular")


def triangular(a, b, lower, form, unit):
    """The solution of systems with triangular matrices; form 1 is of the transposed one, 2 of the adjoint one."""
    return sl.solve_triangular(a, b, form, lower, unit, check_finite=False)


@rule(triangular, reads=("out", "a"), facts=Facts(static=("lower", "form", "unit"), fails_on="singular"))
def triangular(ct, out, a, b, lower, form, unit):
    if form == 1:
        by_b = np.conj(triangular(a, np.conj(ct), lower, 0, unit))
        by_a = np.matmul(np.conj(out), np.swapaxes(by_b, -1, -2))
    else:
        by_b = triangular(a, ct, lower, 2 - form, unit)
        by_a = np.matmul(by_b, adjoint(out)) if form == 0 else np.matmul(out, adjoint(by_b))
    mask = np.tri(a.shape[-1], k=-1 if unit else 0, dtype=bool)
    by_a = np.where(mask if lower else mask.T, -by_a, 0)
    return fitted(by_a, a.shape, a.dtype), fitted(by_b, b.shape, b.dtype)


def as_columns(solve: Any, b: Any) -> Any:
    """`solve` of `b` as a matrix of right sides; a single one, a vector, gives a vector."""
    return solve(np.expand_dims(b, -1))[..., 0] if b.ndim == 1 else solve(b)


def fits(a: Any, b: Any) -> None:
    """Raise SciPy's ValueError for right sides that have not as many rows as the matrix has columns."""
    if a.shape[-1] != (b.shape[0] if b.ndim == 1 else b.shape[-2]):
        raise ValueError(f"shapes of a {a.shape} and b {b.shape} are incompatible")


@stand_in(sl.solve_triangular)
def solve_triangular(a, b, trans=0, lower=False, unit_diagonal=False, overwrite_b=False, check_finite=True):
    a, b = same_type(square(a, check_finite), checked(b, check_finite))
    fits(a, b)
    return as_columns(lambda right: triangular(a, right, bool(lower), _FORMS[trans], bool(unit_diagonal)), b)


def _from_triangle(a, lower, hermitian):
    """The matrix of which a triangle is given."""
    n = a.shape[-1]
    other = adjoint(a) if hermitian else np.swapaxes(a, -1, -2)
    strict = np.tri(n, k=-1, dtype=bool)
    whole = np.where(strict if lower else strict.T, a, other)
    diagonal = np.real(a) if hermitian else a
    return np.where(np.eye(n, dtype=bool), diagonal, whole)


def structured(a: Any, assume_a: Any, lower: Any) -> Any:
    """The matrix that is meant where `a` is said to have a structure."""
    if assume_a not in (*_GENERAL, *_STRUCTURES, *_POSITIVE, *_SYMMETRIC, *_HERMITIAN):
        raise ValueError(f"{assume_a} is not a recognized matrix structure")
    n = a.shape[-1]
    if assume_a in _GENERAL:
        return a
    if assume_a in _STRUCTURES:
        from_lower, to_upper = {"diagonal": (0, 0), "tridiagonal": (1, 1), "upper triangular": (0, n)}.get(
            assume_a, (n, 0)
        )
        offset = np.arange(n) - np.arange(n)[:, None]
        return np.where((offset >= -from_lower) & (offset <= to_upper), a, 0)
    return _from_triangle(a, lower, assume_a not in _SYMMETRIC)


@stand_in(sl.solve)
def solve(a, b, lower=False, overwrite_a=False, overwrite_b=False, check_finite=True, assume_a=None, transposed=False):
    a, b = same_type(checked(a, check_finite), checked(b, check_finite))
    a = square(np.reshape(a, (1, -1)) if a.ndim < 2 else a, False)
    b = np.reshape(b, (1,)) if b.ndim == 0 else b
    if transposed and a.dtype.kind == "c":
        raise NotImplementedError(
            "scipy.linalg.solve can currently not solve a^T x = b or a^H x = b for complex matrices."
        )
    meant = structured(a, assume_a, lower)
    if a.size == 1:
        if known(a) is not None and known(a).item() == 0:
            raise np.linalg.LinAlgError("A singular matrix detected.")
        return as_columns(lambda right: right / meant, b)
    fits(a, b)
    if assume_a in _POSITIVE:
        factor = np.linalg.cholesky(a, upper=not lower)
        return as_columns(lambda right: _twice(factor, bool(lower), right), b)
    if assume_a in _STRUCTURES[2:]:
        is_lower = assume_a == "lower triangular"
        return as_columns(lambda right: triangular(a, right, is_lower, int(transposed), False), b)
    meant = np.swapaxes(meant, -1, -2) if transposed else meant
    return as_columns(lambda right: np.linalg.solve(meant, right), b)


def _twice(factor, lower, b):
    """The solution of a system whose matrix is the product of a triangular factor and its adjoint."""
    first, second = (0, 2) if lower else (2, 0)
    return triangular(factor, triangular(factor, b, lower, first, False), lower, second, False)


@stand_in(sl.cholesky)
def cholesky(a, lower=False, overwrite_a=False, check_finite=True):
    return np.linalg.cholesky(square(a, check_finite), upper=not lower)


_KEEPS_THE_REST = bool(sl.cho_factor(np.array([[1.0, 0.5], [0.5, 1.0]]))[0][1, 0])
"""Whether the other triangle of SciPy's factor holds what the matrix does, as before SciPy 1.18, and no zeros."""
_RESIDUALS = sl.lstsq(np.eye(3, 2, dtype=complex), np.ones(3))[1].dtype
"""Of what dtype the sums of squares of complex residuals are: complex since SciPy 1.18."""
_UNKNOWN_RESIDUALS = bool(sl.lstsq(np.ones((3, 2)), np.ones(3))[1].size)
"""Whether the residuals of a tall matrix without full rank are NaN, as since SciPy 1.18, and not left out."""


def factor_beside(a, lower):
    """Cholesky's factor in one triangle, and what `a` holds in the other one."""
    kept = np.tri(a.shape[-1], dtype=bool)
    return np.where(kept if lower else kept.T, np.linalg.cholesky(a, upper=not lower), a)


@stand_in(sl.cho_factor)
def cho_factor(a, lower=False, overwrite_a=False, check_finite=True):
    a = square(a, check_finite)
    # Since SciPy 1.18 an array says which triangle it is.
    which = sl.cho_factor(np.eye(1), lower)[1]
    return factor_beside(a, lower) if _KEEPS_THE_REST else np.linalg.cholesky(a, upper=not lower), which


@stand_in(sl.cho_solve)
def cho_solve(c_and_lower, b, overwrite_b=False, check_finite=True):
    c, lower = c_and_lower
    c, b = same_type(square(c, check_finite), checked(b, check_finite))
    fits(c, b)
    return as_columns(lambda right: _twice(c, bool(lower), right), b)


@stand_in(sl.inv)
def inv(a, overwrite_a=False, check_finite=True, *, assume_a=None, lower=False):
    a = square(a, check_finite)
    if assume_a in _POSITIVE and known(a) is not None:
        np.linalg.cholesky(known(a), upper=not lower)
    return np.linalg.inv(structured(a, assume_a, lower))


@stand_in(sl.det)
def det(a, overwrite_a=False, check_finite=True):
    return np.linalg.det(square(a, check_finite))


def _cutoff(a, s, atol, rtol):
    """Relative size of singular values that a pseudo-inverse takes for zero: SciPy's tolerances, of the largest one."""
    rtol = max(a.shape[-2:]) * np.finfo(a.dtype).eps if rtol is None else rtol
    if not atol:
        return rtol
    largest = np.max(s, axis=-1, initial=0)
    return rtol + atol / np.where(largest == 0, 1, largest)


def _pseudo_inverse(a, atol, rtol, return_rank, hermitian):
    if a.size == 0 or not (atol or return_rank):
        inverse = np.linalg.pinv(a, rtol=_cutoff(a, None, None, rtol), hermitian=hermitian)
        return (inverse, 0) if return_rank else inverse
    s = np.linalg.svdvals(must_be_known(a, "scipy.linalg.pinv", "a tolerance and the rank depend on singular values"))
    cutoff = _cutoff(a, s, atol, rtol)
    inverse = np.linalg.pinv(a, rtol=cutoff, hermitian=hermitian)
    return (inverse, np.sum(s > np.expand_dims(cutoff * s[..., 0], -1), axis=-1)) if return_rank else inverse


@stand_in(sl.pinv)
def pinv(a, *, atol=None, rtol=None, return_rank=False, check_finite=True):
    return _pseudo_inverse(checked(a, check_finite), atol, rtol, return_rank, False)


@stand_in(sl.pinvh)
def pinvh(a, atol=None, rtol=None, lower=True, return_rank=False, check_finite=True):
    a = square(a, check_finite)
    return _pseudo_inverse(a if lower else adjoint(a), atol, rtol, return_rank, True)


@stand_in(sl.lstsq)
def lstsq(a, b, cond=None, overwrite_a=False, overwrite_b=False, check_finite=True, lapack_driver=None):
    a, b = same_type(checked(a, check_finite), checked(b, check_finite))
    if lapack_driver not in (None, "gelsd", "gelsy", "gelss"):
        raise ValueError(f'LAPACK driver "{lapack_driver}" is not found')
    if a.ndim > 2:
        raise NotImplementedError("lstsq of a batch of tracked matrices: call it for each of them")
    x, residuals, rank, s = np.linalg.lstsq(a, b, rcond=np.finfo(a.dtype).eps if cond is None else cond)
    if _UNKNOWN_RESIDUALS and residuals.size == 0 and a.shape[0] > a.shape[1] and lapack_driver != "gelsy":
        residuals = np.full(b.shape[1:] or (1,), np.nan, s.dtype)
    if lapack_driver == "gelsy" or residuals.size == 0:
        return x, np.zeros(0, x.dtype), rank, None if lapack_driver == "gelsy" else s
    if x.dtype.kind == "c":
        residuals = residuals.astype(np.promote_types(residuals.dtype, _RESIDUALS))
    return x, residuals[0] if b.ndim == 1 else residuals, rank, s


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for a, b in (((3, 3), (3, 2)), ((2, 3, 3), (3, 1)), ((2, 2), (2, 2, 1))):
        a, b = rng.normal(size=a) + 3 * np.eye(a[-1]), rng.normal(size=b)
        for form in (0, 1, 2):
            for lower, unit in ((True, False), (False, False), (True, True)):
                yield Case(triangular.function, (a, b, lower, form, unit))
                yield Case(triangular.function, (a * (1 + 0.3j), b, lower, form, unit))
