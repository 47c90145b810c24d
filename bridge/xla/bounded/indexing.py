"""Indexing: `x[i:j]` of an array of any length, and writes into it."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from bridge.rewind.values import concrete_key, is_abstract, is_abstract_integer
from bridge.xla.bounded.bounded import Bounded, knows, shown, unknown
from bridge.xla.bounded.elementwise import assign, rank
from bridge.xla.bounded.extents import Extent, is_unknown, narrowed, places
from bridge.xla.bounded.gathering import gathered, scattered
from bridge.xla.bounded.integers import clamped, from_start, maximum, number
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.keys import expanded
from bridge.xla.tracing.compiled_home import WINDOWS
from bridge.xla.tracing.integers import affine_of


def is_windowed(key: Any) -> bool:
    """Whether the shape of what a key shows of an array of static shape is known only when the program runs."""
    parts = key if type(key) is tuple else (key,)
    return any(isinstance(part, Bounded) or is_unknown(part) for part in parts)


def window(array: Any, key: Any) -> Any:
    """`array[key]` of a Buffer, for such a key."""
    return _indexed(array, key)


def write_window(array: Any, key: Any, value: Any) -> None:
    """`array[key] = value` of a Buffer, where the key or the value has a run-time length."""
    source = value.source if isinstance(value, Bounded) else None
    if source is not None and source[0] is array and _is_same_key(source[1], key):
        return  # what an augmented assignment stores is the view that it has just updated
    if isinstance(key, Bounded) and key.dtype.kind == "b":
        if not isinstance(array, Bounded) or key.ndim != array.ndim or rank(value):
            raise unknown("a write of an array through a mask", "use np.where(mask, values, x)")
        array[...] = np.where(key, value, array)
        return
    parts = expanded(key, array.ndim)
    if any(map(_is_array, parts)):
        scattered(array, parts, _basic, value)
        return
    # With an ellipsis also an element is a view.
    target = _basic(array, [*parts, Ellipsis])
    assign(target if isinstance(target, Bounded) else Bounded(target, (None,) * target.ndim), value)


@knows(operator.getitem)
def getitem(x: Bounded, key: Any) -> Any:
    """`x[key]`."""
    return _indexed(x, concrete_key(key))


@knows(operator.setitem)
def setitem(x: Bounded, key: Any, value: Any) -> None:
    """`x[key] = value`."""
    write_window(x, concrete_key(key), value)


def _indexed(x: Any, key: Any) -> Any:
    parts = expanded(key, x.ndim)
    if any(map(_is_array, parts)):
        return gathered(x, parts, _basic)
    found = _basic(x, parts)
    if isinstance(found, Bounded):
        found.source = x, key
    return found


def _is_array(part: Any) -> bool:
    if isinstance(part, (Bounded, list, np.ndarray)) or (hasattr(part, "view_as") and part.shape):
        return True
    return isinstance(part, (bool, np.bool_)) or (is_abstract(part) and part.dtype.kind == "b")


def _basic(x: Any, parts: list[Any]) -> Any:
    """Slices, integers and new axes."""
    extents = iter(x.extents if isinstance(x, Bounded) else (None,) * x.ndim)
    whole = x.whole if isinstance(x, Bounded) else x
    trace = whole.place.context.home.trace
    lengths = iter(whole.shape)
    key: list[Any] = []
    flips: list[Any] = []
    kept: list[Extent | None] = []
    for part in parts:
        if part is Ellipsis:
            key.append(part)
            continue
        if part is None:
            key.append(None)
            kept.append(None)
            flips.append(slice(None))
            continue
        extent, size = next(extents), next(lengths)
        if type(part) is not slice:
            key.append(part if extent is None else _place(trace, part, extent, size))
            continue
        if (extent is None and not is_unknown(part)) or part == slice(None):
            key.append(part)
            kept.append(extent)
            flips.append(slice(None))
            continue
        own, of_whole, flip = _sliced(trace, part, extent, size)
        key.append(of_whole)
        kept.append(own)
        flips.append(slice(None, None, -1) if flip else slice(None))
    with trace.faults.cut():
        found = whole[tuple(key)]
    if any(flip.step for flip in flips):
        found = found[tuple(flips)]
    return shown(found, tuple(kept)) if kept else found


def _sliced(trace: Any, part: slice, extent: Extent | None, size: int) -> tuple[Extent, slice, bool]:
    """What a slice leaves of an axis: the extent in the part of the static axis that is shown, and whether reversed."""
    outer = Extent(Affine.of(0), Affine.of(size)) if extent is None else extent
    start, count, step = places(trace, part, outer.length)
    first, step = outer.first + start * outer.step, outer.step * step
    if abs(step) > 1:
        return Extent(first, count, step), slice(None), False
    # The lowest place; where nothing is there, one on the axis.
    low = first if step == 1 else first - count + 1
    low = clamped(trace, low, Affine.of(0), Affine.of(size))
    begin, width, low = narrowed(trace, low, count, size)
    at = number(trace, begin)
    if step == -1:
        low = maximum(trace, Affine.of(0), width - low - count)
    return Extent(low, count), slice(None) if width == size else slice(at, at + width), step == -1


def _place(trace: Any, index: Any, extent: Extent, size: int) -> Any:
    """The place on the static axis of one element of what is there."""
    if not is_abstract_integer(index) and not isinstance(index, (int, np.integer)):
        raise IndexError("only integers, slices (`:`), ellipsis (`...`) and integer arrays are valid indices")
    form = affine_of(index)
    length = extent.length
    counted = from_start(trace, form, length)
    low, beyond = counted.bounds()[0], (length - counted).bounds()[0]
    if low is None or low < 0 or beyond is None or beyond < 1:
        if trace.index_mode in ("fill", "drop"):
            raise unknown(f"index_mode={trace.index_mode!r} for an element", 'use index_mode="error" or "clip"')
        trace.faults.check_place(counted, length, form, size)
        counted = clamped(trace, counted, Affine.of(0), maximum(trace, Affine.of(0), length - 1))
    place = clamped(trace, extent.first + counted * extent.step, Affine.of(0), Affine.of(max(0, size - 1)))
    return number(trace, place)


def _is_same_key(a: Any, b: Any) -> bool:
    """Whether two keys are made of the very same integers."""
    both = [one if type(one) is tuple else (one,) for one in (a, b)]
    return len(both[0]) == len(both[1]) and all(map(_is_same_part, *both))


def _is_same_part(a: Any, b: Any) -> bool:
    if type(a) is slice and type(b) is slice:
        ends = ((a.start, b.start), (a.stop, b.stop), (a.step, b.step))
        return all(x is y or (type(x) is int and type(y) is int and x == y) for x, y in ends)
    return a is b or (type(a) is int and type(b) is int and a == b)


WINDOWS.is_windowed, WINDOWS.window, WINDOWS.write_window = is_windowed, window, write_window
