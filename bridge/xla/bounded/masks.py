"""Masks over the static array: what of it is there; and the same elements at other places."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.bounded.bounded import Bounded, Extents
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import clamped, made, number
from bridge.xla.regions.affine import Affine


def inside(trace: Any, shape: tuple[int, ...], extents: Extents) -> Any:
    """Which places of an array of this shape are there: a Buffer of booleans that broadcasts against it, or None."""
    both = zip(extents, shape, strict=True)
    lacking = [one is not None and not _is_all_there(one, size) for one, size in both]
    if not any(lacking):
        return None
    spread = tuple(size if one else 1 for one, size in zip(lacking, shape, strict=True))
    return made(trace, np.zeros(spread, bool), _mask, shape, extents)


def _mask(shape: tuple[int, ...], extents: Extents) -> Any:
    mask: Any = True
    for axis, (one, size) in enumerate(zip(extents, shape, strict=True)):
        if one is not None and not _is_all_there(one, size):
            mask = mask & jnp.reshape(_there(one, size), [size if k == axis else 1 for k in range(len(shape))])
    return mask


def _is_all_there(one: Extent, size: int) -> bool:
    return one.step == 1 and not _may_lack_first(one) and not _may_lack_last(one, size)


def _may_lack_first(one: Extent) -> bool:
    high = one.first.bounds()[1]
    return high is None or high > 0


def _may_lack_last(one: Extent, size: int) -> bool:
    low = (one.first + one.length).bounds()[0]
    return low is None or low < size


def _there(one: Extent, size: int) -> Any:
    """Which places of an axis are there."""
    at = lax.iota(np.int64, size)
    first, length = one.first.value(), one.length.value()
    if one.step != 1:
        turn, rest = jnp.divmod(at - first, one.step)
        return (rest == 0) & (turn >= 0) & (turn < length)
    after = at >= first if _may_lack_first(one) else True
    return after & (at < first + length) if _may_lack_last(one, size) else after


def masked(x: Bounded, value: Any) -> Any:
    """The static array with a number in all places that are not there."""
    mask = inside(x.trace, x.whole.shape, x.extents)
    return x.whole if mask is None else np.where(mask, x.whole, np.asarray(value).astype(x.dtype)[()])


def dense(x: Bounded) -> Bounded:
    """The same elements at neighbouring places: itself, or a copy of an array with a step."""
    whole, extents = x.whole, list(x.extents)
    for axis, one in enumerate(extents):
        if one is None or one.step == 1:
            continue
        size = whole.shape[axis]
        most = size if one.most is None else min(size, one.most)
        at = made(x.trace, np.zeros(most, np.int64), _places, one, most, size)
        whole = whole[(slice(None),) * axis + (at,)]
        extents[axis] = Extent(Affine.of(0), one.length)
    return x if whole is x.whole else Bounded(whole, tuple(extents))


def _places(one: Extent, most: int, size: int) -> Any:
    """Where the elements of an array with a step lie; anywhere, for those that are not there."""
    return jnp.clip(one.first.value() + one.step * np.arange(most), 0, max(0, size - 1))


def moved(trace: Any, whole: Any, axis: int, one: Extent, first: Affine, size: int) -> Any:
    """An array of `size` on an axis, on which the part that is there begins at `first`; what is not there is anything.

    The extent has no step, and the part fits.
    """
    given = whole.shape[axis]
    if one.first == first and given == size:
        return whole
    before = (slice(None),) * axis
    if not hasattr(whole, "place"):
        whole = trace.constant_buffer(np.asarray(whole))
    if one.first == first and size < given:
        return whole[(*before, slice(0, size))]
    # Between zeros, a window of `size` places lies inside wherever it begins.
    start = one.first - first
    low, high = start.bounds()
    start = clamped(trace, start, Affine.of(-size), Affine.of(given))
    before_it = size if low is None else min(size, max(0, -low))
    after_it = size if high is None else min(size, max(0, high + size - given))
    parts = [_zeros(whole, axis, before_it), whole, _zeros(whole, axis, after_it)]
    between = np.concatenate([part for part in parts if part is not None], axis)
    at = number(trace, start + before_it)
    return between[(*before, slice(at, at + size))]


def _zeros(whole: Any, axis: int, count: int) -> Any:
    """So many zeros to be joined to an array; None for none."""
    shape = [count if k == axis else n for k, n in enumerate(whole.shape)]
    return np.zeros(shape, whole.dtype) if count else None


def element(trace: Any, whole: Any, axis: int, one: Extent) -> Any:
    """The first element of the part that is there, on an axis of length 1; anything if there is none."""
    last = Affine.of(max(0, whole.shape[axis] - 1))
    at = number(trace, clamped(trace, one.first, Affine.of(0), last))
    return whole[(slice(None),) * axis + (slice(at, at + 1),)]
