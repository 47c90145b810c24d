"""`reduce`, `accumulate`, `reduceat` and `outer` of ufuncs; those that are functions of their own by these."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.arrays.ufunc_steps import by_length, must_go_in_turn, segments_of
from bridge.errors import RefusedError
from bridge.rulebook.facts import METHODS
from bridge.signatures import operation_name
from bridge.xla.lowering.calls import known, operand
from bridge.xla.lowering.lower import cast_to, lower
from bridge.xla.lowering.register import UFUNC_METHODS

_ABSENT: Any = object()


def _fold(method: str, ufunc: np.ufunc, array: Any, *args: Any, **kwargs: Any) -> Any:
    array = jnp.asarray(array)
    names = ("indices", "axis", "dtype") if method == "reduceat" else ("axis", "dtype")
    options = dict(zip(names, args, strict=False)) | kwargs
    options.pop("out", None)
    options.setdefault("axis", 0)
    function = METHODS.get((ufunc, method))
    if function is not None:
        return lower(function, (array,), options)
    given = options.pop("dtype", None)
    dtype = np.dtype(given or ufunc.resolve_dtypes((array.dtype, array.dtype, None))[-1])
    array = cast_to(array, dtype)
    if method == "reduceat":
        return _segments(ufunc, array, **options)
    if method == "reduce":
        return _reduced(ufunc, array, **options)
    rows = jnp.moveaxis(array, options["axis"], 0)
    return jnp.moveaxis(_accumulated(ufunc, rows), 0, options["axis"]) if len(rows) else array


def _stepping(ufunc: np.ufunc, dtype: Any) -> Any:
    """A step whose result has NumPy's dtype, as one that `lax.scan` takes."""

    def step(before: Any, row: Any) -> tuple[Any, Any]:
        found = cast_to(lower(ufunc, (before, row)), dtype)
        return found, found

    return step


def _accumulated(ufunc: np.ufunc, rows: Any) -> Any:
    """The ufunc along the first axis, which is not empty: one step is compiled, however many there are."""
    _, rest = lax.scan(_stepping(ufunc, rows.dtype), rows[0], rows[1:], unroll=min(_UNROLLED, max(1, len(rows) - 1)))
    return jnp.concatenate([rows[:1], rest])


def _reduced(
    ufunc: np.ufunc, array: Any, axis: Any = 0, keepdims: bool = False, initial: Any = _ABSENT, where: Any = True
) -> Any:
    """The ufunc along one axis or several, its elements in turn: few of these ufuncs may take them in another order."""
    axes = (
        tuple(range(array.ndim))
        if axis is None or not array.ndim
        else tuple(k % array.ndim for k in np.atleast_1d(axis))
    )
    if len(axes) > 1:
        ufunc.reduce(np.ones((1,) * array.ndim), axis=axes)  # raises if its order over several axes is not defined
    if initial is _ABSENT or initial is None:
        initial = _ABSENT if ufunc.identity is None or initial is None else ufunc.identity
    rows = _rows(array, axes)
    if len(rows) + (initial is not _ABSENT) > 2:
        must_go_in_turn(ufunc, array.dtype)
    if where is not True:
        rows = (rows, _rows(jnp.broadcast_to(where, array.shape), axes))
    if initial is not _ABSENT:
        first = jnp.broadcast_to(cast_to(jnp.asarray(initial), array.dtype), jax.tree.leaves(rows)[0].shape[1:])
    elif not array.size and not len(jax.tree.leaves(rows)[0]):
        raise RefusedError(f"{operation_name(ufunc)}.reduce of no elements has no value", remedy="give initial=")
    elif where is not True:
        raise RefusedError(f"{operation_name(ufunc)}.reduce with where= needs initial=", remedy="give initial=")
    else:
        first, rows = rows[0], rows[1:]
    step = _stepping(ufunc, array.dtype)

    def masked(before: Any, pair: Any) -> tuple[Any, Any]:
        return jnp.where(pair[1], step(before, pair[0])[0], before), None

    def unmasked(before: Any, row: Any) -> tuple[Any, Any]:
        return step(before, row)[0], None

    count = max(1, len(jax.tree.leaves(rows)[0]))
    result, _ = lax.scan(unmasked if where is True else masked, first, rows, unroll=min(_UNROLLED, count))
    return jnp.expand_dims(result, axes) if keepdims else result


_UNROLLED = 8
"""Steps that are compiled one after another, so that short rows need no loop."""


def _rows(array: Any, axes: tuple[int, ...]) -> Any:
    """What is reduced as the first axis, in NumPy's order."""
    rest = [k for k in range(array.ndim) if k not in axes]
    shape = (math.prod(array.shape[k] for k in axes), *(array.shape[k] for k in rest))
    return jnp.reshape(jnp.transpose(array, (*axes, *rest)), shape)


def _segments(ufunc: np.ufunc, array: Any, indices: Any, axis: int) -> Any:
    starts = known(operand(indices))
    if starts is None:
        raise RefusedError(
            f"the segments of {operation_name(ufunc)}.reduceat depend on values that are not known when it is compiled",
            remedy="give their starts as plain integers",
        )
    rows = jnp.moveaxis(array, axis, 0)
    picked, starts = segments_of(starts, len(rows))
    if not starts.size:
        return array if not array.shape[axis] else jnp.take(array, starts, axis)
    found, order = [], []
    for chosen, within, last in by_length(picked.size, starts):
        matrix = jnp.take(rows, picked[within], 0)
        if within.shape[1] > 2:
            must_go_in_turn(ufunc, array.dtype)
        along = matrix if within.shape[1] == 1 else lower(ufunc.accumulate, (matrix,), {"axis": 1})
        found.append(along[np.arange(chosen.size), last])
        order.append(chosen)
    return jnp.moveaxis(jnp.take(jnp.concatenate(found), np.argsort(np.concatenate(order)), 0), 0, axis)


def _outer(ufunc: np.ufunc, a: Any, b: Any, **kwargs: Any) -> Any:
    a, b = operand(a), operand(b)
    lifted = jnp.reshape(a, jnp.shape(a) + (1,) * jnp.ndim(b)) if jnp.ndim(b) and jnp.ndim(a) else a
    return lower(ufunc, (lifted, b), kwargs)


for _method in ("reduce", "accumulate", "reduceat"):
    UFUNC_METHODS[_method] = partial(_fold, _method)
UFUNC_METHODS["outer"] = _outer
