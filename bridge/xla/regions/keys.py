"""From an index key to a window: NumPy's rules of basic indexing, with bounds known only at run time."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from bridge.errors import RefusedError
from bridge.xla.regions.affine import Affine, difference
from bridge.xla.regions.windows import Axis, Check, Guard, Window, axis, window

_FIXED_WIDTH = "take slices of a fixed width, `x[s:s + 3]`, or compute with all of x and a mask (`np.where`)"


def window_of(key: Any, lengths: tuple[int, ...]) -> Window:
    """The window that `array[key]` shows of an array of this shape.

    Integers and the bounds of slices may be `Affine`, which count from the end where they are negative; steps are
    integers. A slice is as long as its bounds are apart: out of range is one of which one bound alone is negative.

    Raises
    ------
    IndexError : a static index is out of range, or there are too many.
    RefusedError : the length of a slice depends on a run-time value.
    """
    parts = expanded(key, len(lengths))
    axes: list[Axis] = []
    outputs: list[int | None] = []
    for part in parts:
        if part is None:
            outputs.append(None)
            continue
        number = len(axes)
        length = lengths[number]
        if isinstance(part, slice):
            axes.append(slice_axis(part, length))
            outputs.append(number)
        else:
            axes.append(index_axis(part, length, number))
    return window(lengths, tuple(axes), tuple(outputs))


def expanded(key: Any, ndim: int) -> list[Any]:
    """The parts of a key, with full slices for the ellipsis and for the axes that it does not name."""
    parts = list(key) if isinstance(key, tuple) else [key]
    ellipses = sum(part is Ellipsis for part in parts)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not ellipses:
        parts.append(Ellipsis)
    taken = sum(axes_taken(part) for part in parts)
    if taken > ndim:
        raise IndexError(f"too many indices: the array has {ndim} axes, but {taken} were indexed")
    at = next(k for k, part in enumerate(parts) if part is Ellipsis)
    parts[at : at + 1] = [slice(None)] * (ndim - taken)
    return parts


def axes_taken(part: Any) -> int:
    """How many axes of the array one part of a key indexes."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    if getattr(part, "dtype", None) == np.bool_:
        return int(part.ndim)
    return 1


def index_axis(index: Any, length: int, number: int) -> Axis:
    """One place of an axis."""
    place = index if isinstance(index, Affine) else Affine(operator.index(index))
    if place.is_constant:
        if not -length <= place.constant < length:
            raise IndexError(f"index {place.constant} is out of bounds for axis {number} with size {length}")
        return axis(place.constant % length, 1)
    if not length:
        raise IndexError(f"an index into axis {number}, which has size 0")
    start = place.wrapped(length)
    guard = None
    if not start.is_within(0, length - 1):
        guard = Guard(Check(place, -length, length - 1), start, 0, length - 1, 1, Affine(0), length)
    return axis(start, 1, 1, guard)


def slice_axis(part: slice, length: int) -> Axis:
    """What a slice shows of an axis."""
    start, stop = _bound(part.start), _bound(part.stop)
    step = 1 if part.step is None else _bound(part.step)
    if isinstance(step, Affine):
        raise RefusedError(f"a slice whose step {step!r} depends on a run-time value", remedy=_FIXED_WIDTH)
    if not isinstance(start, Affine) and not isinstance(stop, Affine):
        places = range(*slice(start, stop, step).indices(length))
        return axis(places.start, len(places), step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    first = _end(start, 0 if step > 0 else length - 1, length)
    apart = difference(_end(stop, length if step > 0 else -1, length), first)
    if apart is None:
        raise RefusedError(
            f"a slice `{_as_text(part)}` of an axis of length {length}: its length depends on a run-time value",
            remedy=_FIXED_WIDTH,
        )
    size = max(0, -(-apart // step))
    if not size:
        return axis(0, 0)
    reach = (size - 1) * step
    low, high = max(0, -reach), length - 1 - max(0, reach)
    if low > high:
        raise IndexError(f"a slice `{_as_text(part)}` of {size} places, of an axis of length {length}")
    # As NumPy has them, both ends count from the beginning, or both from the end.
    begin, end = max(low, -apart), min(high, length - 1 - apart) - length
    if first.is_within(begin, high):
        return axis(first, size, step)
    start_in_array = first.wrapped(length)
    if first.is_within(low - length, end):
        return axis(start_in_array, size, step)
    least, _ = first.bounds()
    from_end = None if end < low - length or (least is not None and least >= 0) else (low - length, end)
    check = Check(first, begin, high, from_end, is_slice=True)
    return axis(start_in_array, size, step, Guard(check, start_in_array, low, high, 1, Affine(0), length))


def _bound(bound: Any) -> Any:
    """An end of a slice: None, a Python integer, or an `Affine` that depends on the run."""
    if bound is None or (isinstance(bound, Affine) and not bound.is_constant):
        return bound
    return bound.constant if isinstance(bound, Affine) else operator.index(bound)


def _end(bound: Any, absent: int, length: int) -> Affine:
    """The end of a slice whose other end is not constant."""
    if bound is None:
        return Affine(absent)
    if isinstance(bound, Affine):
        return bound
    return Affine(bound + length if bound < 0 else bound)


def _as_text(part: slice) -> str:
    ends = [_bound(end) for end in (part.start, part.stop)]
    words = ("" if end is None else "<run time>" if isinstance(end, Affine) else str(end) for end in ends)
    return ":".join(words) + ("" if part.step in (None, 1) else f":{part.step}")
