"""The smallest part of older memory that contains all writes of a loop or a branch; an enclosing loop keeps that part.

A row that is found by the index of the enclosing loop is the same row in every iteration of the inner one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bridge.rewind.log import Overwritten
from bridge.rewind.places import Element, Gathered, View
from bridge.xla.loops.key_substitution import Unknowns
from bridge.xla.loops.recorded_body import RecordedBody
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.windows import Axis, Window
from bridge.xla.tracing.write_order import region_of

Axes = tuple[Axis | None, ...]


def extents(trace: Any, recorded: Sequence[RecordedBody]) -> Iterator[Overwritten]:
    """Parts of memory that bodies write, as they are now; memory is left out of which they may write anything."""
    found: dict[Any, Axes | None] = {root: None for one in recorded for root in one.whole}
    for one in recorded:
        for place in one.places:
            axes = _settled_axes(place, one.unknowns)
            if place.root in found:
                axes = _merged(found[place.root], axes)
            found[place.root] = axes
    for root, axes in found.items():
        if axes is not None and any(axes):
            key = tuple(_key_of(trace, axis, n) for axis, n in zip(axes, root.shape, strict=True))
            saved = root.held[key]
            if any(type(part) is slice for part in key):
                yield Overwritten(View(root, key, saved), root.held, key, saved.copy())
            else:
                yield Overwritten(Element(root, key, saved), root.held, key, saved)


def _settled_axes(place: Any, unknowns: Unknowns) -> Axes | None:
    """What of each axis a place is found in, whatever its body computes: None is all of an axis, or of all axes."""
    place = place.parent if isinstance(place, Gathered) else place
    region = region_of(place)
    first = region.steps[0] if region is not None and region.steps else None
    if not isinstance(first, Window):
        return None
    pairs = zip(first.axes, first.lengths, strict=True)
    return tuple(axis if axis.size < n and _is_settled(axis, n, unknowns) else None for axis, n in pairs)


def _is_settled(axis: Axis, length: int, unknowns: Unknowns) -> bool:
    if axis.guard is None:
        return axis.step == 1 and not _varies(axis.start, unknowns)
    # The place of one index alone, as it was given.
    guard = axis.guard
    is_one = axis.size == 1 and axis.start == guard.base and guard.count == length
    return is_one and not guard.check.is_slice and not _varies(guard.check.value, unknowns)


def _varies(form: Affine, unknowns: Unknowns) -> bool:
    return any(map(unknowns.varies, form.grounds()))


def _merged(one: Axes | None, other: Axes | None) -> Axes | None:
    if one is None or other is None:
        return None
    return tuple(a if a == b else None for a, b in zip(one, other, strict=True))


def _key_of(trace: Any, axis: Axis | None, length: int) -> Any:
    if axis is None:
        return slice(None)
    if axis.guard is not None:
        # An index that may lie outside is an error where it is used, which it may not be.
        return np.clip(_integer(trace, axis.guard.check.value), -length, length - 1)
    if axis.size == 1:
        return _integer(trace, axis.start)
    return slice(_integer(trace, axis.start), _integer(trace, axis.start + axis.size))


def _integer(trace: Any, form: Affine) -> Any:
    return form.constant if form.is_constant else trace.integer(form)
