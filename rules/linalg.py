"""Linear systems, inverses, determinants, least squares, powers of matrices."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bridge.extend import Case, Facts, composed, nondifferentiable, rule
from bridge.rules.contractions import as_operand, fitted
from bridge.rules.decompositions import INEXACT, onto_triangle
from bridge.rules.products import adjoint
from bridge.rules.spectral import is_null, singular_values_cotangent, undifferentiated_zero

_SYSTEM = Facts(promotes=("a", "b"), precision="inexact", fails_on="singular")
_INVERSE = Facts(precision="inexact", fails_on="singular")


@rule(np.linalg.solve, reads=("out", "a"), facts=_SYSTEM)
def solve(ct, out, a, b):
    a, b = as_operand(a), as_operand(b)
    vector = b.ndim == 1
    columns, solution = (np.expand_dims(ct, -1), np.expand_dims(out, -1)) if vector else (ct, out)
    by_b = np.linalg.solve(adjoint(a), columns)
    by_a = -np.matmul(by_b, adjoint(solution))
    return fitted(by_a, a.shape, a.dtype), fitted(by_b[..., 0] if vector else by_b, b.shape, b.dtype)


@rule(np.linalg.inv, reads=("out",), facts=_INVERSE)
def inv(ct, out, a):
    return -np.matmul(np.matmul(adjoint(out), ct), adjoint(out))


def _adjugate(a):
    """Transposed cofactors of matrices of any rank.

    Those of `a` follow from the inverse of a regular `lifted = a + scale * u @ v` by the Sherman-Morrison formula and
    the matrix determinant lemma, where `u` and `v` are about the singular vectors of the smallest singular value.
    """
    # Any vectors do that make it regular: rounded ones are constants.
    vectors, s, covectors = np.linalg.svd(a)
    vectors, covectors = np.rint(2**20 * vectors) / 2**20, np.rint(2**20 * covectors) / 2**20
    u, v = vectors[..., -1:], covectors[..., -1:, :]
    null = is_null(s)
    largest = np.max(s, axis=-1, keepdims=True, initial=0)
    scale = np.expand_dims(np.where(largest == 0, 1, largest), -1)
    smallest = np.arange(s.shape[-1]) == s.shape[-1] - 1
    lifted = a + scale * np.matmul(np.where(np.expand_dims(null | smallest, -2), vectors, 0), covectors)
    inverse = np.linalg.inv(lifted)
    across = np.matmul(inverse, u)
    left = 1 - scale * np.matmul(v, across)
    adjugate = left * inverse + scale * np.matmul(across, np.matmul(v, inverse))
    adjugate = np.expand_dims(np.linalg.det(lifted), (-2, -1)) * adjugate
    # Below rank n - 1 cofactors are zero, but their derivatives are not, and are not to be had in this way.
    several = np.expand_dims(np.sum(null, axis=-1) > 1, (-2, -1))
    return np.where(several, undifferentiated_zero(adjugate, several), adjugate)


@rule(np.linalg.det, facts=INEXACT)
def det(ct, out, a):
    """The derivatives of a determinant are the cofactors: `det(a) * inv(a).T`, but singular matrices have them too."""
    singular = np.expand_dims(out == 0, (-2, -1))
    # Stands for matrices that the other formula is for; distinct singular values keep its vectors smooth.
    harmless = np.diag(np.linspace(1, 0.5, a.shape[-1], dtype=a.dtype))
    regular = np.expand_dims(out, (-2, -1)) * np.linalg.inv(np.where(singular, harmless, a))
    adjugate = np.where(singular, _adjugate(np.where(singular, a, harmless)), regular)
    return np.expand_dims(ct, (-2, -1)) * adjoint(adjugate)


@rule(np.linalg.slogdet, facts=INEXACT)
def slogdet(ct, out, a):
    """The sign of a complex determinant turns with the imaginary part of `trace(inv(a) @ da)`."""
    ct_sign, scale = ct
    if ct_sign is not None and a.dtype.kind == "c":
        along = ct_sign * np.conj(out[0])
        turning = (along - np.conj(along)) / 2
        scale = turning if scale is None else scale + turning
    return None if scale is None else np.expand_dims(scale, (-2, -1)) * adjoint(np.linalg.inv(a))


def _from_lower(a):
    """The Hermitian matrix of which the lower triangle of `a` is given."""
    n = a.shape[-1]
    folded = np.where(np.tri(n, k=-1, dtype=bool), a, adjoint(a))
    return np.where(np.eye(n, dtype=bool), np.real(a), folded)


@rule(np.linalg.pinv, facts=INEXACT)
def pinv(ct, out, a, rcond=None, hermitian=False, *, rtol=None):
    """Golub and Pereyra, "The differentiation of pseudo-inverses" (1973): the derivative at constant rank."""
    if a.size == 0:
        return np.zeros_like(a)
    a = _from_lower(a) if hermitian else a
    inverse, ct = adjoint(out), adjoint(ct)
    by_rows = np.matmul(ct, np.matmul(out, inverse))
    by_columns = np.matmul(np.matmul(inverse, out), ct)
    cotangent = -np.matmul(np.matmul(inverse, adjoint(ct)), inverse)
    cotangent = cotangent + by_rows - np.matmul(a, np.matmul(out, by_rows))
    cotangent = cotangent + by_columns - np.matmul(np.matmul(by_columns, out), a)
    return onto_triangle(cotangent, True) if hermitian else cotangent


@rule(np.linalg.lstsq, facts=Facts(promotes=("a", "b"), precision="inexact"))
def lstsq(ct, out, a, b, rcond=None):
    """The solution is `pinv(a) @ b`; where there are residuals, they are the least ones, so `x` does not move them."""
    ct_x, ct_residuals, _, ct_s = ct
    a, b = as_operand(a), as_operand(b)
    x, right = (np.expand_dims(v, -1) if b.ndim == 1 else v for v in (out[0], b))
    rest = right - np.matmul(a, x)
    by_a, by_b = np.zeros_like(a), np.zeros_like(rest)
    if ct_x is not None:
        ct_x = np.expand_dims(ct_x, -1) if b.ndim == 1 else ct_x
        precision = np.finfo(x.dtype).eps
        cutoff = precision * max(a.shape) if rcond is None else rcond if rcond >= 0 else precision
        inverse = np.linalg.pinv(a, rtol=cutoff)
        by_b = np.matmul(adjoint(inverse), ct_x)
        outside = ct_x - np.matmul(inverse, np.matmul(a, ct_x))
        by_a = np.matmul(rest, adjoint(np.matmul(inverse, by_b))) - np.matmul(by_b, adjoint(x))
        by_a = by_a + np.matmul(np.matmul(adjoint(inverse), x), adjoint(outside))
    if ct_residuals is not None and ct_residuals.shape[0]:
        weighted = 2 * ct_residuals * rest
        by_b = by_b + weighted
        by_a = by_a - np.matmul(weighted, adjoint(x))
    if ct_s is not None:
        by_a = by_a + singular_values_cotangent(ct_s, a)
    by_b = by_b[..., 0] if b.ndim == 1 else by_b
    return fitted(by_a, a.shape, a.dtype), fitted(by_b, b.shape, b.dtype)


@composed(np.linalg.matrix_power, facts=Facts(fails_on="singular"))
def matrix_power(a, n):
    if n == 0:
        return np.zeros_like(a) + np.eye(a.shape[-1])
    power, result = (a, None) if n > 0 else (np.linalg.inv(a), None)
    remaining = abs(n)
    while True:
        remaining, odd = divmod(remaining, 2)
        if odd:
            result = power if result is None else np.matmul(result, power)
        if not remaining:
            return result
        power = np.matmul(power, power)


@composed(np.linalg.tensorinv, facts=replace(_INVERSE, distinct=("a",), static=("ind",)))
def tensorinv(a, ind=2):
    matrix = np.reshape(a, (math.prod(a.shape[ind:]), -1))
    return np.reshape(np.linalg.inv(matrix), a.shape[ind:] + a.shape[:ind])


@composed(np.linalg.tensorsolve, facts=replace(_SYSTEM, distinct=("a",)))
def tensorsolve(a, b, axes=None):
    last = [] if axes is None else [k % a.ndim for k in axes]
    a = np.transpose(a, [k for k in range(a.ndim) if k not in last] + last)
    unknown = a.shape[b.ndim :]
    matrix = np.reshape(a, (b.size, math.prod(unknown)))
    return np.reshape(np.linalg.solve(matrix, np.ravel(b)), unknown)


@composed(np.linalg.cond, facts=INEXACT)
def cond(x, p=None):
    if p is None or p in (2, -2):
        s = np.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(x, p, (-2, -1)) * np.linalg.norm(np.linalg.inv(x), p, (-2, -1))


nondifferentiable(np.linalg.matrix_rank)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    for a, b in (((3, 3), (3,)), ((3, 3), (3, 2)), ((2, 3, 3), (3,)), ((2, 2, 2), (2, 3)), ((2, 2), (2, 2, 1))):
        yield Case(np.linalg.solve, (real(*a), real(*b)))
        yield Case(np.linalg.solve, (complex_(*a), real(*b)))
    yield Case(np.linalg.solve, (real(3, 3).T, complex_(6)[::2]))
    yield Case(np.linalg.solve, (real(2, 2).astype(np.float32), real(2).astype(np.float32)), tolerance=5e-2)
    for x in (real(3, 3), complex_(3, 3), real(2, 2, 2), real(4, 4)[::2, ::2], real(1, 1)):
        yield Case(np.linalg.inv, (x,))
        yield Case(np.linalg.det, (x,))
        yield Case(np.linalg.slogdet, (x,))
        for n in (-2, 0, 1, 3, 6):
            yield Case(np.linalg.matrix_power, (x, n))
    without_column = np.array([1.0, 1.0, 0.0])
    for x in (real(3, 3) * without_column, complex_(3, 3) * without_column):
        yield Case(np.linalg.det, (x,))
        yield Case(np.linalg.det, (np.stack([real(3, 3), x]),))
    for x in (real(3, 3), real(4, 2), complex_(2, 4), real(2, 3, 2)):
        yield Case(np.linalg.pinv, (x,))
        yield Case(np.linalg.cond, (x,), loss=lambda condition: np.sum(1 / condition))
    for x in (real(3, 3), complex_(3, 3)):
        yield Case(np.linalg.pinv, (x,), {"hermitian": True})
        for p in (-2, 1, np.inf, "fro"):
            yield Case(np.linalg.cond, (x, p))
    for a, b in (((4, 2), (4,)), ((4, 2), (4, 3)), ((2, 4), (2, 2)), ((3, 3), (3,))):
        yield Case(np.linalg.lstsq, (real(*a), real(*b)))
        yield Case(np.linalg.lstsq, (real(*a), complex_(*b)), {"rcond": -1})
    yield Case(np.linalg.lstsq, (complex_(4, 2), complex_(4)), loss=lambda found: np.sum(np.abs(found[0]) ** 2))
    yield Case(np.linalg.lstsq, (real(4, 2), real(4)), loss=lambda found: np.sum(found[1]))
    yield Case(np.linalg.tensorinv, (real(4, 2, 2),), {"ind": 1})
    yield Case(np.linalg.tensorinv, (real(2, 2, 4),))
    yield Case(np.linalg.tensorsolve, (real(4, 2, 2), real(4)))
    yield Case(np.linalg.tensorsolve, (complex_(2, 4, 2), real(4)), {"axes": (0, 2)})
