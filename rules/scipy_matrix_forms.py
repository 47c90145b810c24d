"""Matrices that `scipy.linalg` makes of vectors or other matrices; systems with Toeplitz and circulant ones; norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, as_array, conj, known, needs, rule, stand_in, zeros
from bridge.rules.contractions import fitted
from bridge.rules.products import adjoint
from bridge.rules.scipy_arguments import checked, must_be_known, must_be_matrices, over_batch, same_type
from bridge.rules.scipy_systems import as_columns

sl = needs("scipy.linalg")


def _vector(x: Any) -> Any:
    x = as_array(x)
    return np.reshape(x, (1,)) if x.ndim == 0 else x


def _offsets(rows, columns):
    return np.arange(rows)[:, None] - np.arange(columns)


@stand_in(sl.toeplitz)
def toeplitz(c, r=None):
    c = _vector(c)
    r = conj(c) if r is None else _vector(r)

    def one(c, r):
        values = np.concatenate([c[::-1], r[1:]])
        return values[c.shape[0] - 1 - _offsets(c.shape[0], r.shape[0])]

    return over_batch(one, (c, r), (1, 1))


@stand_in(sl.circulant)
def circulant(c):
    c = _vector(c)
    n = c.shape[-1]
    return c[..., _offsets(n, n) % max(n, 1)]


@stand_in(sl.hankel)
def hankel(c, r=None):
    c = np.ravel(as_array(c))
    r = zeros(c.shape, like=c) if r is None else np.ravel(as_array(r))
    values = np.concatenate([c, r[1:]])
    return values[np.arange(c.shape[0])[:, None] + np.arange(r.shape[0])]


@stand_in(sl.companion)
def companion(a):
    a = _vector(a)
    n = a.shape[-1]
    if n < 2:
        raise ValueError("The length of `a` along the last axis must be at least 2.")
    if known(a) is not None and np.any(known(a)[..., 0] == 0):
        raise ValueError("The first coefficient(s) of `a` (i.e. elements of `a[..., 0]`) must not be zero.")
    first = np.expand_dims(-a[..., 1:] / (1.0 * a[..., :1]), -2)
    rest = np.broadcast_to(np.eye(n - 2, n - 1, dtype=first.dtype), (*a.shape[:-1], n - 2, n - 1))
    return np.concatenate([first, rest], axis=-2)


@stand_in(sl.leslie)
def leslie(f, s):
    f, s = same_type(_vector(f), _vector(s))
    if f.shape[-1] != s.shape[-1] + 1:
        raise ValueError("Incorrect lengths for f and s. The length of s must be one less than the length of f.")

    def one(f, s):
        below = np.concatenate([np.diag(s), zeros((s.shape[0], 1), like=s)], axis=1)
        return np.concatenate([f[None], below])

    return over_batch(one, (f, s), (1, 1))


@stand_in(sl.fiedler)
def fiedler(a):
    a = _vector(a)
    return np.abs(a[..., :, None] - a[..., None, :])


@stand_in(sl.convolution_matrix)
def convolution_matrix(a, n, mode="full"):
    a = as_array(a)
    if n <= 0:
        raise ValueError("n must be a positive integer.")
    if mode not in ("full", "valid", "same"):
        raise ValueError("'mode' argument must be one of ('full', 'valid', 'same')")
    length = a.shape[-1]
    cut = {"full": 0, "same": min(n, length) - 1, "valid": 2 * (min(n, length) - 1)}[mode]
    first, rows = cut // 2, length + n - 1 - cut
    taps = first + _offsets(rows, n)
    inside = (taps >= 0) & (taps < length)
    return np.where(inside, a[..., np.clip(taps, 0, length - 1)], 0)


@stand_in(sl.block_diag)
def block_diag(*arrs):
    blocks = [as_array(x) for x in arrs]
    blocks = list(same_type(*(np.reshape(x, (1,) * (2 - x.ndim) + x.shape) for x in blocks)))
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in blocks))
    width, left, rows = sum(x.shape[-1] for x in blocks), 0, []
    for block in blocks:
        block = np.broadcast_to(block, batch + block.shape[-2:])
        height, own = block.shape[-2:]
        before = np.zeros((*batch, height, left), block.dtype)
        after = np.zeros((*batch, height, width - left - own), block.dtype)
        rows.append(np.concatenate([before, block, after], axis=-1))
        left += own
    return np.concatenate(rows, axis=-2)


@stand_in(sl.khatri_rao)
def khatri_rao(a, b):
    a, b = as_array(a), as_array(b)
    if a.ndim != 2 or b.ndim != 2:
        raise ValueError("The both arrays should be 2-dimensional.")
    if a.shape[1] != b.shape[1]:
        raise ValueError("The number of columns for both arrays should be equal.")
    return np.reshape(a[:, None] * b[None], (-1, a.shape[1]))


@stand_in(sl.diagsvd)
def diagsvd(s, M, N):
    s = as_array(s)
    if s.shape[0] not in (M, N):
        raise ValueError("Length of s must be M or N.")
    return np.pad(np.diag(s), ((0, M - s.shape[0]), (0, N - s.shape[0])))


@stand_in(sl.norm)
def norm(a, ord=None, axis=None, keepdims=False, check_finite=True):
    return np.linalg.norm(checked(a, check_finite), ord, axis, keepdims)


@stand_in(sl.issymmetric)
def issymmetric(a, atol=None, rtol=None):
    return sl.issymmetric(must_be_known(a, "scipy.linalg.issymmetric", "it depends on the numbers"), atol, rtol)


@stand_in(sl.ishermitian)
def ishermitian(a, atol=None, rtol=None):
    return sl.ishermitian(must_be_known(a, "scipy.linalg.ishermitian", "it depends on the numbers"), atol, rtol)


def toeplitz_system(c, r, b):
    """The solution of systems with the Toeplitz matrix that has first column `c` and first row `r`."""
    must_be_matrices(b)
    return sl.solve_toeplitz((c, r), b, check_finite=False)


@rule(toeplitz_system, reads=("out", "c", "r"), facts=Facts(precision="inexact", fails_on="singular"))
def toeplitz_system(ct, out, c, r, b):
    if out.shape[0] == 0:
        return tuple(np.zeros(x.shape, x.dtype) for x in (c, r, b))
    row = np.concatenate([c[:1], r[1:]])
    by_b = toeplitz_system(conj(row), conj(c), ct)
    along = _diagonal_sums(-np.matmul(by_b, adjoint(out)))
    n = c.shape[0]
    by_r = np.concatenate([zeros((1,), like=along), along[: n - 1][::-1]])
    by_c = along[n - 1 :]
    return tuple(fitted(by, x.shape, x.dtype) for by, x in ((by_c, c), (by_r, r), (by_b, b)))


def _diagonal_sums(a):
    """Sums over the diagonals of a square matrix, from the last column's corner to the last row's."""
    n = a.shape[0]
    flat = np.ravel(np.concatenate([a[:, ::-1], zeros(a.shape, like=a)], axis=1))[: 2 * n * n - n]
    return np.sum(np.reshape(flat, (n, 2 * n - 1)), axis=0)


def _column_and_row(c_or_cr, check_finite):
    c, r = c_or_cr if isinstance(c_or_cr, tuple) else (c_or_cr, None)
    c = checked(c, check_finite)
    return c, conj(c) if r is None else checked(r, check_finite)


@stand_in(sl.solve_toeplitz)
def solve_toeplitz(c_or_cr, b, check_finite=True):
    c, r = _column_and_row(c_or_cr, check_finite)
    c, r, b = same_type(c, r, checked(b, check_finite))
    if c.shape[-1] != r.shape[-1] or c.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError("Incompatible dimensions.")
    return as_columns(lambda right: over_batch(toeplitz_system, (c, r, right), (1, 1, 2)), b)


@stand_in(sl.matmul_toeplitz)
def matmul_toeplitz(c_or_cr, x, check_finite=False, workers=None):
    c, r = _column_and_row(c_or_cr, check_finite)
    return as_columns(lambda right: np.matmul(toeplitz(c, r), right), checked(x, check_finite))


@stand_in(sl.solve_circulant)
def solve_circulant(c, b, singular="raise", tol=None, caxis=-1, baxis=0, outaxis=0):
    c, b = checked(_vector(c), False), checked(_vector(b), False)
    if c.shape[caxis] != b.shape[baxis]:
        raise ValueError(f"Shapes of c {c.shape} and b {b.shape} are incompatible")
    if singular not in ("raise", "lstsq"):
        raise ValueError(f"invalid singular={singular!r}")
    spectrum = np.fft.fft(np.moveaxis(c, caxis, -1), axis=-1)
    size = must_be_known(np.abs(spectrum), "scipy.linalg.solve_circulant", "it may be singular, by its numbers")
    if tol is None:
        tol = np.max(size, axis=-1, keepdims=True) * c.shape[caxis] * np.finfo(np.float64).eps
    vanishing = size <= tol
    if np.any(vanishing) and singular == "raise":
        raise np.linalg.LinAlgError("near singular circulant matrix.")
    right = np.fft.fft(np.moveaxis(b, baxis, -1), axis=-1)
    x = np.fft.ifft(np.where(vanishing, 0, right / np.where(vanishing, 1, spectrum)), axis=-1)
    if c.dtype.kind != "c" and b.dtype.kind != "c":
        x = np.real(x)
    return x if outaxis == -1 else np.moveaxis(x, -1, outaxis)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    for n in (1, 3, 4):
        c, r, b = rng.normal(size=n), rng.normal(size=n), rng.normal(size=(n, 2))
        c[0] = r[0] = 5
        yield Case(toeplitz_system.function, (c, r, b))
        yield Case(toeplitz_system.function, (c * (1 + 0.3j), r, b))
