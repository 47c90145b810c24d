"""Contractions: tensordot, einsum, kron, traces and diagonals.

Each is linear in each operand: the cotangent of one operand is a contraction of the output's cotangent with the
other operands, and of the operand itself only the shape matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, as_array, conj, pulls, rule, sum_to_shape, zeros


def fitted(ct: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
    """`ct` summed to the `shape` of an operand that was broadcast; its real part if the operand's `dtype` is real."""
    ct = sum_to_shape(ct, shape)
    return np.real(ct) if ct.dtype.kind == "c" and dtype.kind != "c" else ct


def as_operand(x: Any) -> Any:
    """An operand as an array, tracked if anything in it is; numbers and lists come as the caller wrote them."""
    return x if hasattr(x, "ndim") else as_array(x)


def add_product(region: np.ndarray, left: Any, right: Any) -> bool:
    """Add `left @ right`, an outer product if both are vectors, to `region`, a few rows at a time; False if it cannot.

    What lies between is small: a piece of an outer product stays in the cache, and one of a product is some percent.
    """
    vectors = left.ndim == right.ndim == 1
    shape = (*left.shape[:1], *right.shape[-1:])
    alike = type(left) is type(right) is np.ndarray and region.dtype == left.dtype == right.dtype
    if not (alike and region.shape == shape and (vectors or left.ndim == right.ndim == 2) and region.dtype.kind == "f"):
        return False
    if region.flags.f_contiguous and not region.flags.c_contiguous:
        return add_product(region.T, right.T, left.T)
    piece = _OUTER if vectors else max(_OUTER, region.size // 8)
    rows = max(1, piece // shape[1])
    into = np.empty((min(rows, shape[0]), shape[1]), region.dtype)
    multiply = np.multiply if vectors else np.matmul
    for start in range(0, shape[0], rows):
        part = left[start : start + rows]
        found = multiply(part[:, None] if vectors else part, right, out=into[: len(part)])
        region[start : start + rows] += found
    return True


_OUTER = 1 << 15


def _contracted(axes, a_ndim, b_ndim):
    """The axes of both operands that a tensordot contracts, and those that it keeps, counted from the front."""
    if np.ndim(axes) == 0:
        in_a, in_b = range(-axes, 0), range(axes)
    else:
        in_a, in_b = ((part,) if np.ndim(part) == 0 else part for part in axes)
    in_a, in_b = [k % a_ndim for k in in_a], [k % b_ndim for k in in_b]
    return in_a, in_b, [k for k in range(a_ndim) if k not in in_a], [k for k in range(b_ndim) if k not in in_b]


def _in_order(x, order):
    """`x` with its axes permuted such that axis number `k` becomes axis `order[k]`."""
    return np.transpose(x, sorted(range(len(order)), key=lambda k: order[k]))


def tensordot_left(ct: Any, out: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    """Cotangent of the first operand of a tensordot."""
    b = as_operand(b)
    in_a, in_b, free_a, free_b = _contracted(axes, a.ndim, b.ndim)
    cotangent = np.tensordot(ct, conj(b), (list(range(len(free_a), ct.ndim)), free_b))
    return fitted(_in_order(cotangent, free_a + [in_a[in_b.index(k)] for k in sorted(in_b)]), a.shape, a.dtype)


def tensordot_right(ct: Any, out: Any, a: Any, b: Any, axes: Any = 2) -> Any:
    """Cotangent of the second operand of a tensordot."""
    a = as_operand(a)
    in_a, in_b, free_a, free_b = _contracted(axes, a.ndim, b.ndim)
    cotangent = np.tensordot(conj(a), ct, (free_a, list(range(len(free_a)))))
    return fitted(_in_order(cotangent, [in_b[in_a.index(k)] for k in sorted(in_a)] + free_b), b.shape, b.dtype)


pulls(np.tensordot, tensordot_left, tensordot_right, structure="multilinear", facts=Facts(promotes=("a", "b")))
pulls(
    np.linalg.tensordot,
    lambda ct, out, x1, x2, axes=2: tensordot_left(ct, out, x1, x2, axes),
    lambda ct, out, x1, x2, axes=2: tensordot_right(ct, out, x1, x2, axes),
    structure="multilinear",
    facts=Facts(promotes=("x1", "x2")),
)


def _einsum_terms(operands):
    """Labels of each array of an `einsum` call and of its output, and where the arrays stand among the arguments.

    Both ways of writing a call are understood; labels may be characters or numbers, and the axes behind an
    ellipsis are labelled by how far they are from the last of them.
    """
    if isinstance(operands[0], str):
        inputs, arrow, output = operands[0].replace(" ", "").partition("->")
        written = [_symbols(term) for term in inputs.split(",")]
        target = _symbols(output) if arrow else None
        positions = list(range(1, len(operands)))
    else:
        positions = list(range(0, len(operands) - 1, 2))
        written = [list(operands[k + 1]) for k in positions]
        target = list(operands[-1]) if len(operands) % 2 else None
    arrays = [as_operand(operands[k]) for k in positions]
    terms = [_without_ellipsis(term, x.ndim - len(term) + 1) for term, x in zip(written, arrays, strict=True)]
    widest = max(x.ndim - len(term) + 1 if Ellipsis in term else 0 for term, x in zip(written, arrays, strict=True))
    if target is None:
        named = [label for term in terms for label in term if not isinstance(label, tuple)]
        target = [Ellipsis, *sorted(label for label in set(named) if named.count(label) == 1)]
    return terms, _without_ellipsis(target, widest), arrays, positions


def _symbols(term):
    return [Ellipsis if symbol == "." else symbol for symbol in term.replace("...", ".")]


def _without_ellipsis(term, hidden):
    """Labels with the ellipsis written out as `hidden` labels; the last axis behind it is always the same one."""
    if Ellipsis not in term:
        return list(term)
    k = term.index(Ellipsis)
    return [*term[:k], *((..., n) for n in range(hidden, 0, -1)), *term[k + 1 :]]


def _einsum_cotangent(ct, k, terms, target, arrays, optimize):
    """Cotangent of operand number `k`: the contraction with the output's cotangent in its place."""
    own, x = terms[k], arrays[k]
    unique = list(dict.fromkeys(own))
    operands = [(ct, target) if j == k else (conj(y), terms[j]) for j, y in enumerate(arrays)]
    reached = [label for label in unique if any(label in term for _, term in operands)]
    numbers = {label: n for n, label in enumerate(dict.fromkeys(label for term in (*terms, target) for label in term))}
    interleaved = [part for y, term in operands for part in (y, [numbers[label] for label in term])]
    cotangent = np.einsum(*interleaved, [numbers[label] for label in reached], optimize=optimize)
    lengths = dict(zip(own, x.shape, strict=True))
    cotangent = np.expand_dims(cotangent, tuple(n for n, label in enumerate(unique) if label not in reached))
    cotangent = sum_to_shape(
        cotangent, tuple(1 if lengths[u] == 1 else n for u, n in zip(unique, cotangent.shape, strict=True))
    )
    # An index that is summed over alone spreads; one that stands twice lives on the diagonal.
    spread = np.expand_dims(cotangent, tuple(axis for axis, label in enumerate(own) if own.index(label) != axis))
    if len(unique) == len(own):
        return np.broadcast_to(spread, x.shape)
    return np.where(_einsum_diagonal(own, x.shape), spread, 0)


def _einsum_diagonal(own, shape):
    """Where the axes that have the same label have the same index."""
    mask = np.ones(shape, bool)
    for axis, label in enumerate(own):
        first = own.index(label)
        if first != axis:
            sizes = tuple(n if k in (first, axis) else 1 for k, n in enumerate(shape))
            mask = mask & np.eye(shape[first], shape[axis], dtype=bool).reshape(sizes)
    return mask


@rule(np.einsum, structure="multilinear")
def einsum(ct, out, *operands, optimize=False, **_options):
    terms, target, arrays, positions = _einsum_terms(operands)
    cotangents = [None] * len(operands)
    for k, position in enumerate(positions):
        x = arrays[k]
        if x.size == 0:
            cotangents[position] = np.zeros_like(x)
        elif x.dtype.kind in "fc":
            cotangents[position] = fitted(_einsum_cotangent(ct, k, terms, target, arrays, optimize), x.shape, x.dtype)
    return tuple(cotangents)


def _by_factors(ct, a_shape, b_shape):
    """The cotangent of a Kronecker product with each axis split in two, and the axes of `a` and of `b` in it."""
    ndim = max(len(a_shape), len(b_shape))
    a_full = (1,) * (ndim - len(a_shape)) + a_shape
    b_full = (1,) * (ndim - len(b_shape)) + b_shape
    split = np.reshape(ct, tuple(length for pair in zip(a_full, b_full, strict=True) for length in pair))
    of_a = list(range(2 * (ndim - len(a_shape)), 2 * ndim, 2))
    of_b = list(range(2 * (ndim - len(b_shape)) + 1, 2 * ndim, 2))
    return split, of_a, of_b


def _kron_left(ct, out, a, b):
    b = as_operand(b)
    split, _, of_b = _by_factors(ct, a.shape, b.shape)
    cotangent = np.tensordot(split, conj(b), (of_b, list(range(b.ndim))))
    return fitted(np.reshape(cotangent, a.shape), a.shape, a.dtype)


def _kron_right(ct, out, a, b):
    a = as_operand(a)
    split, of_a, _ = _by_factors(ct, a.shape, b.shape)
    cotangent = np.tensordot(split, conj(a), (of_a, list(range(a.ndim))))
    return fitted(np.reshape(cotangent, b.shape), b.shape, b.dtype)


pulls(np.kron, _kron_left, _kron_right, structure="multilinear", facts=Facts(promotes=("a", "b")))


def _diagonal_mask(shape, offset, axis1, axis2):
    """Where the index along `axis2` exceeds that along `axis1` by `offset`."""
    axis1, axis2 = axis1 % len(shape), axis2 % len(shape)
    mask = np.eye(shape[axis1], shape[axis2], offset, dtype=bool)
    sizes = tuple(n if k in (axis1, axis2) else 1 for k, n in enumerate(shape))
    return (mask if axis1 < axis2 else mask.T).reshape(sizes)


@rule(np.trace, reads=(), linear=True)
def trace(ct, out, a, offset=0, axis1=0, axis2=1, dtype=None):
    axes = tuple(sorted((axis1 % a.ndim, axis2 % a.ndim)))
    spread = np.where(_diagonal_mask(a.shape, offset, axis1, axis2), np.expand_dims(ct, axes), 0)
    return fitted(spread, a.shape, a.dtype)


@rule(np.linalg.trace, reads=(), linear=True)
def linalg_trace(ct, out, x, *, offset=0, dtype=None):
    spread = np.where(_diagonal_mask(x.shape, offset, -2, -1), np.expand_dims(ct, (-2, -1)), 0)
    return fitted(spread, x.shape, x.dtype)


@rule(np.linalg.diagonal, reads=(), linear=True)
def linalg_diagonal(ct, out, x, *, offset=0):
    cotangent = zeros(x.shape, like=ct)
    along = np.arange(ct.shape[-1])
    cotangent[..., along + max(-offset, 0), along + max(offset, 0)] = ct
    return cotangent


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)

    def real(*shape):
        return rng.normal(size=shape)

    def complex_(*shape):
        return real(*shape) + 1j * real(*shape)

    for function in (np.tensordot, np.linalg.tensordot):
        yield Case(function, (real(2, 3), real(2, 3)))
        yield Case(function, (real(2, 3, 4), real(4, 3, 2)), {"axes": ([2, 0], [0, 2])})
        yield Case(function, (real(2, 3), complex_(4, 3)), {"axes": (1, -1)})
    yield Case(np.tensordot, (real(2), real(3), 0))
    yield Case(np.tensordot, (real(3, 2, 2).T, real(3, 6)[:, ::2], 1))
    subscripts = ["ij,jk->ik", "ij,jk", "ij,kj->", "ij,ij->j", "i...,...j->...ij", "ij,jk,kl->il", "ji,jk"]
    shapes = [((2, 3), (3, 4)), ((2, 3), (3, 4)), ((2, 3), (4, 3)), ((2, 3), (1, 3)), ((2, 3), (3, 2))]
    shapes += [((2, 3), (3, 2), (2, 4)), ((2, 3), (2, 2))]
    for text, operands in zip(subscripts, shapes, strict=True):
        yield Case(np.einsum, (text, *(real(*shape) for shape in operands)))
    yield Case(np.einsum, ("ii->i", real(3, 3)))
    yield Case(np.einsum, ("ii", complex_(3, 3)))
    yield Case(np.einsum, ("iji,j->i", real(2, 3, 2), real(3)))
    yield Case(np.einsum, ("...ij->...", real(2, 2, 3)))
    yield Case(np.einsum, ("...j,jk", real(2, 1, 3), real(3, 2)))
    yield Case(np.einsum, ("...i,...i", real(2, 3), real(3)))
    yield Case(np.einsum, ("ij,jk,k->i", complex_(2, 3), real(3, 2), complex_(2)), {"optimize": True})
    yield Case(np.einsum, (real(2, 3), [0, 1], real(3, 2), [1, 2], [2, 0]))
    yield Case(np.einsum, (real(2, 3), [..., 1], real(3), [1]), {"optimize": "greedy"})
    yield Case(np.einsum, ("i,->i", real(3).astype(np.float32), 2.0), tolerance=1e-2)
    for a, b in (((2, 3), (2, 2)), ((3,), (2, 2)), ((2, 2, 1), (3,)), ((), (3,)), ((2,), ())):
        yield Case(np.kron, (real(*a), complex_(*b)))
    yield Case(np.trace, (real(3, 3),))
    yield Case(np.trace, (real(2, 3, 4), 1, 2, 0))
    yield Case(np.trace, (complex_(3, 2, 3),), {"offset": -1, "axis1": -1, "axis2": 0})
    yield Case(np.linalg.trace, (real(2, 3, 3),))
    yield Case(np.linalg.trace, (complex_(2, 3),), {"offset": 1})
    yield Case(np.linalg.diagonal, (real(2, 3, 4),), {"offset": 1})
    yield Case(np.linalg.diagonal, (complex_(4, 3),), {"offset": -2})
