"""Advanced indexing: index arrays, slices, and where NumPy puts their axes in the result."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.errors import RefusedError
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.keys import axes_taken, slice_axis
from bridge.xla.regions.window_access import places_of, start_in_range
from bridge.xla.regions.windows import Axis

Shape = tuple[int, ...]


@dataclass
class AdvancedIndex:
    """An advanced key, taken apart.

    The elements are laid out with *batch* axes first: those of the broadcast index arrays (`broadcast`), then
    one for each slice in `batched`; then those of the slices in `windows`, contiguous parts of an axis.

    Parameters
    ----------
    columns : for each axis that an index array or a batched slice indexes, the places, broadcastable to the batch.
    arrays : the columns of the index arrays alone, broadcastable to `broadcast`.
    valid : which index tuples are in range, broadcastable to `broadcast`; None if they all are, or were moved there.
    inside : for each batched slice that may lie outside in part, by its axis, which of its places do not.
    result : for each axis of the result its axis in the layout above, None for a new one.
    """

    lengths: Shape
    broadcast: Shape
    columns: dict[int, Any]
    arrays: dict[int, Any]
    batched: dict[int, Axis]
    windows: dict[int, Axis]
    valid: Any
    inside: dict[int, Any]
    result: list[int | None]

    @property
    def batch(self) -> Shape:
        return self.broadcast + tuple(one.size for one in self.batched.values())

    @property
    def laid_out(self) -> Shape:
        return self.batch + tuple(one.size for one in self.windows.values())

    @property
    def shape(self) -> Shape:
        """The shape of `array[key]`."""
        return tuple(1 if k is None else self.laid_out[k] for k in self.result)

    @property
    def backward(self) -> list[int]:
        """The axes of the layout along which the result runs backward."""
        slices = [*self.batched.values(), *self.windows.values()]
        return [len(self.broadcast) + k for k, one in enumerate(slices) if one.step < 0]

    @property
    def is_static(self) -> bool:
        """Whether the index arrays are known now."""
        return all(isinstance(array, np.ndarray) for array in self.arrays.values())


def advanced_index(key: Any, lengths: Shape, mode: str) -> AdvancedIndex:
    """Take a key apart; indices out of range are moved into it in modes "error" and "clip".

    Raises
    ------
    IndexError : a static index is out of range, or there are too many.
    RefusedError : a boolean mask known only at run time, or a slice whose length is.
    """
    masked = mode in ("fill", "drop")
    indices, slices, free, at = _parts(key, lengths)
    arrays: dict[int, Any] = {}
    valid: Any = None
    shapes = [index.shape for axis, index in indices if axis is None]
    for axis, index in indices:
        if axis is None:
            continue
        arrays[axis], in_range = _places(index, lengths[axis], axis, masked)
        shapes.append(arrays[axis].shape)
        if in_range is not None:
            valid = in_range if valid is None else valid & in_range
    broadcast = np.broadcast_shapes(*shapes)
    is_batched = {k: abs(one.step) > 1 or (masked and one.guard is not None) for k, one in slices.items()}
    batched = {k: one for k, one in slices.items() if is_batched[k]}
    windows = {k: one for k, one in slices.items() if not is_batched[k]}
    inside: dict[int, Any] = {}
    columns = {k: array.reshape(array.shape + (1,) * len(batched)) for k, array in arrays.items()}
    for number, (k, one) in enumerate(batched.items()):
        places = start_in_range(one) + np.arange(one.size) * abs(one.step)
        if masked and one.guard:
            places, inside[k] = places_of(one)
        columns[k] = places.reshape((-1,) + (1,) * (len(batched) - 1 - number))
    rank = len(broadcast)
    where = {k: rank + number for number, k in enumerate([*batched, *windows])}
    result = [None if k is None else where[k] for k in free]
    result[at:at] = range(rank)
    return AdvancedIndex(lengths, broadcast, columns, arrays, batched, windows, valid, inside, result)


def _parts(key: Any, lengths: Shape) -> tuple[list[tuple[int | None, Any]], dict[int, Axis], list[int | None], int]:
    """The index arrays and the slices of a key, with their axes, and where the arrays' axes lie in the result.

    That is said by the other axes of the result, None for a new one, and how many of these come first.
    """
    parts = [_known(part) for part in (key if isinstance(key, tuple) else (key,))]
    ellipses = [k for k, part in enumerate(parts) if part is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    at = ellipses[0] if ellipses else len(parts)
    taken = sum(axes_taken(part) for part in parts)
    if taken > len(lengths):
        raise IndexError(f"too many indices: the array has {len(lengths)} axes, but {taken} were indexed")
    # An ellipsis separates index arrays also where it stands for no axis.
    numbers = [*range(at), *([at] * (len(lengths) - taken)), *range(at + 1, len(parts))]
    parts[at : at + 1] = [slice(None)] * (len(lengths) - taken)
    indices: list[tuple[int | None, Any]] = []
    slices: dict[int, Axis] = {}
    free: list[int | None] = []
    places: list[int] = []
    before: list[int] = []
    axis = 0
    for number, part in zip(numbers, parts, strict=True):
        if part is None:
            free.append(None)
        elif isinstance(part, slice):
            slices[axis] = slice_axis(part, lengths[axis])
            free.append(axis)
            axis += 1
        else:
            places.append(number)
            before.append(len(free))
            for index in _indices(part, lengths[axis:], axis):
                indices.append((None if axes_taken(part) == 0 else axis, index))
                axis += axes_taken(part) > 0
    adjacent = places == list(range(places[0], places[0] + len(places))) if places else True
    return indices, slices, free, before[0] if places and adjacent else 0


def _known(part: Any) -> Any:
    """A part of a key, lists as arrays; RefusedError for a boolean mask known only at run time."""
    if isinstance(part, (list, tuple)):
        part = np.asarray(part) if len(part) else np.empty(0, np.intp)
    if isinstance(part, jax.Array) and part.dtype == np.bool_:
        raise RefusedError(
            f"an index by a boolean mask of shape {part.shape} that is known only at run time: "
            "how many elements it picks depends on the run",
            remedy="np.where(mask, a, b) instead of a[mask] and a[mask] = b, or integer indices of a fixed number",
        )
    return part


def _indices(part: Any, lengths: Shape, axis: int) -> list[Any]:
    """The integer index arrays that one part of a key stands for."""
    if isinstance(part, (Affine, jax.Array)):
        return [part]
    array = np.asarray(part)
    if array.dtype != np.bool_:
        return [array]
    if array.ndim == 0:
        return [np.zeros(int(array), np.intp)]
    for k, (own, length) in enumerate(zip(array.shape, lengths, strict=False)):
        if own != length:
            raise IndexError(f"a boolean index of size {own} along axis {axis + k}, which has size {length}")
    return list(array.nonzero())


def _places(index: Any, length: int, axis: int, masked: bool) -> tuple[Any, Any]:
    """Places on an axis, and which are in range; None if all are, or were moved there."""
    if isinstance(index, Affine) and index.is_constant:
        index = np.asarray(index.constant)
    if isinstance(index, np.ndarray):
        wrong = index[(index < -length) | (index >= length)]
        if wrong.size:
            raise IndexError(f"index {wrong[0]} is out of bounds for axis {axis} with size {length}")
        return np.where(index < 0, index + length, index).astype(np.int64), None
    if isinstance(index, Affine):
        wrapped = index.wrapped(length)
        places = jnp.asarray(wrapped.value(), int)
        if wrapped.is_within(0, length - 1):
            return places, None
    else:
        places = index.astype(int)
        places = jnp.where(places < 0, places + length, places)
    if not length and places.size:
        raise IndexError(f"an index into axis {axis}, which has size 0")
    if masked:
        valid = (places >= 0) & (places < length)
        # XLA indexes in 32 bits: what lies outside of these must not come back in.
        return jnp.where(valid, places, length), valid
    return jnp.clip(places, 0, length - 1), None


def out_of_range(key: Any, shape: Shape) -> Any:
    """Whether any run-time index or slice of a key is out of range; None if it is known that none is."""
    indices, slices, _, _ = _parts(key, shape)
    wrong = []
    for axis, index in indices:
        if isinstance(index, Affine) and index.is_within(-shape[axis or 0], shape[axis or 0] - 1):
            continue
        if axis is not None and not isinstance(index, np.ndarray):
            value = index.value() if isinstance(index, Affine) else index.astype(int)
            wrong.append(jnp.any((value < -shape[axis]) | (value >= shape[axis])))
    for one in slices.values():
        if one.guard is not None:
            wrong.append(one.guard.check.fails())
    return functools.reduce(operator.or_, wrong) if wrong else None


def surviving(index: AdvancedIndex) -> Any:
    """Which index tuples survive a write, of shape `index.broadcast`; None if it is known that all do.

    Of tuples that name the same element the last one does. Costs a sort of the tuples.
    """
    count = math.prod(index.broadcast)
    lengths = [index.lengths[k] for k in index.arrays]
    codes: Any = np.zeros(index.broadcast, np.int64)
    for array, length in zip(index.arrays.values(), lengths, strict=True):
        codes = codes * length + array
    if index.is_static:
        from_end = np.unique(codes.ravel()[::-1], return_index=True)[1]
        if from_end.size == count:
            return None
        survives = np.zeros(count, bool)
        survives[count - 1 - from_end] = True
        return survives.reshape(index.broadcast)
    valid = index.valid
    if count > 1:
        if valid is not None:
            codes = jnp.where(valid, codes, -1)
        order = jnp.argsort(codes.ravel(), stable=True)
        ordered = codes.ravel()[order]
        ends = jnp.append(ordered[1:] != ordered[:-1], True)
        last = jnp.zeros(count, bool).at[order].set(ends, unique_indices=True, mode="promise_in_bounds")
        last = last.reshape(index.broadcast)
        return last if valid is None else last & valid
    return None if valid is None else jnp.broadcast_to(valid, index.broadcast)
