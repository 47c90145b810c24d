"""Making arrays inside a context: `like=`, `zeros_like`, and the creation functions of `bridge.numpy`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.memory import grounded, lies_in_order
from bridge.rewind.values import concrete, note_plain

_CONVERT = frozenset({np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray})
WITH_LIKE = _CONVERT | {
    getattr(np, name)
    for name in ("arange", "empty", "eye", "frombuffer", "fromfile", "fromfunction", "fromiter", "fromstring", "full",
                 "genfromtxt", "identity", "loadtxt", "ones", "tri", "zeros")
}  # fmt: skip


def like(context: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`np.zeros(..., like=buffer)` and its kin: a Buffer of the same context."""
    context.check_usable()
    kwargs = {name: value for name, value in kwargs.items() if name != "device"}
    if function in _CONVERT and tracked_inside(args[0]):
        return converted(function, *args, **kwargs)
    if function is np.full and tracked_inside(kwargs.get("fill_value", args[-1])):
        return filled(context, *args, **kwargs)
    return made(context, function, args, kwargs)


def converted(function: Any, x: Any, dtype: Any = None, *order: str, device: Any = None, **kwargs: Any) -> Any:
    """`np.asarray(x)` and its kin, of tracked values: the same memory where NumPy would give the same."""
    if order:
        kwargs["order"] = order[0]
    if function is not np.array:
        kwargs.setdefault("copy", None)
    if function in (np.ascontiguousarray, np.asfortranarray):
        kwargs.update(order="C" if function is np.ascontiguousarray else "F", ndmin=1)
    return array(x, dtype, **kwargs)


def filled(context: Any, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C") -> Any:
    """`np.full` with a tracked value."""
    fill_value = array(fill_value, copy=None) if isinstance(fill_value, (list, tuple)) else fill_value
    result = made(context, np.empty, (shape, dtype or fill_value.dtype, order), {})
    result[...] = as_memory(fill_value, result.dtype)
    return result


def ranged(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, **kwargs: Any) -> Any:
    """`np.arange` with tracked values; how many numbers it has depends on them, and has no derivative.

    NumPy adds multiples of the difference of its first two numbers to the first one, and so does this.
    """
    start, stop = (0, start) if stop is None else (start, stop)
    bounds: Any = [concrete(x, "an end or the step of np.arange") for x in (start, stop, step)]
    plain: Any = np.arange(*bounds, dtype=dtype, **kwargs)
    if not (hasattr(start, "place") or hasattr(step, "place")) or plain.dtype.kind not in "fc":
        return _copied(current_context(), plain)
    return (start + np.arange(plain.size) * ((start + step) - start)).astype(plain.dtype)


def made(context: Any, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a NumPy creation function returns, as a Buffer of which no gradient is asked."""
    return _copied(context, function(*args, **kwargs))


def converted_plain(context: Any, function: Any, x: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """`np.array(x)` and its kin, of values that are not tracked: a Buffer, or plain memory of `x` where NumPy gives it.

    A Buffer there would be a copy, and a write into it would not reach `x`.
    """
    note_plain(x)
    value = function(x, *args, **kwargs)
    aliases = not isinstance(x, (list, tuple)) and np.may_share_memory(value, x)
    return value if aliases else _copied(context, value)


def _copied(context: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fciub":
        return context.constant_buffer(np.array(value))
    return value


def array(
    x: Any, dtype: Any = None, *, copy: bool | None = True, order: Any = "K", ndmin: int = 0, subok: bool = False
) -> Any:
    """`np.array` of tracked values: nested lists are stacked, a Buffer is copied unless `copy` says otherwise."""
    if isinstance(x, (list, tuple)):
        result = np.stack([_part(part, dtype) for part in x])
        result = result if lies_in_order(grounded(result), order) else result.copy(order)
    elif hasattr(x, "place"):
        is_number = not hasattr(x, "view_as")
        # An array without axes can be written, and has memory of its own; a number becomes one of one element first.
        result = np.reshape(x, (1,))[0, ...] if is_number else x
        if (copy and not is_number) or not lies_in_order(grounded(result), order):
            result = result.copy(order)
    elif type(x) is ARRAYS.labelled:
        return array(x.__bridge_array__ if copy else x.values, dtype, copy=copy, order=order, ndmin=ndmin)
    elif type(x) is ARRAYS.bounded:
        result = x.copy() if copy else x
    else:
        result = np.asarray(x)
    if dtype is not None and result.dtype != np.dtype(dtype):
        result = _one_by_one(result, dtype) if _must_fit(x, result, dtype) else result.astype(dtype)
    if ndmin > len(result.shape):
        result = np.reshape(result, (1,) * (ndmin - len(result.shape)) + result.shape)
    return result


def _must_fit(x: Any, result: Any, dtype: Any) -> bool:
    """Whether NumPy looks at each number that it makes an integer of: in a list, or alone, and not all of them fit."""
    if np.dtype(dtype).kind != "i" or np.can_cast(result.dtype, dtype):
        return False
    while isinstance(x, (list, tuple)) and x:
        x = x[0]
    return np.ndim(x) == 0 and type(x) is not ARRAYS.buffer and not isinstance(x, np.ndarray)


def _one_by_one(result: Any, dtype: Any) -> Any:
    """Numbers written into memory of integers, one at a time."""
    held = result.place.context.constant_buffer(np.empty(result.shape, dtype)) if hasattr(result, "place") else None
    held = np.empty(result.shape, dtype) if held is None else held
    for at in np.ndindex(result.shape):
        held[at] = result[at]
    return held


def as_memory(value: Any, dtype: Any) -> Any:
    """A number of NumPy's as memory of this dtype takes it, where NumPy only casts it; anything else as it is."""
    is_number = np.dtype(dtype).kind in "iu" and type(value) is ARRAYS.scalar
    return value.astype(dtype) if is_number else value


def _part(x: Any, dtype: Any) -> Any:
    """A part of a list as an array; None and text become numbers if a dtype is asked for."""
    if hasattr(x, "place"):
        return x
    if tracked_inside(x):
        return array(x, dtype, copy=None)
    found = np.asarray(x)
    return found if dtype is None or found.dtype.kind in "biufc" else np.asarray(x, dtype)


def tracked_inside(x: Any) -> bool:
    """Whether a tracked value lies in `x`, a possibly nested list."""
    if isinstance(x, (list, tuple)):
        return any(map(tracked_inside, x))
    return hasattr(x, "place") or type(x) is ARRAYS.bounded or type(x) is ARRAYS.labelled


def _like(function: Any, a: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    kwargs = {name: value for name, value in kwargs.items() if name not in ("subok", "device")}
    if type(a) is ARRAYS.bounded:
        return function(a, *args, **kwargs)
    if hasattr(a, "place"):
        a.place.context.check_usable()
        return a.place.context.constant_buffer(np.asarray(function(grounded(a), *args, **kwargs)))
    context = current_context()
    value = function(_sample(a), *args, **kwargs)
    return value if context is None else context.constant_buffer(value)


def _sample(a: Any) -> Any:
    """An array of the shape and dtype of `a`, which may be nested lists of tracked values."""
    return grounded(array(a, copy=None)) if tracked_inside(a) else a


def zeros_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Zeros in the shape and dtype of a Buffer, tracked in its context."""
    return _like(np.zeros_like, a, args, kwargs)


def ones_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    """Ones in the shape and dtype of a Buffer, tracked in its context."""
    return _like(np.ones_like, a, args, kwargs)


def empty_like(prototype: Any, *args: Any, **kwargs: Any) -> Any:
    """Uninitialised memory in the shape and dtype of a Buffer, tracked in its context."""
    return _like(np.empty_like, prototype, args, kwargs)


def full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    """One value, or a tracked array that is broadcast, in the shape and dtype of a Buffer, tracked in its context."""
    if type(a) is ARRAYS.bounded or type(fill_value) is ARRAYS.bounded:
        return np.full_like(a, fill_value, *args, **kwargs)
    if not tracked_inside(fill_value):
        return _like(np.full_like, a, (fill_value, *args), kwargs)
    fill_value = array(fill_value, copy=None) if isinstance(fill_value, (list, tuple)) else fill_value
    made_like = a if hasattr(a, "place") else fill_value
    result = made_like.place.context.constant_buffer(np.empty_like(_sample(grounded(a)), *args, **kwargs))
    result[...] = as_memory(fill_value, result.dtype)
    return result


def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    """A tracked copy: an array, of a number too."""
    return array(a, order=order)
