"""Decompositions with triangular factors: Cholesky and QR.

Where a triangle of a matrix stands for a Hermitian one, that triangle gets the whole gradient. The columns that
complete a unitary factor are defined up to a rotation: a loss that depends on it has gradient NaN.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, RefusedError, rule, zeros
from bridge.rules.contractions import fitted
from bridge.rules.products import adjoint

INEXACT = Facts(precision="inexact")


def factor_solved(a, b, upper):
    """The solution of systems with a triangular factor; what lies in the other triangle is not read."""
    return np.linalg.solve(np.triu(a) if upper else np.tril(a), b)


@rule(factor_solved, reads=("out", "a"), facts=Facts(static=("upper",), precision="inexact", fails_on="singular"))
def factor_solved(ct, out, a, b, upper):
    by_b = factor_solved(adjoint(a), ct, not upper)
    triangle = np.tri(a.shape[-1], dtype=bool)
    by_a = np.where(triangle.T if upper else triangle, -np.matmul(by_b, adjoint(out)), 0)
    return fitted(by_a, a.shape, a.dtype), fitted(by_b, b.shape, b.dtype)


def _transposed_solve(a, b):
    """`b @ inv(a)`."""
    return adjoint(np.linalg.solve(adjoint(a), adjoint(b)))


def onto_triangle(ct: Any, lower: bool) -> Any:
    """Cotangent of the triangle that stands for a Hermitian matrix, given the cotangent of that matrix.

    The other triangle and the imaginary part of the diagonal are not read by the functions that take such matrices.
    """
    strict = np.tri(ct.shape[-1], k=-1, dtype=bool)
    folded = np.where(strict if lower else strict.T, ct + adjoint(ct), 0)
    return np.where(np.eye(ct.shape[-1], dtype=bool), np.real(ct), folded)


def _upper_half(x):
    """The upper triangle, with half of the real part of the diagonal."""
    n = x.shape[-1]
    return np.where(np.eye(n, dtype=bool), np.real(x) / 2, np.where(np.tri(n, dtype=bool).T, x, 0))


@rule(np.linalg.cholesky, reads=("out",), facts=Facts(precision="inexact", fails_on="not positive definite"))
def cholesky(ct, out, a, *, upper=False):
    """Murray, "Differentiation of the Cholesky decomposition" (2016), section 3."""
    factor, ct = (out, ct) if upper else (adjoint(out), adjoint(ct))
    half = adjoint(_upper_half(np.matmul(ct, adjoint(factor))))
    product = factor_solved(factor, adjoint(factor_solved(factor, adjoint(half), True)), True)
    return onto_triangle(product, not upper)


def negligible(x: Any, *cotangents: Any) -> Any:
    """Where `x`, made of these cotangents, is zero up to rounding."""
    largest = sum(np.max(np.abs(ct), axis=(-2, -1), keepdims=True, initial=0) for ct in cotangents)
    return np.abs(x) <= np.sqrt(np.finfo(x.dtype).eps) * largest


def kept_columns(basis: Any, ct: Any, rank: int) -> tuple[Any, Any]:
    """The first columns of a unitary matrix, and the cotangent of all of them as one of these.

    The other columns are any basis of the complement: what they span follows the first ones.
    """
    kept, rest = basis[..., :rank], basis[..., rank:]
    if ct is None or rest.shape[-1] == 0:
        return kept, ct
    ct_kept, ct_rest = ct[..., :rank], ct[..., rank:]
    turning = np.matmul(adjoint(rest), ct_rest)
    free = np.all(negligible(turning - adjoint(turning), ct), axis=(-2, -1), keepdims=True)
    return kept, np.where(free, ct_kept - np.matmul(rest, np.matmul(adjoint(ct_rest), kept)), np.nan)


def _exactly_singular(r):
    """A triangular factor with zero where it is zero up to rounding: no derivative, and solving with it raises."""
    n = r.shape[-1]
    columns = np.max(np.abs(r), axis=-2, keepdims=True, initial=0)
    noise = np.eye(n, dtype=bool) & (np.abs(r) <= 10 * n * np.finfo(r.dtype).eps * columns)
    return np.where(noise, 0, r)


@rule(np.linalg.qr, facts=INEXACT)
def qr(ct, out, a, mode="reduced"):
    """Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2012); wide matrices by blocks."""
    if mode not in ("reduced", "complete", "r"):
        raise RefusedError(f"np.linalg.qr with mode={mode!r} has no derivative here", remedy='use mode="reduced"')
    if mode == "r":
        (q, r), (ct_q, ct_r) = np.linalg.qr(a), (None, ct)
    else:
        (q, r), (ct_q, ct_r) = out, ct
    rows, columns = a.shape[-2:]
    rank = min(rows, columns)
    q, ct_q = kept_columns(q, ct_q, rank)
    r = r[..., :rank, :]
    ct_r = zeros(r.shape, like=ct_q) if ct_r is None else ct_r[..., :rank, :]
    ct_q = zeros(q.shape, like=ct_r) if ct_q is None else ct_q
    # In a wide matrix the columns beyond the square part are q @ r there.
    beyond = ct_r[..., rank:]
    ct_q = ct_q + np.matmul(q, np.matmul(r[..., rank:], adjoint(beyond)))
    square = _exactly_singular(r[..., :rank])
    half = _upper_half(np.matmul(ct_r[..., :rank], adjoint(square)) - np.matmul(adjoint(q), ct_q))
    cotangent = _transposed_solve(adjoint(square), ct_q + np.matmul(q, half + adjoint(half)))
    return cotangent if rank == columns else np.concatenate([cotangent, np.matmul(q, beyond)], axis=-1)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    def definite(x):
        return x @ adjoint(x) + np.eye(x.shape[-1])

    def projector(factors):
        """Of the complement that a complete decomposition adds, only the projector onto it is defined."""
        added = factors[0][..., 2:]
        weights = np.arange(float(added.shape[-2] ** 2)).reshape(added.shape[-2], -1)
        return np.sum(np.real(added @ adjoint(added)) * weights) + np.sum(np.real(factors[0][..., :2]))

    for x in (real(3, 3), complex_(3, 3), real(2, 2, 2), real(1, 1)):
        yield Case(np.linalg.cholesky, (definite(x),))
        yield Case(np.linalg.cholesky, (definite(x),), {"upper": True})
        yield Case(factor_solved.function, (np.linalg.cholesky(definite(x)), x, False))
    yield Case(factor_solved.function, (np.triu(real(3, 3)) + 3 * np.eye(3), real(3, 2), True))
    # Only a triangle is read: the other one need not fit.
    yield Case(np.linalg.cholesky, (definite(real(3, 3)) + np.triu(complex_(3, 3), 1),))
    yield Case(np.linalg.cholesky, (definite(real(2, 2)).astype(np.float32),), tolerance=1e-2)
    for x in (real(3, 3), real(4, 2), real(2, 4), complex_(4, 2), complex_(2, 3), real(2, 3, 2), real(3, 4).T):
        yield Case(np.linalg.qr, (x,))
        yield Case(np.linalg.qr, (x, "r"))
    yield Case(np.linalg.qr, (real(4, 2),), {"mode": "complete"}, loss=projector)
    yield Case(np.linalg.qr, (complex_(4, 2), "complete"), loss=projector)
    yield Case(np.linalg.qr, (real(2, 3), "complete"))
    yield Case(np.linalg.qr, (real(2, 2),), loss=lambda factors: np.sum(factors[0] * np.arange(4.0).reshape(2, 2)))
    yield Case(np.linalg.qr, (real(2, 2),), loss=lambda factors: np.sum(factors[1] * np.arange(4.0).reshape(2, 2)))
