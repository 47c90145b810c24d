"""NumPy's functions that call functions of the program: each call happens once, on tracked values, in NumPy's order.

A pull that called them again would find other loop variables, counters, draws and arrays. In a compiled program the
compiler runs them (`bridge/xla/lowering/numerical.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.arrays.creation import array
from bridge.arrays.dispatch import HANDLED, call_by_rule
from bridge.arrays.operands import context_of
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.memory import grounded


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """`np.piecewise`: its functions run once, on tracked values."""
    values = [one for one in funclist if not callable(one)]
    context = context_of((x, *values, *args, *kw.values()))
    if context is None or context.home.is_abstract:
        return call_by_rule(np.piecewise, (x, condlist, funclist, *args), kw)
    x = _array(x)
    listed = isinstance(condlist, (list, tuple))
    if np.ndim(condlist) == 0 or (x.ndim and not isinstance(condlist[0], (list, np.ndarray)) and _is_one(condlist)):
        condlist, listed = [condlist], True
    conditions = [np.asarray(one, dtype=bool) for one in condlist] if listed else list(np.asarray(condlist, dtype=bool))
    if len(conditions) == len(funclist) - 1:
        conditions.append(~np.any(np.stack(np.broadcast_arrays(*conditions)), axis=0))
    elif len(conditions) != len(funclist):
        count = len(conditions)
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected")
    # As NumPy's, it lies as x does, which writes through its views may show.
    y = context.constant_buffer(np.zeros_like(grounded(x)))
    for condition, function in zip(conditions, funclist, strict=True):
        if not callable(function):
            y[condition] = function
            continue
        values = x[condition]
        if values.size > 0:
            y[condition] = function(values, *args, **kw)
    return y


def _is_one(condition: Any) -> bool:
    """Whether a list of conditions is one condition: its elements are neither arrays nor tracked ones."""
    return not hasattr(condition[0], "view_as")


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.apply_along_axis`: what `func1d` gets are views, as NumPy's are."""
    context = context_of((arr, *args, *kwargs.values()))
    if context is None or context.home.is_abstract:
        return call_by_rule(np.apply_along_axis, (func1d, axis, arr, *args), kwargs)
    arr = _array(arr)
    axis = np.lib.array_utils.normalize_axis_index(axis, arr.ndim)
    rows = np.moveaxis(arr, axis, -1)
    shape = rows.shape[:-1]
    if 0 in shape:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    made: Any = None
    for place in np.ndindex(*shape):
        result = _array(func1d(rows[(*place, Ellipsis)], *args, **kwargs))
        if made is None:
            _check_numbers(result, "np.apply_along_axis")
            made = context.blank((*shape, *result.shape), result.dtype)
        made[(*place, Ellipsis)] = result
    count = made.ndim - len(shape)
    return np.moveaxis(made, tuple(range(-count, 0)), tuple(range(axis, axis + count))) if count else made


def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    """`np.apply_over_axes`: its function runs once for each axis."""
    context = context_of((a,))
    if context is None or context.home.is_abstract:
        return call_by_rule(np.apply_over_axes, (func, a, axes), {})
    value = a = _array(a)
    for axis in (axes,) if np.ndim(axes) == 0 else axes:
        axis = a.ndim + axis if axis < 0 else axis
        result = func(value, axis)
        value = result if result.ndim == value.ndim else np.expand_dims(result, axis)
        if value.ndim != a.ndim:
            raise ValueError("function is not returning an array of the correct shape")
    return value


def _array(x: Any) -> Any:
    """What NumPy makes an array of, tracked if it is; a tracked number as an array without axes."""
    if hasattr(x, "place") and not hasattr(x, "view_as"):
        return np.reshape(x, (1,))[0, ...]
    if isinstance(x, (list, tuple)):
        return array(x) if context_of(x) is not None else np.asarray(x)
    return x if hasattr(x, "place") else np.asanyarray(x)


def _check_numbers(result: Any, name: str) -> None:
    if result.dtype.kind not in "fciub":
        raise RefusedError(
            f"the function given to {name} returned an array of dtype {result.dtype}, which carries no gradient",
            where=resolve(here()),
            remedy="let it return numbers",
        )


HANDLED |= {np.piecewise: piecewise, np.apply_along_axis: apply_along_axis, np.apply_over_axes: apply_over_axes}
