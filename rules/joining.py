"""Functions that put arrays together and take them apart: concatenate, stack, block, insert, delete, split.

A piece's cotangent is the part of the result's cotangent where the piece went; only shapes are needed. A piece
may also be a constant (`np.hstack([x, 1.0])`), so that these functions are not linear in what they are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, rule, sum_to_shape, zeros


def _shapes(arrays: Any) -> list[tuple[int, ...]]:
    """The shapes of the pieces: of a sequence of arrays, or of one array whose first axis counts them."""
    return [arrays.shape[1:]] * arrays.shape[0] if hasattr(arrays, "shape") else [np.shape(x) for x in arrays]


def _fitted(ct: Any, piece: Any) -> Any:
    """`ct` in the shape of `piece`, without its imaginary part if the piece is real."""
    real = not isinstance(piece, complex) and getattr(piece, "dtype", np.dtype(float)).kind != "c"
    return np.reshape(np.real(ct) if real and ct.dtype.kind == "c" else ct, np.shape(piece))


def _per_piece(cts: Sequence[Any], arrays: Any) -> Any:
    """Cotangents of the pieces, as `arrays` holds them: a list, or stacked if it is one array."""
    if hasattr(arrays, "shape"):
        return np.reshape(np.stack(cts), arrays.shape)
    return [_fitted(ct, piece) for ct, piece in zip(cts, arrays, strict=True)]


def _part(ct: Any, axis: int, start: int, stop: int) -> Any:
    return ct[(slice(None),) * axis + (slice(start, stop),)]


def _cut(ct: Any, lengths: Sequence[int], axis: int) -> list[Any]:
    """Consecutive parts of `ct`, of these lengths, along one axis."""
    parts, start = [], 0
    for length in lengths:
        parts.append(_part(ct, axis, start, start + length))
        start += length
    return parts


def _size(shape: tuple[int, ...]) -> int:
    return int(np.prod(shape, dtype=int))


def _taken_apart(ct: Any, arrays: Any, axis: int | None) -> Any:
    """Cotangents of the arrays that were concatenated along `axis`, or flattened first if it is None."""
    shapes = _shapes(arrays)
    if axis is None:
        return _per_piece(_cut(ct, [_size(shape) for shape in shapes], 0), arrays)
    axis = axis % ct.ndim
    return _per_piece(_cut(ct, [shape[axis] for shape in shapes], axis), arrays)


@rule(
    np.concatenate, structure="linear", reads=(),
    facts=Facts(sequences=("arrays",), promotes=("arrays",), parameters=("arrays", "axis", "out")),
)  # fmt: skip
def concatenate(
    ct: Any,
    out: Any,
    arrays: Any,
    axis: int | None = 0,
    _out: Any = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Any:
    return _taken_apart(ct, arrays, axis)


@rule(np.stack, structure="linear", reads=(), facts=Facts(sequences=("arrays",), promotes=("arrays",)))
def stack(
    ct: Any, out: Any, arrays: Any, axis: int = 0, _out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    return _per_piece(_cut(ct, [1] * ct.shape[axis], axis % ct.ndim), arrays)


_OF_TUPLE = Facts(sequences=("tup",), promotes=("tup",))


@rule(np.vstack, structure="linear", reads=(), facts=_OF_TUPLE)
def vstack(ct: Any, out: Any, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    return _per_piece(_cut(ct, [shape[0] if len(shape) > 1 else 1 for shape in _shapes(tup)], 0), tup)


@rule(np.hstack, structure="linear", reads=(), facts=_OF_TUPLE)
def hstack(ct: Any, out: Any, tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Any:
    axis = min(ct.ndim - 1, 1)
    return _per_piece(_cut(ct, [shape[axis] if shape else 1 for shape in _shapes(tup)], axis), tup)


@rule(np.dstack, structure="linear", reads=(), facts=_OF_TUPLE)
def dstack(ct: Any, out: Any, tup: Any) -> Any:
    return _per_piece(_cut(ct, [shape[2] if len(shape) > 2 else 1 for shape in _shapes(tup)], 2), tup)


@rule(np.column_stack, structure="linear", reads=(), facts=_OF_TUPLE)
def column_stack(ct: Any, out: Any, tup: Any) -> Any:
    return _per_piece(_cut(ct, [shape[1] if len(shape) > 1 else 1 for shape in _shapes(tup)], 1), tup)


@rule(np.append, structure="linear", reads=(), facts=Facts(promotes=("arr", "values")))
def append(ct: Any, out: Any, arr: Any, values: Any, axis: int | None = None) -> tuple[Any, ...]:
    return tuple(_taken_apart(ct, [arr, values], axis))


@rule(np.block, structure="linear", reads=(), facts=Facts(nested=("arrays",)))
def block(ct: Any, out: Any, arrays: Any) -> Any:
    return _unblocked(ct, arrays, _depth(arrays))


def _depth(arrays: Any) -> int:
    return 1 + _depth(arrays[0]) if type(arrays) is list else 0


def _length(arrays: Any, axis: int) -> int:
    """The length of a block along an axis counted from the end (-1 the last)."""
    if type(arrays) is not list:
        shape = np.shape(arrays)
        return shape[axis] if -axis <= len(shape) else 1
    lengths = [_length(part, axis) for part in arrays]
    return sum(lengths) if _depth(arrays) == -axis else lengths[0]


def _unblocked(ct: Any, arrays: Any, depth: int) -> Any:
    """Cotangents of nested blocks, nested likewise: lists at `depth` are joined along the axis `-depth`."""
    if depth == 0:
        return _fitted(ct, arrays)
    parts = _cut(ct, [_length(part, -depth) for part in arrays], ct.ndim - depth)
    return [_unblocked(part, arrays[k], depth - 1) for k, part in enumerate(parts)]


@rule(np.insert, reads=("obj",), structure="linear", facts=Facts(shaped_by=("obj",), indexes=True))
def insert(ct: Any, out: Any, arr: Any, obj: Any, values: Any, axis: int | None = None) -> tuple[Any, ...]:
    shape = (arr.size,) if axis is None else arr.shape
    axis = 0 if axis is None else axis % arr.ndim
    count = ct.shape[axis] - shape[axis]
    # Where each element came from: the array's are counted from 0, the inserted ones from -1 downwards.
    sources = np.insert(np.arange(shape[axis]), obj, -1 - np.arange(count))
    order = np.argsort(sources, kind="stable")
    of_values = np.take(ct, order[:count][::-1], axis)
    if np.ndim(obj) == 0 and not isinstance(obj, slice):
        of_values = np.moveaxis(of_values, axis, 0)
    of_array = np.reshape(np.take(ct, order[count:], axis), arr.shape)
    return of_array, None, _fitted(sum_to_shape(of_values, np.shape(values)), values)


@rule(np.delete, linear=True, reads=("obj",), facts=Facts(shaped_by=("obj",), indexes=True))
def delete(ct: Any, out: Any, arr: Any, obj: Any, axis: int | None = None) -> Any:
    shape = (arr.size,) if axis is None else arr.shape
    axis = 0 if axis is None else axis % arr.ndim
    kept = np.delete(np.arange(shape[axis]), obj)
    spread = zeros(shape, like=ct)
    spread[(slice(None),) * axis + (kept,)] = ct
    return np.reshape(spread, arr.shape)


def _rejoined(cts: Sequence[Any], shape: tuple[int, ...], sections: Any, axis: int) -> Any:
    """The cotangent of an array that was split along `axis`, zero where a part has none."""
    whole = zeros(shape, like=next(ct for ct in cts if ct is not None))
    for ct, positions in zip(cts, np.array_split(np.arange(shape[axis]), sections), strict=True):
        if ct is not None and len(positions):
            whole[(slice(None),) * axis + (slice(positions[0], positions[-1] + 1),)] += ct
    return whole


_CUT = Facts(shaped_by=("indices_or_sections",))


@rule(np.split, linear=True, reads=("indices_or_sections",), facts=_CUT)
def split(ct: Any, out: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _rejoined(ct, ary.shape, indices_or_sections, axis % ary.ndim)


@rule(np.array_split, linear=True, reads=("indices_or_sections",), facts=_CUT)
def array_split(ct: Any, out: Any, ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    return _rejoined(ct, ary.shape, indices_or_sections, axis % ary.ndim)


@rule(np.hsplit, linear=True, reads=("indices_or_sections",), facts=_CUT)
def hsplit(ct: Any, out: Any, ary: Any, indices_or_sections: Any) -> Any:
    return _rejoined(ct, ary.shape, indices_or_sections, min(ary.ndim - 1, 1))


@rule(np.vsplit, linear=True, reads=("indices_or_sections",), facts=_CUT)
def vsplit(ct: Any, out: Any, ary: Any, indices_or_sections: Any) -> Any:
    return _rejoined(ct, ary.shape, indices_or_sections, 0)


@rule(np.dsplit, linear=True, reads=("indices_or_sections",), facts=_CUT)
def dsplit(ct: Any, out: Any, ary: Any, indices_or_sections: Any) -> Any:
    return _rejoined(ct, ary.shape, indices_or_sections, 2)


@rule(np.unstack, linear=True, reads=())
def unstack(ct: Any, out: Any, x: Any, *, axis: int = 0) -> Any:
    parts = [None if one is None else np.expand_dims(one, axis) for one in ct]
    return _rejoined(parts, x.shape, x.shape[axis], axis % x.ndim)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x, y, vector = rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), rng.normal(size=4)
    yield from _cases_of_joining(x, y, vector)
    yield from _cases_of_editing(x, y, vector)
    for function in (np.split, np.array_split):
        yield Case(function, (vector, 2))
        yield Case(function, (vector[::-1], [1, 3]))
        yield Case(function, (x.T, np.array([1])), {"axis": 1})
    yield Case(np.array_split, (vector, 3))
    yield Case(np.hsplit, (x, [1]))
    yield Case(np.hsplit, (vector, 2))
    yield Case(np.vsplit, (x, 2))
    yield Case(np.dsplit, (rng.normal(size=(2, 1, 4)), 2))
    yield Case(np.unstack, (x,))
    yield Case(np.unstack, (x,), {"axis": -1})


def _cases_of_joining(x: np.ndarray, y: np.ndarray, vector: np.ndarray) -> Iterator[Case]:
    for axis in (0, 1, -1, None):
        yield Case(np.concatenate, ([x, y], axis))
        yield Case(np.concatenate, ((x[:, ::-1], y + 1j * x),), {"axis": axis})
        yield Case(np.append, (x, y, axis))
    yield Case(np.concatenate, (np.stack([x, y]),), {"axis": 1})
    yield Case(np.concatenate, ([x[:, :0], y, x[:, 1:]], 1))
    yield Case(np.concatenate, ([x.astype(np.float32), y[:1].astype(np.float32)],), tolerance=1e-2)
    for axis in (0, 1, -1):
        yield Case(np.stack, ([x, y], axis))
        yield Case(np.stack, ((x, y, x),), {"axis": axis})
    yield Case(np.stack, ([x[0, 0], y[0, 0]],))
    for function in (np.vstack, np.hstack, np.dstack, np.column_stack):
        yield Case(function, ([x, y],))
        yield Case(function, ((vector, vector[::-1]),))
        yield Case(function, (np.stack([x, y]),))
    yield Case(np.hstack, ([vector, x[0, 0], 2.0],))
    yield Case(np.vstack, ([x, y[0]],))
    yield Case(np.dstack, ([np.stack([x, y], 2), x, y[..., None]],))
    yield Case(np.column_stack, ([vector[:2], x],))
    yield Case(np.append, (vector, x[0, 0]))
    yield Case(np.block, ([x, y],))
    yield Case(np.block, ([[x, y], [y, x]],))
    yield Case(np.block, ([[x[:, :1], y], [vector]],))
    yield Case(np.block, (x,))


def _cases_of_editing(x: np.ndarray, y: np.ndarray, vector: np.ndarray) -> Iterator[Case]:
    yield Case(np.insert, (vector, 1, x[0, 0]))
    yield Case(np.insert, (vector, 1, x[0]))
    yield Case(np.insert, (vector, [1], x[0]))
    yield Case(np.insert, (vector, [3, 0, 3], x[0]))
    yield Case(np.insert, (vector, np.array([3, -4]), 0.5))
    yield Case(np.insert, (vector, slice(1, 3), x[0, :2]))
    yield Case(np.insert, (x, 2, y[0]))
    yield Case(np.insert, (x, 1, y[0]), {"axis": 0})
    yield Case(np.insert, (x, 1, y[:, 0]), {"axis": 1})
    yield Case(np.insert, (x, [1, 1], y[:, :2]), {"axis": -1})
    yield Case(np.insert, (x.T, [0, 2], vector[:2]), {"axis": 0})
    for chosen in (1, [0, -1], slice(None, None, 2), np.array([True, False, False, True])):
        yield Case(np.delete, (vector, chosen))
    yield Case(np.delete, (x, [0, 4]))
    yield Case(np.delete, (x.T, 1), {"axis": 0})
    yield Case(np.delete, (x, [0, 2], -1))
