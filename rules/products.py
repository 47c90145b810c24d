"""Products of arrays: matmul and its relatives, dot, inner, outer, vdot, cross, chains of products.

Each product is linear in each factor: the cotangent of one factor is a product of the output's cotangent with
the other factor, and of the factor itself only the shape matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, computes, conj, pulls, rule
from bridge.rules.contractions import add_product, as_operand, fitted, tensordot_left, tensordot_right


def adjoint(x: Any) -> Any:
    """Conjugate transpose of the matrices in the last two axes."""
    return conj(x.T if x.ndim == 2 else np.swapaxes(x, -1, -2))


def _left_factor(ct, b, shape):
    """Cotangent of `a`, which has `shape`, in `a @ b`; not yet summed over batch axes that were broadcast."""
    if b.ndim == 1:
        return (ct if len(shape) == 1 else ct[..., None]) * conj(b)
    if b.ndim == 2 and ct.ndim > 2 and type(ct) is np.ndarray and ct.flags.c_contiguous:
        # One product in place of one for each matrix of the stack.
        return np.matmul(ct.reshape(-1, ct.shape[-1]), adjoint(b)).reshape(*ct.shape[:-1], -1)
    if b.ndim > 2 and len(shape) <= 2:
        # One contraction instead of a product for each batch, summed afterwards.
        summed = [k for k in range(b.ndim) if k != b.ndim - 2]
        return np.tensordot(ct, conj(b), (summed if len(shape) == 2 else list(range(ct.ndim)), summed))
    return np.matmul(ct, adjoint(b))


def _right_factor(ct, a, shape):
    """Cotangent of `b`, which has `shape`, in `a @ b`; not yet summed over batch axes that were broadcast."""
    if a.ndim == 1:
        return conj(a) * ct if len(shape) == 1 else conj(a)[:, None] * ct[..., None, :]
    if a.ndim > 2 and len(shape) <= 2:
        summed = list(range(a.ndim - 1))
        return np.tensordot(conj(a), ct, (summed, summed))
    return np.matmul(adjoint(a), ct)


def _add_left(region, ct, out, a, b):
    return type(b) is np.ndarray and add_product(region, ct, b.T)


def _add_right(region, ct, out, a, b):
    return type(a) is np.ndarray and add_product(region, a.T, ct)


for _matmul in (np.matmul, np.linalg.matmul):
    pulls(
        _matmul,
        computes(
            "ct * y of vectors",
            lambda ct, out, x1, x2: fitted(_left_factor(ct, x2, x1.shape), x1.shape, x1.dtype),
        ),
        computes(
            "x * ct of vectors",
            lambda ct, out, x1, x2: fitted(_right_factor(ct, x1, x2.shape), x2.shape, x2.dtype),
        ),
        structure="multilinear",
        facts=Facts(promotes=("x1", "x2")),
        adding=(_add_left, _add_right),
    )


def _axis_last(shape, axis):
    k = axis % len(shape)
    return (*shape[:k], *shape[k + 1 :], shape[k])


def _core_last(ct, axis, keepdims):
    """The cotangent of an inner product along `axis`, with an axis of length one for it at the end."""
    return np.moveaxis(ct, axis, -1) if keepdims else np.expand_dims(ct, -1)


def _vecdot_first(ct, out, x1, x2, axis=-1, keepdims=False):
    cotangent = conj(_core_last(ct, axis, keepdims)) * np.moveaxis(x2, axis, -1)
    return np.moveaxis(fitted(cotangent, _axis_last(x1.shape, axis), x1.dtype), -1, axis)


def _vecdot_second(ct, out, x1, x2, axis=-1, keepdims=False):
    cotangent = _core_last(ct, axis, keepdims) * np.moveaxis(x1, axis, -1)
    return np.moveaxis(fitted(cotangent, _axis_last(x2.shape, axis), x2.dtype), -1, axis)


for _vecdot in (np.vecdot, np.linalg.vecdot):
    pulls(_vecdot, _vecdot_first, _vecdot_second, structure="multilinear", facts=Facts(promotes=("x1", "x2")))


def _matvec_vector(ct, out, x1, x2):
    return fitted(np.matmul(adjoint(x1), np.expand_dims(ct, -1))[..., 0], x2.shape, x2.dtype)


def _vecmat_vector(ct, out, x1, x2):
    return fitted(np.matmul(x2, np.expand_dims(conj(ct), -1))[..., 0], x1.shape, x1.dtype)


if hasattr(np, "matvec"):  # NumPy 2.2
    pulls(
        np.matvec,
        lambda ct, out, x1, x2: fitted(np.expand_dims(ct, -1) * conj(np.expand_dims(x2, -2)), x1.shape, x1.dtype),
        _matvec_vector,
        structure="multilinear",
    )
    pulls(
        np.vecmat,
        _vecmat_vector,
        lambda ct, out, x1, x2: fitted(np.expand_dims(x1, -1) * np.expand_dims(ct, -2), x2.shape, x2.dtype),
        structure="multilinear",
    )


def _dot_left(ct, out, a, b):
    b = as_operand(b)
    if a.ndim == 0 or b.ndim == 0:
        return fitted(ct * conj(b), a.shape, a.dtype)
    if a.ndim <= 2 and b.ndim <= 2:
        return fitted(_left_factor(ct, b, a.shape), a.shape, a.dtype)
    return tensordot_left(ct, out, a, b, (-1, -min(b.ndim, 2)))


def _dot_right(ct, out, a, b):
    a = as_operand(a)
    if a.ndim == 0 or b.ndim == 0:
        return fitted(ct * conj(a), b.shape, b.dtype)
    if a.ndim <= 2 and b.ndim <= 2:
        return fitted(_right_factor(ct, a, b.shape), b.shape, b.dtype)
    return tensordot_right(ct, out, a, b, (-1, -min(b.ndim, 2)))


pulls(
    np.dot, computes("ct * y of vectors", _dot_left), computes("x * ct of vectors", _dot_right),
    structure="multilinear",
    facts=Facts(promotes=("a", "b"), parameters=("a", "b", "out")), adding=(_add_left, _add_right),
)  # fmt: skip


def _inner_left(ct, out, a, b):
    b = as_operand(b)
    if a.ndim == 0 or b.ndim == 0:
        return fitted(ct * conj(b), a.shape, a.dtype)
    return tensordot_left(ct, out, a, b, (-1, -1))


def _inner_right(ct, out, a, b):
    a = as_operand(a)
    if a.ndim == 0 or b.ndim == 0:
        return fitted(ct * conj(a), b.shape, b.dtype)
    return tensordot_right(ct, out, a, b, (-1, -1))


pulls(np.inner, _inner_left, _inner_right, structure="multilinear", facts=Facts(promotes=("a", "b")))

pulls(
    np.vdot,
    lambda ct, out, a, b: fitted(np.reshape(conj(ct) * np.ravel(b), a.shape), a.shape, a.dtype),
    lambda ct, out, a, b: fitted(np.reshape(ct * np.ravel(a), b.shape), b.shape, b.dtype),
    structure="multilinear",
    facts=Facts(promotes=("a", "b")),
)

pulls(
    np.outer,
    lambda ct, out, a, b: fitted(np.reshape(np.matmul(ct, conj(np.ravel(b))), a.shape), a.shape, a.dtype),
    lambda ct, out, a, b: fitted(np.reshape(np.matmul(conj(np.ravel(a)), ct), b.shape), b.shape, b.dtype),
    structure="multilinear",
    facts=Facts(promotes=("a", "b")),
)
pulls(
    np.linalg.outer,
    lambda ct, out, x1, x2: fitted(np.matmul(ct, conj(x2)), x1.shape, x1.dtype),
    lambda ct, out, x1, x2: fitted(np.matmul(conj(x1), ct), x2.shape, x2.dtype),
    structure="multilinear",
    facts=Facts(promotes=("x1", "x2")),
)


def _spatial(x, axis):
    """Vectors along `axis`, moved to the end; those of two components get a third that is zero."""
    x = np.moveaxis(x, axis, -1)
    return x if x.shape[-1] == 3 else np.concatenate([x, np.zeros_like(x[..., :1])], axis=-1)


def _cross_factor(ct, other, shape, dtype, axis, other_axis, out_axis, sign):
    """Cotangent `sign * conj(other) x ct` of the factor that has `shape` and its vectors along `axis`."""
    other = as_operand(other)
    length = shape[axis % len(shape)]
    if length == 2 and other.shape[other_axis] == 2:
        # Two planar vectors have a product along z alone.
        ct = np.expand_dims(ct, -1)
        ct = np.concatenate([np.zeros_like(ct), np.zeros_like(ct), ct], axis=-1)
    else:
        ct = np.moveaxis(ct, out_axis, -1)
    cotangent = (sign * np.cross(conj(_spatial(other, other_axis)), ct))[..., :length]
    return np.moveaxis(fitted(cotangent, _axis_last(shape, axis), dtype), -1, axis)


def _cross_left(ct, out, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axes = (axisa, axisb, axisc) if axis is None else (axis, axis, axis)
    return _cross_factor(ct, b, a.shape, a.dtype, *axes, 1)


def _cross_right(ct, out, a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    axes = (axisb, axisa, axisc) if axis is None else (axis, axis, axis)
    return _cross_factor(ct, a, b.shape, b.dtype, *axes, -1)


pulls(np.cross, _cross_left, _cross_right, facts=Facts(promotes=("a", "b")))
pulls(
    np.linalg.cross,
    lambda ct, out, x1, x2, axis=-1: _cross_factor(ct, x2, x1.shape, x1.dtype, axis, axis, axis, 1),
    lambda ct, out, x1, x2, axis=-1: _cross_factor(ct, x1, x2.shape, x2.dtype, axis, axis, axis, -1),
    facts=Facts(promotes=("x1", "x2")),
)


@rule(np.linalg.multi_dot, facts=Facts(sequences=("arrays",), promotes=("arrays",)))
def multi_dot(ct, out, arrays):
    """Each factor's cotangent is itself a chain of products, whose order `multi_dot` chooses again."""
    arrays = [as_operand(x) for x in arrays]
    if len(arrays) == 2:
        return [_dot_left(ct, out, *arrays), _dot_right(ct, out, *arrays)]
    first, *middle, last = arrays
    first = np.expand_dims(first, 0) if first.ndim == 1 else first
    last = np.expand_dims(last, -1) if last.ndim == 1 else last
    adjoints = [adjoint(x) for x in (first, *middle, last)]
    ct = np.reshape(ct, (first.shape[0], last.shape[1]))
    cotangents = []
    for k, x in enumerate(arrays):
        chain = np.linalg.multi_dot([*adjoints[:k][::-1], ct, *adjoints[k + 1 :][::-1]])
        cotangents.append(fitted(np.reshape(chain, x.shape), x.shape, x.dtype))
    return cotangents


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    matrices = [((2, 3), (3, 4)), ((2, 2, 3), (3, 2)), ((2, 3), (2, 3, 2)), ((2, 1, 2, 3), (1, 2, 3, 2))]
    vectors = [((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,))]
    for a, b in matrices + vectors:
        yield Case(np.matmul, (real(*a), real(*b)))
        yield Case(np.matmul, (complex_(*a), real(*b)))
    for a, b in matrices:
        yield Case(np.linalg.matmul, (real(*a), complex_(*b)))
    yield Case(np.matmul, (real(3, 2).T, real(3, 6)[:, ::2]))
    yield Case(np.matmul, (real(2, 2).astype(np.float32), real(2).astype(np.float32)), tolerance=1e-2)
    yield Case(np.matmul, (real(2, 0), real(0, 3)))
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((2, 1, 3), (4, 3))):
        yield Case(np.vecdot, (complex_(*a), real(*b)))
        yield Case(np.linalg.vecdot, (real(*a), complex_(*b)))
    yield Case(np.linalg.vecdot, (complex_(3, 2), complex_(3, 2)), {"axis": 0})
    if hasattr(np, "matvec"):
        for a, b in (((2, 3), (3,)), ((2, 2, 3), (3,)), ((2, 3), (2, 3))):
            yield Case(np.matvec, (complex_(*a), real(*b)))
            yield Case(np.vecmat, (complex_(*b), real(*a[:-2], 3, 2)))
    ranks = [((), (3,)), ((2,), ()), ((3,), (2, 3, 2)), ((2, 2, 3), (3,)), ((2, 2, 3), (2, 3, 2))]
    for a, b in [*ranks, *vectors[:3], *matrices[:1]]:
        yield Case(np.dot, (real(*a), complex_(*b)))
    yield Case(np.dot, (2.0, real(3)))
    yield Case(np.dot, (real(3), [1.0, 2.0, 3.0]))
    for a, b in (((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 4, 3)), ((), (2,)), ((2,), ())):
        yield Case(np.inner, (complex_(*a), real(*b)))
    yield Case(np.vdot, (complex_(2, 3), complex_(3, 2)))
    yield Case(np.vdot, (real(3), real(3)))
    yield Case(np.outer, (real(2, 2), complex_(3)))
    yield Case(np.outer, (real(4)[::2], 2.0))
    yield Case(np.linalg.outer, (complex_(2), real(3)))
    yield Case(np.cross, (real(2, 3), real(3)))
    yield Case(np.cross, (complex_(3, 2), complex_(2, 3)), {"axisa": 0, "axisc": 0})
    yield Case(np.cross, (real(3, 2), real(3, 2)), {"axis": 0})
    yield Case(np.linalg.cross, (real(2, 3), complex_(2, 3)))
    yield Case(np.linalg.cross, (real(3, 2), real(3, 1)), {"axis": 0})
    yield Case(np.linalg.multi_dot, ([real(2, 3), complex_(3, 4), real(4, 2)],))
    yield Case(np.linalg.multi_dot, ([real(3), real(3, 2), real(2)],))
    yield Case(np.linalg.multi_dot, ([real(2, 3), real(3)],))
