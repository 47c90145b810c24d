"""Advanced indexing with integer arrays that are known only at run time: reads, writes and additions.

A key is NumPy's: integers, slices, None, Ellipsis, integer arrays of JAX or NumPy, boolean arrays of NumPy; integers
and the bounds of slices may be `Affine`. Negative indices count from the end. The modes are those of regions.
"""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.regions.advanced import Pick, out_of_range, pick, surviving
from bridge.xla.regions.steps import fitted
from bridge.xla.regions.window_access import filling, start_in_range

__all__ = ["gather", "out_of_range", "scatter_add", "scatter_set", "survivors"]

Shape = tuple[int, ...]


def gather(array: Any, key: Any, mode: str = "error") -> Any:
    """`array[key]`."""
    picked = pick(key, array.shape, mode)
    if 0 in picked.shape:
        return jnp.zeros(picked.shape, array.dtype)
    starts, axes = _starts(picked), picked.windows
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(len(picked.batch), len(picked.laid_out))),
        collapsed_slice_dims=tuple(sorted(picked.columns)),
        start_index_map=tuple(starts),
    )
    found = lax.gather(
        array,
        _stacked(picked, starts),
        numbers,
        tuple(axes[k].size if k in axes else 1 for k in range(array.ndim)),
        mode=lax.GatherScatterMode.FILL_OR_DROP if _is_masked(mode) else lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        fill_value=(filling(array.dtype) if mode == "fill" else 0) if _is_masked(mode) else None,
    )
    return _arranged(picked, found)


def scatter_set(array: Any, key: Any, value: Any, mode: str = "error") -> Any:
    """`array` after `array[key] = value`; of an index that is named several times the last value stays."""
    picked = pick(key, array.shape, mode)
    if 0 in picked.shape:
        return array
    starts = _starts(picked)
    survives = surviving(picked)
    drops = _is_masked(mode)
    if survives is not None:
        # What does not survive is written beyond the end, no two to the same place, where it is dropped.
        drops = True
        axis = next(iter(picked.arrays))
        beyond = picked.lengths[axis] + np.arange(math.prod(picked.broadcast)).reshape(picked.broadcast)
        moved = jnp.where(survives, jnp.broadcast_to(picked.arrays[axis], picked.broadcast), beyond)
        starts[axis] = moved.reshape(moved.shape + (1,) * len(picked.batched))
    return _scatter(lax.scatter, array, value, picked, starts, drops, True)


def scatter_add(array: Any, key: Any, value: Any, mode: str = "error") -> Any:
    """`array` with `value` added at `key`; an index that is named several times gets all of its values."""
    picked = pick(key, array.shape, mode)
    if 0 in picked.shape:
        return array
    unique = picked.is_static and surviving(picked) is None
    add = lax.scatter_max if array.dtype == np.bool_ else lax.scatter_add
    return _scatter(add, array, value, picked, _starts(picked), _is_masked(mode), unique)


def survivors(key: Any, shape: Shape, mode: str = "error") -> Any:
    """Which of the picked elements survive a write: booleans that broadcast against `array[key]`.

    False where a later one names the same element, and in modes "fill" and "drop" where the index is out of range.
    """
    picked = pick(key, shape, mode)
    survives = surviving(picked)
    alive = jnp.ones((1,) * len(picked.broadcast), bool) if survives is None else jnp.asarray(survives)
    alive = alive.reshape(alive.shape + (1,) * (len(picked.laid_out) - alive.ndim))
    for axis, inside in picked.inside.items():
        number = len(picked.broadcast) + list(picked.batched).index(axis)
        alive = alive & inside.reshape((-1,) + (1,) * (alive.ndim - 1 - number))
    return _arranged(picked, alive)


def _is_masked(mode: str) -> bool:
    return mode in ("fill", "drop")


def _starts(picked: Pick) -> dict[int, Any]:
    """For each axis of the array the places to gather from, but for windows that start at 0."""
    starts = {k: start_in_range(one) for k, one in picked.windows.items()}
    return picked.columns | {k: start for k, start in starts.items() if not isinstance(start, int) or start}


def _stacked(picked: Pick, starts: dict[int, Any]) -> Any:
    """The places as XLA wants them: one array with those of one element along the last axis."""
    columns = [jnp.broadcast_to(jnp.asarray(column, int), picked.batch) for column in starts.values()]
    return jnp.stack(columns, -1) if columns else jnp.zeros((*picked.batch, 0), int)


def _scatter(
    scatter: Any, array: Any, value: Any, picked: Pick, starts: dict[int, Any], drops: bool, unique: bool
) -> Any:
    value = _laid_out(picked, fitted(value, picked.shape, array.dtype))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(len(picked.batch), value.ndim)),
        inserted_window_dims=tuple(sorted(picked.columns)),
        scatter_dims_to_operand_dims=tuple(starts),
    )
    mode = lax.GatherScatterMode.FILL_OR_DROP if drops else lax.GatherScatterMode.PROMISE_IN_BOUNDS
    return scatter(array, _stacked(picked, starts), value, numbers, unique_indices=unique, mode=mode)


def _arranged(picked: Pick, found: Any) -> Any:
    """Elements, or what broadcasts against them, from the layout of a pick to that of the result."""
    found = lax.rev(found, [k for k in picked.backward if found.shape[k] > 1])
    shape = [1 if k is None else found.shape[k] for k in picked.result]
    return lax.reshape(lax.transpose(found, [k for k in picked.result if k is not None]), shape)


def _laid_out(picked: Pick, value: Any) -> Any:
    """The inverse of `_arranged`."""
    order = [k for k in picked.result if k is not None]
    value = lax.reshape(value, [picked.laid_out[k] for k in order])
    return lax.rev(lax.transpose(value, np.argsort(order).tolist()), picked.backward)
