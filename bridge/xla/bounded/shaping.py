"""Shapes: axes in another order, new ones, copies, arrays like others, and arrays joined end to end."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.signatures import operation_name
from bridge.xla.bounded.bounded import Bounded, knows, shown, unknown
from bridge.xla.bounded.elementwise import as_operands, rank
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.masks import dense, inside, moved
from bridge.xla.bounded.meeting import laid_out, met, side_of
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.integers import affine_of

knows(np.shape)(lambda a: a.shape)
knows(np.ndim)(lambda a: a.ndim)


knows(np.iscomplexobj)(lambda x: x.dtype.kind == "c")
knows(np.isrealobj)(lambda x: x.dtype.kind != "c")


@knows(np.result_type)
def result_type(*kinds: Any) -> Any:
    """`np.result_type`."""
    return np.result_type(*(one.dtype if isinstance(one, Bounded) else one for one in kinds))


@knows(np.size)
def size(a: Any, axis: int | None = None) -> Any:
    """`np.size`."""
    return a.size if axis is None else a.shape[axis]


@knows(np.transpose, np.permute_dims)
def transpose(a: Any, axes: Any = None) -> Any:
    """`np.transpose`; a view."""
    order = tuple(range(a.ndim))[::-1] if axes is None else tuple(k % a.ndim for k in axes)
    return Bounded(np.transpose(a.whole, order), tuple(a.extents[k] for k in order))


@knows(np.matrix_transpose)
def matrix_transpose(x: Any) -> Any:
    """`np.matrix_transpose`; a view."""
    return transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@knows(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """`np.swapaxes`; a view."""
    order = list(range(a.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return transpose(a, order)


@knows(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """`np.moveaxis`; a view."""
    # The axes of an array whose axis k has the length k.
    return transpose(a, np.moveaxis(np.empty(tuple(range(a.ndim))), source, destination).shape)


@knows(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """`np.expand_dims`; a view."""
    axes = axis if isinstance(axis, tuple) else (axis,)
    ndim = a.ndim + len(axes)
    new = {k % ndim for k in axes}
    return a[tuple(None if k in new else slice(None) for k in range(ndim))]


@knows(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """`np.squeeze` of axes that have the static length 1; a view."""
    axes = range(a.ndim) if axis is None else [k % a.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    gone = [k for k in axes if a.extents[k] is None and a.whole.shape[k] == 1]
    if (axis is None and any(a.extents)) or len(gone) < len(list(axes)):
        raise unknown("np.squeeze of an axis of run-time length", "name axes that have the length 1: axis=0")
    return a[tuple(0 if k in gone else slice(None) for k in range(a.ndim))]


@knows(np.flip)
def flip(m: Any, axis: Any = None) -> Any:
    """`np.flip`; a view."""
    axes = range(m.ndim) if axis is None else [k % m.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    return m[tuple(slice(None, None, -1) if k in axes else slice(None) for k in range(m.ndim))]


knows(np.flipud)(lambda m: flip(m, 0))
knows(np.fliplr)(lambda m: flip(m, 1))


@knows(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """`np.ravel` of an array of one axis."""
    if a.ndim != 1:
        raise unknown("np.ravel of several axes")
    return a


@knows(np.reshape)
def reshape(a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None) -> Any:
    """`np.reshape` to one axis and axes of length 1, of such an array; a view."""
    wanted = newshape if shape is None else shape
    wanted = wanted if isinstance(wanted, (tuple, list)) else (wanted,)
    long = [k for k, (one, n) in enumerate(zip(a.extents, a.whole.shape, strict=True)) if one is not None or n != 1]
    free = [k for k, n in enumerate(wanted) if not (isinstance(n, (int, np.integer)) and n == 1)]
    if len(long) != 1 or len(free) != 1 or not _is_free(wanted[free[0]], a, long[0]):
        raise unknown(f"np.reshape to {tuple(wanted)!r}", "reshape only to one axis and axes of length 1: (-1, 1)")
    flat = a[tuple(slice(None) if k == long[0] else 0 for k in range(a.ndim))]
    return flat[tuple(slice(None) if k == free[0] else None for k in range(len(wanted)))]


def _is_free(n: Any, a: Bounded, axis: int) -> bool:
    """Whether a length in a shape is the one that an array has."""
    return (isinstance(n, (int, np.integer)) and n == -1) or (hasattr(n, "place") and affine_of(n) == a.lengths[axis])


knows(np.copy, np.array, np.ascontiguousarray)(lambda a, order="K", **given: _copy(a, **given))
knows(np.atleast_1d)(lambda a: a)
knows(np.atleast_2d)(lambda a: a if a.ndim > 1 else a[None, :])


def _copy(a: Any, dtype: Any = None, copy: Any = True) -> Any:
    return a.copy() if dtype is None else a.astype(dtype)


@knows(np.asarray)
def asarray(a: Any, dtype: Any = None, order: Any = None) -> Any:
    """`np.asarray`."""
    return a if dtype is None or np.dtype(dtype) == a.dtype else a.astype(dtype)


@knows(np.astype)
def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> Any:
    """`np.astype`."""
    return x.astype(dtype)


def _like(function: Any) -> None:
    def make(a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None) -> Any:
        if shape is not None:
            raise unknown(f"{operation_name(function)} with shape=")
        a = dense(a)
        return Bounded(function(a.whole, **({} if dtype is None else {"dtype": dtype})), a.extents)

    knows(function)(make)


for _one in (np.zeros_like, np.ones_like, np.empty_like):
    _like(_one)


@knows(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True) -> Any:
    """`np.full_like`."""
    if not isinstance(a, Bounded):
        raise unknown("np.full_like with a value of run-time length", "write it: y = np.empty_like(x); y[...] = value")
    made = np.empty_like(a, **({} if dtype is None else {"dtype": dtype}))
    made[...] = fill_value
    return made


@knows(np.concatenate, np.concat)
def concatenate(arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None) -> Any:
    """`np.concatenate`: as long as all of them together."""
    if out is not None or axis is None:
        raise unknown("np.concatenate with out= or axis=None")
    operands = [dense(x) if isinstance(x, Bounded) else x for x in as_operands(tuple(arrays))]
    trace = next(x for x in operands if isinstance(x, Bounded)).trace
    ndim = rank(operands[0])
    if not ndim or any(rank(x) != ndim for x in operands):
        raise ValueError("all the input array dimensions must match exactly, and arrays without axes cannot be joined")
    axis = axis % ndim
    others = {k: met(trace, [side_of(x, k) for x in operands], broadcasts=False) for k in range(ndim) if k != axis}
    size = sum(side_of(x, axis).size for x in operands)
    kind = np.result_type(*(x.dtype for x in operands)) if dtype is None else np.dtype(dtype)
    found: Any = None
    end = Affine.of(0)
    for x in operands:
        whole = x.whole if isinstance(x, Bounded) else x
        for k, joint in others.items():
            whole = laid_out(trace, whole, k, side_of(x, k), joint, broadcasts=False)
        side = side_of(x, axis)
        own = Extent(Affine.of(0), side.length) if side.extent is None else side.extent
        whole = moved(trace, whole, axis, own, end, size).astype(kind)
        shape = [1] * ndim
        shape[axis] = size
        mask = inside(trace, tuple(shape), tuple(Extent(end, side.length) if k == axis else None for k in range(ndim)))
        found = whole if found is None or mask is None else np.where(mask, whole, found)
        end = end + side.length
    return shown(found, tuple(Extent(Affine.of(0), end) if k == axis else others[k].extent for k in range(ndim)))


@knows(np.append)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    """`np.append` of arrays of one axis."""
    (values,) = as_operands((values,))
    if rank(arr) != 1 or rank(values) > 1:
        raise unknown("np.append of several axes", "use np.concatenate")
    return concatenate([arr, values if rank(values) else np.reshape(values, (1,))])


@knows(np.stack)
def stack(arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    """`np.stack`."""
    if out is not None or dtype is not None:
        raise unknown("np.stack with out= or dtype=")
    return concatenate([np.expand_dims(x, axis) for x in as_operands(tuple(arrays))], axis)


@knows(np.vstack)
def vstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    """`np.vstack`."""
    return concatenate([np.atleast_2d(x) for x in as_operands(tuple(tup))], dtype=dtype)


@knows(np.hstack)
def hstack(tup: Any, *, dtype: Any = None, casting: Any = None) -> Any:
    """`np.hstack`."""
    arrays = [np.atleast_1d(x) for x in as_operands(tuple(tup))]
    return concatenate(arrays, 0 if rank(arrays[0]) == 1 else 1, dtype=dtype)


def _triangle(function: Any) -> None:
    def cut(m: Any, k: int = 0) -> Any:
        if m.ndim != 2:
            raise unknown(f"{operation_name(function)} of another number of axes than two")
        m = dense(m)
        first, second = (np.cumsum(np.ones_like(one, dtype=np.int64)) for one in (m[:, 0], m[0]))
        below = first[:, None] + k >= second if function is np.tril else first[:, None] + k <= second
        return np.where(below, m, np.zeros((), m.dtype)[()])

    knows(function)(cut)


_triangle(np.tril)
_triangle(np.triu)


@knows(np.diff)
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = np._NoValue, append: Any = np._NoValue) -> Any:
    """`np.diff`."""
    if prepend is not np._NoValue or append is not np._NoValue:
        raise unknown("np.diff with prepend= or append=")
    before = (slice(None),) * (axis % a.ndim)
    for _ in range(n):
        a = a[(*before, slice(1, None))] - a[(*before, slice(None, -1))]
    return a
