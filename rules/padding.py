"""`np.pad` in every mode, written in operations that have rules.

NumPy pads one axis after the other, so that a corner is a pad of a pad; the equivalent here does the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, RefusedError, composed


@composed(np.pad, facts=Facts(shaped_by=("pad_width",)))
def pad(
    array: Any,
    pad_width: Any,
    mode: str = "constant",
    *,
    constant_values: Any = 0,
    end_values: Any = 0,
    stat_length: Any = None,
    reflect_type: str = "even",
) -> Any:
    if callable(mode):
        raise RefusedError(
            "np.pad(mode=<function>) writes into plain vectors, where tracking is lost",
            remedy="pad with mode='constant' and write into the result",
        )
    constants = _pairs(constant_values, array.ndim)
    ends = _pairs(end_values, array.ndim)
    lengths = None if stat_length is None else _pairs(stat_length, array.ndim)
    for axis, (before, after) in enumerate(_widths(pad_width, array.ndim)):
        if before == after == 0:
            continue
        if mode in ("constant", "empty"):
            array = _between(constants[axis, 0], array, constants[axis, 1], axis, before, after)
        elif mode == "linear_ramp":
            array = _ramped(array, ends[axis, 0], ends[axis, 1], axis, before, after)
        elif mode in STATISTICS:
            stretch = (None, None) if lengths is None else lengths[axis]
            array = _with_statistics(array, STATISTICS[mode], stretch, axis, before, after)
        elif reflect_type == "odd" and mode in ("reflect", "symmetric"):
            array = _reflected_oddly(array, mode, axis, before, after)
        else:
            sources = np.pad(np.arange(array.shape[axis]), (before, after), mode=mode)
            array = np.take(array, sources, axis)
    return array


STATISTICS = {"maximum": np.max, "minimum": np.min, "mean": np.mean, "median": np.median}


def _widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    """How many elements are added before and after, for each axis."""
    if isinstance(pad_width, dict):
        by_axis = {axis % ndim: np.broadcast_to(width, 2) for axis, width in pad_width.items()}
        pairs = [by_axis.get(axis, (0, 0)) for axis in range(ndim)]
    else:
        pairs = list(np.broadcast_to(pad_width, (ndim, 2)))
    return [(int(before), int(after)) for before, after in pairs]


def _pairs(values: Any, ndim: int) -> Any:
    """What holds before and after each axis: an array of shape `(ndim, 2)`."""
    return np.broadcast_to(values, (ndim, 2))


def _part(array: Any, axis: int, start: int | None, stop: int | None) -> Any:
    return array[(slice(None),) * axis + (slice(start, stop),)]


def _between(left: Any, array: Any, right: Any, axis: int, before: int, after: int) -> Any:
    """`array` between `before` copies of `left` and `after` copies of `right`, both of which broadcast."""
    shape = list(array.shape)
    shape[axis] = before
    head = np.broadcast_to(left, tuple(shape))
    shape[axis] = after
    tail = np.broadcast_to(right, tuple(shape))
    return np.concatenate([head, array, tail], axis, dtype=array.dtype, casting="unsafe")


def _ramped(array: Any, left: Any, right: Any, axis: int, before: int, after: int) -> Any:
    along = (-1,) + (1,) * (array.ndim - axis - 1)
    rising = np.reshape(np.arange(before) / max(before, 1), along)
    falling = np.reshape(np.arange(after)[::-1] / max(after, 1), along)
    head = left + rising * (_part(array, axis, None, 1) - left)
    tail = right + falling * (_part(array, axis, -1, None) - right)
    return np.concatenate([head, array, tail], axis, dtype=array.dtype, casting="unsafe")


def _with_statistics(array: Any, statistic: Any, stretch: Any, axis: int, before: int, after: int) -> Any:
    """Pads with `statistic` of the first and of the last elements, `stretch` of them (None for all)."""
    first, last = (None if count is None else min(int(count), array.shape[axis]) for count in stretch)
    left = statistic(_part(array, axis, None, first), axis=axis, keepdims=True)
    right = statistic(_part(array, axis, None if last is None else -last, None), axis=axis, keepdims=True)
    return _between(left, array, right, axis, before, after)


def _reflected_oddly(array: Any, mode: str, axis: int, before: int, after: int) -> Any:
    """Continues by point reflections about both ends: twice the end, minus the mirrored element.

    Two of them together are a translation by `2 * period`, which adds twice the difference of the ends.
    """
    length = array.shape[axis]
    if length == 1:
        return np.repeat(array, before + 1 + after, axis)
    period = length - 1 if mode == "reflect" else length
    turns, position = np.divmod(np.arange(-before, length + after), 2 * period)
    mirrored = position >= length
    sources = np.where(mirrored, length + period - 1 - position, position)
    along = (-1,) + (1,) * (array.ndim - axis - 1)
    first, last = _part(array, axis, None, 1), _part(array, axis, -1, None)
    picked = np.take(array, sources, axis)
    picked = np.where(np.reshape(mirrored, along), 2 * last - picked, picked)
    return picked + np.reshape(2 * turns, along) * (last - first)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    vector, matrix = rng.normal(size=4), rng.normal(size=(3, 4))
    for mode in ("constant", "edge", "wrap", "reflect", "symmetric", "linear_ramp", *STATISTICS):
        yield Case(np.pad, (vector, 2, mode))
        yield Case(np.pad, (vector, (0, 9)), {"mode": mode})
        yield Case(np.pad, (matrix.T, ((1, 2), (0, 3)), mode))
        yield Case(np.pad, (matrix[::2],), {"pad_width": {-1: (2, 1)}, "mode": mode})
        yield Case(np.pad, (vector.astype(np.float32), 1, mode), tolerance=1e-2)
    for mode in ("reflect", "symmetric"):
        for widths in (2, (5, 11), (0, 1)):
            yield Case(np.pad, (vector, widths, mode), {"reflect_type": "odd"})
        yield Case(np.pad, (matrix, 7, mode), {"reflect_type": "odd"})
        yield Case(np.pad, (vector[:1], 3, mode), {"reflect_type": "odd"})
    for mode in STATISTICS:
        yield Case(np.pad, (matrix, ((1, 2), (0, 3)), mode), {"stat_length": 2})
        yield Case(np.pad, (matrix, 1, mode), {"stat_length": ((1, 2), (3, 9))})
    yield Case(np.pad, (matrix, 1), {"constant_values": 2.0})
    yield Case(np.pad, (matrix, 1), {"constant_values": rng.normal(size=(2, 2))})
    yield Case(np.pad, (matrix, (1, 2), "linear_ramp"), {"end_values": rng.normal(size=(2, 2))})
    yield Case(np.pad, (matrix + 1j * matrix[::-1], 1))
