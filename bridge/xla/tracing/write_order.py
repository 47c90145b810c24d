"""Whether NumPy may read what it has just overwritten, where it writes memory from memory at places found by a run.

An array of one axis that is written from one at another step is not copied first (`arrays.overlapping`): NumPy goes
from element to element, from the last on if the value lies before what is written. The order does not count where the
two meet nowhere, or in an element that is read and written at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from bridge.errors import RefusedError
from bridge.rewind.places import Layout, Place, Walk
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.region import Region
from bridge.xla.regions.windows import Axis, Window
from bridge.xla.tracing.accessing import as_region_key


class _Keys(Walk):
    """Which region of its root a place names; None for a view by address."""

    __slots__ = ()

    def index(self, above: Region | None, key: Any) -> Region | None:
        return None if above is None else above.index(as_region_key(key))

    def layout(self, above: Any, part: Layout) -> None:
        return None


_KEYS = _Keys()


def region_of(place: Place) -> Region | None:
    """What of its root a place is, as it was indexed; None where that is not known."""
    try:
        found: Region | None = place.within(Region.whole(place.root.shape), _KEYS)
    except (RefusedError, IndexError):
        return None
    return found


class Line(NamedTuple):
    """Elements of an array on one line: the first, along which axis the others lie, at which step, and how many."""

    first: tuple[Affine, ...]
    along: int
    step: int
    length: Affine


def line(place: Place, extent: tuple[Affine, Affine, int] | None = None) -> Line | None:
    """The elements of a place of one axis; of those, if they are not all meant, the first, how many and their step."""
    region = region_of(place)
    axes = None if region is None else _axes(region)
    if axes is None:
        return None
    long = [number for number, axis in enumerate(axes) if axis.size != 1]
    if len(long) > 1:
        return None
    along = long[0] if long else 0
    first, (start, length, step) = [axis.start for axis in axes], extent or (Affine(0), Affine(axes[along].size), 1)
    first[along] = first[along] + start * axes[along].step
    return Line(tuple(first), along, axes[along].step * step, length)


def keeps_its_value(target: Line | None, value: Line | None) -> bool:
    """Whether it is known that no element of a value is overwritten before it is read, if NumPy copies neither."""
    if target is None or value is None:
        return False
    if target.step * value.step < 0 or (target.along, target.step) == (value.along, value.step):
        return True
    both = range(len(target.first))
    if any(_differ(target.first[k], value.first[k]) for k in both if k not in (target.along, value.along)):
        return True
    return _follows(target, value) if target.along == value.along else _crosses_at_once(target, value)


def _follows(target: Line, value: Line) -> bool:
    """Of two on one axis: whether the value goes ahead and draws away, or neither reaches the other."""
    ahead = (value.first[value.along] - target.first[target.along]) * (1 if target.step > 0 else -1)
    if value.step >= target.step > 0 and _is_least(ahead, 0):
        return True
    last = target.length - 1
    return _is_least(ahead - last * abs(target.step), 1) or _is_least(-ahead - last * abs(value.step), 1)


def _crosses_at_once(target: Line, value: Line) -> bool:
    """Of two that have one element in common: whether it is read and written at once, or lies on neither."""
    if abs(target.step) != 1 or abs(value.step) != 1:
        return False
    read = (target.first[value.along] - value.first[value.along]) * value.step
    written = (value.first[target.along] - target.first[target.along]) * target.step
    return read == written or any(
        _is_least(-number, 1) or _is_least(number - target.length, 0) for number in (read, written)
    )


def _axes(region: Region) -> tuple[Axis, ...] | None:
    if not region.steps:
        return tuple(Axis(Affine(0), size) for size in region.shape)
    window = region.steps[0]
    return window.axes if isinstance(window, Window) and len(region.steps) == 1 else None


def _differ(one: Affine, other: Affine) -> bool:
    apart = one - other
    return _is_least(apart, 1) or _is_least(-apart, 1)


def _is_least(form: Affine, number: int) -> bool:
    low = form.bounds()[0]
    return low is not None and low >= number
