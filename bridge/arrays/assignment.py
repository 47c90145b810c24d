"""Assignments into Buffers: `target[key] = value`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays.creation import array, tracked_inside
from bridge.arrays.operands import operand, refuse_complex
from bridge.arrays.overlapping import as_read, is_reordered, is_unbuffered, last_written, shares
from bridge.code_position import assigns_here, here, resolve
from bridge.errors import RefusedError
from bridge.rewind.escapes import remember
from bridge.rewind.indices import ADVANCED, BOUNDS, ELEMENT, VIEW, frozen, is_of_integers, kind_of
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.lean import FLOATS
from bridge.rewind.memory import grounded
from bridge.rewind.places import Element, Gathered, View
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded_at
from bridge.rewind.values import is_abstract_mask, is_of_subclass, lowered_to, mask_as


def assign(target: Any, key: Any, value: Any) -> None:
    """`target[key] = value`."""
    if type(value) is not ARRAYS.buffer and is_of_subclass(value):
        value = value.__bridge_array__
    place, array = target.place, target.value
    if type(value) is ARRAYS.buffer and _is_this_part(value.place, place, key):
        return
    context = place.context
    context.check_usable()
    if OPEN and recorded_at(key, assign, target, value) is not NOT_RECORDED:
        return
    element = _element(target, key, value) if context.lean else None
    if element is not None:
        context.write_element(target, key, element[0], element[1], here())
        return
    if context.home.is_abstract:
        key = context.home.key(key, array.shape)
        if type(value) is ARRAYS.bounded or context.home.is_windowed(key):
            context.home.write_window(target, key, value)
            return
    kind = kind_of(key, len(array.shape))
    if kind is ADVANCED:
        if is_abstract_mask(key):
            _assign_masked(target, key, value)
            return
        given, key = key, frozen(key)
        kind = kind_of(key, len(array.shape))
        if is_reordered(given, value):
            value = last_written(grounded(target), given, key, value)
    if type(key) is int and type(value) is ARRAYS.buffer and _swaps_rows(value.place, place) and not assigns_here():
        _refuse_shuffle(target)
    part = View if kind is VIEW else Element if kind is ELEMENT else Gathered
    shown = array[key]
    if type(value) is ARRAYS.buffer and value.place.root is place.root:
        value = _as_numpy_reads(target, key, kind, shown, value)
    value, source = _taken_apart(context, place.dtype, value)
    if place.dtype.kind != "c" and np.dtype(getattr(value, "dtype", type(value))).kind == "c":
        refuse_complex(target)
    context.write(target, key, part(place, key, shown), value, source)
    if context.followers is not None:
        context.followers.written(target, key)


def _element(target: Any, key: Any, value: Any) -> tuple[Any, Any] | None:
    """A float that is written into an array of its dtype, and its place if it is active; None for all else."""
    place, array = target.place, target.value
    source = None
    if type(value) is ARRAYS.scalar:
        source = value.place
        if source.context is not place.context:
            return None
        source, value = source if source.active else None, value.value
    plain = type(value) in FLOATS and value.dtype == place.dtype
    if not (plain or (type(value) is float and place.dtype.kind == "f")) or not array.flags.writeable:
        return None
    if not is_of_integers(key) or len(array.shape) != (1 if type(key) is int else len(key)):
        return None
    return value, source


def _as_numpy_reads(target: Any, key: Any, kind: str, shown: Any, value: Any) -> Any:
    """A value in the memory that is written, or what NumPy stores of it where it overwrites what it is to read."""
    if not (is_unbuffered(kind, key, target, shown, value) and shares(target, value)):
        return value
    if kind is VIEW and target.place.context.home.keeps_its_value(View(target.place, key, shown), value):
        return value

    def write(ours: Any, theirs: Any) -> None:
        ours[key] = theirs

    return as_read(target, value, write, key)


def _taken_apart(context: Any, dtype: np.dtype[Any], value: Any) -> tuple[Any, Any]:
    """A value as memory of the context takes it, and its place if what it carries is followed there."""
    if type(value) in (list, tuple):
        is_fitted = dtype.kind == "i" and tracked_inside(value)
        value = array(value, dtype) if is_fitted else operand(value)
    source = getattr(value, "place", None)
    if source is not None:
        if source.context is context:
            value = value.value
            source = source if source.active and context.carries(dtype) else None
        elif source.context.level > context.level:
            if source.active:
                raise remember(value, "a write into a Buffer of an outer context")
            value = lowered_to(context, value)
            source = value.place if not context.differentiates and hasattr(value, "place") else None
            value = value.value if source is not None else grounded(value)
        else:
            source = None
    elif isinstance(value, np.ndarray):
        if value.dtype.kind == "O":
            value = value.astype(dtype)
        context.check_original(value)
    elif type(value) is ARRAYS.labelled:
        return _taken_apart(context, dtype, value.__bridge_array__)
    return value, source


def _is_this_part(source: Any, place: Any, key: Any) -> bool:
    """Whether an augmented assignment stores the view that it has just updated."""
    if type(source) is not View or source.parent is not place:
        return False
    return _is_same_key(source.key, key)


def _is_same_key(one: Any, other: Any) -> bool:
    """Whether two keys are known to name the same part; slices and tuples may have been built anew for the store."""
    if one is other:
        return True
    if type(one) is not type(other):
        return type(one) in BOUNDS and type(other) in BOUNDS and one == other
    if type(one) is slice:
        pairs = ((one.start, other.start), (one.stop, other.stop), (one.step, other.step))
        return all(_is_same_key(a, b) for a, b in pairs)
    if type(one) is tuple:
        return len(one) == len(other) and all(map(_is_same_key, one, other))
    return type(one) in BOUNDS and one == other


def _assign_masked(target: Any, mask: Any, value: Any) -> None:
    """`target[mask] = value` where the mask is not known yet: everything is written, most of it with what it holds."""
    axes = len(getattr(mask, "shape", ()))
    if hasattr(value, "written_to"):
        target[...] = np.where(mask_as(mask, target.ndim), value.written_to(target, mask), target)
        return
    if type(mask) is tuple or len(getattr(value, "shape", ())) > target.ndim - axes:
        raise RefusedError(
            f"a write of shape {np.shape(value)} at a mask whose values are not known while the program is compiled",
            where=resolve(here()),
            remedy="write one value, or target[...] = np.where(mask, values, target) with values of the target's shape",
        )
    target[...] = np.where(mask_as(mask, target.ndim), value, target)


def _swaps_rows(source: Any, place: Any) -> bool:
    """Whether a row is to be overwritten with another row of the same array."""
    return type(source) is View and source.parent is place and type(source.key) is int


def _refuse_shuffle(target: Any) -> None:
    """Raise: compiled code that is not NumPy's path for arrays swaps rows through views, and so duplicates them."""
    raise RefusedError(
        f"shuffle() of a tracked array of shape {target.shape}: it swaps rows, which are views, and would repeat some",
        where=resolve(here()),
        remedy="x[...] = x[generator.permutation(len(x))]; to copy one row, write the statement x[i] = x[j]",
    )
