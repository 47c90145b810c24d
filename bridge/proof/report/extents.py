"""Which bytes of its memory a place or an array occupies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bridge.rewind.memory import address
from bridge.rewind.places import Alias, Layout, View
from bridge.rewind.roots import Root

Extent = tuple[int, int]


def size_of(root: Any) -> int:
    """Bytes of a root's memory."""
    return math.prod(root.shape) * root.dtype.itemsize


def extent_of(place: Any) -> Extent:
    """First and last byte, the last one excluded, of `place` in the memory of its root.

    Of a strided or gathered place it is the span: bytes inside of it may belong to others.
    """
    if isinstance(place, Root):
        return 0, size_of(place)
    start, ghost = _ghost(place)
    if not ghost.size:
        return start, start
    low, high = np.lib.array_utils.byte_bounds(ghost)
    first = start + low - address(ghost)
    return first, first + high - low


def _ghost(place: Any) -> tuple[int, np.ndarray]:
    """Offset of a place's first byte, and an array that lies as the place does, whose elements must not be read."""
    if isinstance(place, Root):
        return 0, _lying(place.shape, place.strides, place.dtype)
    if isinstance(place, Layout):
        start, _ = _ghost(place.parent)
        offset, like = place.key
        return start + offset, _lying(like.shape, like.strides, like.dtype)
    start, ghost = _ghost(place.parent)
    if isinstance(place, Alias):
        return start, ghost
    key = place.key if isinstance(place, View) else bounding(place.key, ghost.shape)
    parts = key if isinstance(key, tuple) else (key,)
    # Always a view, also of one element: reading the ghost would read memory that is not its own.
    view = ghost[parts if any(part is Ellipsis for part in parts) else (*parts, Ellipsis)]
    return start + address(view) - address(ghost), view


def _lying(shape: tuple[int, ...], strides: tuple[int, ...] | None, dtype: Any) -> np.ndarray:
    seed = np.empty(1, dtype)
    if strides is None:
        strides = tuple(math.prod(shape[k + 1 :]) * seed.itemsize for k in range(len(shape)))
    return np.lib.stride_tricks.as_strided(seed, shape, strides, writeable=False)


def bounding(key: Any, shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Slices, one for each axis of `shape`, that cover what `key` picks."""
    parts = key if isinstance(key, tuple) else (key,)
    consumed = sum(_axes(part) for part in parts)
    slices: list[slice] = []
    for part in parts:
        if part is Ellipsis:
            slices += [slice(None)] * (len(shape) - consumed)
        elif isinstance(part, slice):
            slices.append(part)
        elif part is not None:
            slices += _covered(np.asarray(part), shape[len(slices) :])
    return (*slices, *[slice(None)] * (len(shape) - len(slices)))


def _axes(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    if isinstance(part, slice):
        return 1
    array = np.asarray(part)
    return array.ndim if array.dtype == bool else 1


def _covered(index: np.ndarray, lengths: tuple[int, ...]) -> list[slice]:
    if index.dtype == bool:
        if not index.ndim:
            return []
        return [_span(chosen) for chosen in np.nonzero(index)]
    return [_span(np.where(index < 0, index + lengths[0], index))]


def _span(chosen: np.ndarray) -> slice:
    return slice(int(chosen.min()), int(chosen.max()) + 1) if chosen.size else slice(0, 0)
