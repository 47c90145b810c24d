"""Eigenvalues and eigenvectors, singular values and singular vectors.

Vectors are defined up to a gauge: phases, bases of equal values, of null spaces. A loss that does not depend on
the gauge has a gradient. Among vectors of equal values it meets quotients 0/0, which are 0 if the loss does not
see how these vectors mix; where the cotangents leave that open, or the loss does depend on the gauge, the gradient
is NaN and never a number. Of the values alone, sorted ones always have a gradient: equal values share it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, rule
from bridge.rules.decompositions import INEXACT, kept_columns, negligible, onto_triangle
from bridge.rules.products import adjoint


def undifferentiated_zero(x: Any, where: Any) -> Any:
    """Zero that says in forward mode and second order that, `where` this holds, there is no derivative by `x`."""
    return np.where(where, np.sqrt(np.where(where, 0 * x, 1)), 0)


def _quotient(numerator, denominator, vanishing, unseen, phases=False):
    """`numerator / denominator`; where the denominator is `vanishing`, 0 if the loss has `unseen` it, else NaN.

    That 0 has no derivative, except at `phases`, which may be chosen.
    """
    zero = undifferentiated_zero(numerator, vanishing & np.logical_not(phases))
    ratio = numerator / np.where(vanishing, 1, denominator)
    return np.where(vanishing, np.where(unseen, zero, np.nan), ratio)


def _resolution(values):
    """How far apart eigenvalues or singular values must be to be told apart, with two axes for the pairs."""
    largest = np.max(np.abs(values), axis=-1, keepdims=True, initial=0)
    return np.expand_dims(10 * values.shape[-1] * np.finfo(values.dtype).eps * largest, -1)


def is_null(s: Any) -> Any:
    """Where singular values are zero up to rounding."""
    return 2 * s <= _resolution(s)[..., 0]


def _gaps(values):
    """`values[j] - values[i]` at position `[i, j]`, and where it is zero up to rounding."""
    gaps = np.expand_dims(values, -2) - np.expand_dims(values, -1)
    return gaps, np.abs(gaps) <= _resolution(values)


def _shared(ct, equal):
    """Cotangents of values, the mean of them among `equal` ones."""
    return np.sum(np.where(equal, np.expand_dims(ct, -2), 0), axis=-1) / np.sum(equal, axis=-1, dtype=ct.real.dtype)


def _on_diagonal(values):
    return np.where(np.eye(values.shape[-1], dtype=bool), np.expand_dims(values, -2), 0)


def _mixing(x):
    """How much a loss sees of each vector along each other one, given the cotangents' components `x`."""
    return np.where(np.eye(x.shape[-1], dtype=bool), 0, np.abs(x) + np.abs(adjoint(x)))


def _unused(ct):
    """For each matrix, whether the cotangent of its vectors is all zero, with an axis for the vectors."""
    return np.expand_dims(np.all(ct == 0, axis=(-2, -1)), -1)


def hermitian_cotangent(ct_w: Any, ct_v: Any, w: Any, v: Any) -> Any:
    """Cotangent of a Hermitian matrix through its eigenvalues `w` and eigenvectors `v`; either may have none."""
    gaps, equal = _gaps(w)
    if ct_v is None:
        return np.matmul(v * np.expand_dims(_shared(ct_w, equal), -2), adjoint(v))
    x = np.matmul(adjoint(v), ct_v)
    skew = (x - adjoint(x)) / 2
    unseen = negligible(np.abs(skew) + _mixing(x), ct_v)
    inner = _quotient(skew, gaps, equal, unseen, np.eye(w.shape[-1], dtype=bool))
    if ct_w is not None:
        inner = inner + _on_diagonal(np.where(_unused(ct_v), _shared(ct_w, equal), ct_w))
    return np.matmul(np.matmul(v, inner), adjoint(v))


@rule(np.linalg.eigh, reads=("out",), facts=INEXACT)
def eigh(ct, out, a, UPLO="L"):
    return onto_triangle(hermitian_cotangent(*ct, *out), UPLO.upper() == "L")


@rule(np.linalg.eigvalsh, facts=INEXACT)
def eigvalsh(ct, out, a, UPLO="L"):
    w, v = np.linalg.eigh(a, UPLO)
    return onto_triangle(hermitian_cotangent(ct, None, w, v), UPLO.upper() == "L")


def _with_phase(ct, v):
    """Cotangent of eigenvectors whose largest component LAPACK has made real, as one of vectors of any phase."""
    components = np.arange(v.shape[-1]).reshape(-1, 1)
    largest = components == np.expand_dims(np.argmax(np.abs(v), axis=-2), -2)
    turn = np.imag(np.sum(np.conj(v) * ct, axis=-2, keepdims=True))
    return ct - np.where(largest, 1j * turn / np.where(largest, v, 1), 0)


def _general_cotangent(ct_w, ct_v, w, v):
    """Cotangent of a matrix through its eigenvalues and its eigenvectors of unit length; either may have none."""
    gaps, equal = _gaps(w)
    if ct_v is None:
        inner = _on_diagonal(ct_w)
    else:
        ct_v = _with_phase(ct_v, v) if v.dtype.kind == "c" else ct_v
        x = np.matmul(adjoint(v), ct_v)
        lengths = np.sum(np.where(np.eye(w.shape[-1], dtype=bool), np.real(x), 0), axis=-2, keepdims=True)
        turning = x - np.matmul(adjoint(v), v) * lengths
        unseen = negligible(np.abs(turning) + _mixing(x), ct_v)
        inner = _quotient(turning, np.conj(gaps), equal, unseen, np.eye(w.shape[-1], dtype=bool))
        if ct_w is not None:
            inner = inner + _on_diagonal(ct_w)
    return np.linalg.solve(adjoint(v), np.matmul(inner, adjoint(v)))


@rule(np.linalg.eig, reads=("out",), facts=INEXACT)
def eig(ct, out, a):
    cotangent = _general_cotangent(*ct, *out)
    return cotangent if a.dtype.kind == "c" else np.real(cotangent)


@rule(np.linalg.eigvals, facts=INEXACT)
def eigvals(ct, out, a):
    w, v = np.linalg.eig(a)
    # Without vectors LAPACK takes another path, which may find the eigenvalues in another order.
    apart = np.abs(np.expand_dims(out, -1) - np.expand_dims(w, -2))
    apart = np.where(np.eye(w.shape[-1], dtype=bool), apart, apart + _resolution(w))
    same = np.expand_dims(np.argmin(apart, axis=-1), -1) == np.arange(w.shape[-1])
    ct_w = np.sum(np.where(same, np.expand_dims(ct, -1), 0), axis=-2)
    cotangent = _general_cotangent(ct_w, None, w, v)
    return cotangent if a.dtype.kind == "c" else np.real(cotangent)


def singular_cotangent(ct_u: Any, ct_s: Any, ct_v: Any, u: Any, s: Any, v: Any) -> Any:
    """Cotangent of a matrix through its thin singular value decomposition; any of the three may have none.

    The quotients are those of Townsend, "Differentiating the singular value decomposition" (2016), with
    `s[j]**2 - s[i]**2` split into its factors, which neither overflow nor cancel.
    """
    gaps, equal = _gaps(s)
    sums = np.expand_dims(s, -2) + np.expand_dims(s, -1)
    null = sums <= _resolution(s)
    vanishing = is_null(s)
    # A value at zero is the kink of an absolute value.
    shared = None if ct_s is None else np.where(vanishing, 0, _shared(ct_s, equal))
    if ct_u is None and ct_v is None:
        return np.matmul(u * np.expand_dims(shared, -2), adjoint(v))
    ct_u = np.zeros_like(u) if ct_u is None else ct_u
    ct_v = np.zeros_like(v) if ct_v is None else ct_v
    x, y = np.matmul(adjoint(u), ct_u), np.matmul(adjoint(v), ct_v)
    along, across = (x - adjoint(x)) / 2, (y - adjoint(y)) / 2
    both, opposite = along + across, along - across
    mixing = _mixing(x) + _mixing(y)
    phases = np.eye(s.shape[-1], dtype=bool)
    inner = _quotient(both, gaps, equal, negligible(np.abs(both) + mixing, ct_u, ct_v), phases)
    inner = inner + _quotient(opposite, sums, null, negligible(np.abs(opposite) + mixing, ct_u, ct_v), phases)
    if ct_s is not None:
        # A loss that is smooth where a singular value vanishes may need more than its cotangents say, unless this
        # value stands alone and goes through zero on the real line.
        alone = (np.sum(vanishing, axis=-1, keepdims=True) == 1) & (u.shape[-2] == v.shape[-2]) & (u.dtype.kind != "c")
        diagonal = _on_diagonal(np.where(_unused(ct_u) & _unused(ct_v), shared, ct_s))
        unclear = np.expand_dims(vanishing & ~alone, -2) & ~negligible(diagonal, diagonal)
        inner = inner + np.where(unclear, np.nan, diagonal)
    cotangent = np.matmul(np.matmul(u, inner), adjoint(v))
    if u.shape[-2] > u.shape[-1]:
        cotangent = cotangent + np.matmul(_outside(ct_u, u, x, s, vanishing), adjoint(v))
    if v.shape[-2] > v.shape[-1]:
        cotangent = cotangent + np.matmul(u, adjoint(_outside(ct_v, v, y, s, vanishing)))
    return cotangent


def _outside(ct, basis, components, s, vanishing):
    """What a loss sees of singular vectors outside of the space that they span, over their singular values."""
    outside = ct - np.matmul(basis, components)
    return _quotient(outside, np.expand_dims(s, -2), np.expand_dims(vanishing, -2), negligible(np.abs(outside), ct))


def singular_values_cotangent(ct: Any, a: Any, hermitian: bool = False) -> Any:
    """Cotangent of a matrix through its singular values."""
    u, s, vh = np.linalg.svd(a, full_matrices=False, hermitian=hermitian)
    cotangent = singular_cotangent(None, ct, None, u, s, adjoint(vh))
    return onto_triangle(cotangent, True) if hermitian else cotangent


@rule(np.linalg.svdvals, facts=INEXACT)
def svdvals(ct, out, x):
    return singular_values_cotangent(ct, x)


@rule(np.linalg.svd, facts=INEXACT)
def svd(ct, out, a, full_matrices=True, compute_uv=True, hermitian=False):
    if not compute_uv:
        return singular_values_cotangent(ct, a, hermitian)
    (u, s, vh), (ct_u, ct_s, ct_vh) = out, ct
    v, ct_v = adjoint(vh), None if ct_vh is None else adjoint(ct_vh)
    if hermitian:
        return onto_triangle(_hermitian_svd_cotangent(ct_u, ct_s, ct_v, u, s, v), True)
    u, ct_u = kept_columns(u, ct_u, s.shape[-1])
    v, ct_v = kept_columns(v, ct_v, s.shape[-1])
    return singular_cotangent(ct_u, ct_s, ct_v, u, s, v)


def _hermitian_svd_cotangent(ct_u, ct_s, ct_v, u, s, v):
    """The singular value decomposition that NumPy makes of eigenvectors `u`, with the signs of eigenvalues in `v`."""
    signs = np.sum(np.real(np.conj(u) * v), axis=-2)
    if ct_v is not None:
        ct_v = ct_v * np.expand_dims(signs, -2)
        ct_u = ct_v if ct_u is None else ct_u + ct_v
    return hermitian_cotangent(None if ct_s is None else ct_s * signs, ct_u, s * signs, u)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    def of_vectors(vectors):
        """A number that does not depend on the phases of the vectors."""
        rows, columns = vectors.shape[-2:]
        weights = np.sin(np.arange(1.0, rows * columns + 1)).reshape(rows, columns)
        return np.sum(np.abs(vectors) ** 2 * weights)

    def of_pair(pair):
        return np.sum(pair[0] * np.arange(1.0, pair[0].shape[-1] + 1)) + of_vectors(pair[1])

    def of_product(factors):
        u, s, vh = factors
        k = s.shape[-1]
        product = np.matmul(u[..., :k] * np.expand_dims(s**2, -2), vh[..., :k, :])
        weights = np.sin(np.arange(1.0, product.size + 1)).reshape(product.shape)
        return np.sum(np.real(product) * weights) + np.sum(s)

    def of_complements(factors):
        """Of the vectors that make the matrices full, only the projectors onto them are defined."""
        added = (vectors[:, 2:] for vectors in (factors[0], adjoint(factors[2])))
        return sum(np.sum(np.abs(vectors @ adjoint(vectors))) for vectors in added)

    for x in (real(3, 3), complex_(3, 3), real(2, 2, 2)):
        for triangle in "LU":
            yield Case(np.linalg.eigvalsh, (x, triangle))
            yield Case(np.linalg.eigh, (x, triangle), loss=of_pair)
            yield Case(np.linalg.eigh, (x,), {"UPLO": triangle}, loss=lambda pair: of_vectors(pair[1]))
            yield Case(np.linalg.eigh, (x,), {"UPLO": triangle}, loss=lambda pair: np.sum(pair[0] ** 2))
        yield Case(np.linalg.eigvals, (x,))
        yield Case(np.linalg.eig, (x,))
    yield Case(np.linalg.eigvalsh, (real(3, 3).astype(np.float32),), tolerance=1e-2)
    for x in (real(3, 3), complex_(3, 3), real(4, 2), complex_(2, 4), real(2, 2, 3), real(3, 4).T):
        yield Case(np.linalg.svdvals, (x,))
        yield Case(np.linalg.svd, (x,), {"compute_uv": False})
        for full in (True, False):
            yield Case(np.linalg.svd, (x, full), loss=of_product)
            yield Case(np.linalg.svd, (x,), {"full_matrices": full}, loss=lambda factors: np.sum(factors[1] ** 2))
        yield Case(np.linalg.svd, (x, False), loss=lambda factors: of_vectors(factors[0]))
        yield Case(np.linalg.svd, (x, False), loss=lambda factors: of_vectors(adjoint(factors[2])))
    for x in (real(4, 2), complex_(2, 4)):
        yield Case(np.linalg.svd, (x,), loss=of_complements)
    # Equal values that the loss does not read.
    yield Case(np.linalg.svd, (np.ones((3, 3)),), loss=lambda factors: factors[1][0])
    for x in (real(3, 3), complex_(3, 3)):
        yield Case(np.linalg.svd, (x,), {"hermitian": True}, loss=of_product)
        yield Case(np.linalg.svd, (x,), {"hermitian": True, "compute_uv": False})
