"""Advanced indexing with integer arrays that are known only at run time: reads, writes and additions.

A key is NumPy's: integers, slices, None, Ellipsis, integer arrays of JAX or NumPy, boolean arrays of NumPy; integers
and the bounds of slices may be `Affine`. Negative indices count from the end. The modes are those of regions.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.regions.advanced import AdvancedIndex, advanced_index, surviving
from bridge.xla.regions.steps import fitted
from bridge.xla.regions.window_access import filling, start_in_range

Shape = tuple[int, ...]


def gather(array: Any, key: Any, mode: str = "error") -> Any:
    """`array[key]`."""
    index = advanced_index(key, array.shape, mode)
    if 0 in index.shape:
        return jnp.zeros(index.shape, array.dtype)
    starts, axes = _starts(index), index.windows
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(range(len(index.batch), len(index.laid_out))),
        collapsed_slice_dims=tuple(sorted(index.columns)),
        start_index_map=tuple(starts),
    )
    found = lax.gather(
        array,
        _stacked(index, starts),
        numbers,
        tuple(axes[k].size if k in axes else 1 for k in range(array.ndim)),
        mode=_mode(_is_masked(mode)),
        fill_value=(filling(array.dtype) if mode == "fill" else 0) if _is_masked(mode) else None,
    )
    return _arranged(index, found)


def scatter_set(array: Any, key: Any, value: Any, mode: str = "error") -> Any:
    """`array` after `array[key] = value`; of an index that is named several times the last value stays."""
    index = advanced_index(key, array.shape, mode)
    if 0 in index.shape:
        return array
    starts = _starts(index)
    survives = surviving(index)
    drops = _is_masked(mode)
    if survives is not None:
        # What does not survive is written beyond the end, no two to the same place, where it is dropped.
        drops = True
        axis = next(iter(index.arrays))
        beyond = index.lengths[axis] + np.arange(math.prod(index.broadcast)).reshape(index.broadcast)
        moved = jnp.where(survives, jnp.broadcast_to(index.arrays[axis], index.broadcast), beyond)
        starts[axis] = moved.reshape(moved.shape + (1,) * len(index.batched))
    return _scatter(partial(lax.scatter, unique_indices=True, mode=_mode(drops)), array, value, index, starts)


def scatter_add(array: Any, key: Any, value: Any, mode: str = "error") -> Any:
    """`array` with `value` added at `key`; an index that is named several times gets all of its values."""
    index = advanced_index(key, array.shape, mode)
    if 0 in index.shape:
        return array
    unique = index.is_static and surviving(index) is None
    add = lax.scatter_max if array.dtype == np.bool_ else lax.scatter_add
    add = partial(add, unique_indices=unique, mode=_mode(_is_masked(mode)))
    return _scatter(add, array, value, index, _starts(index))


def survivors(key: Any, shape: Shape, mode: str = "error") -> Any:
    """Which of the elements survive a write: booleans that broadcast against `array[key]`.

    False where a later one names the same element, and in modes "fill" and "drop" where the index is out of range.
    """
    index = advanced_index(key, shape, mode)
    survives = surviving(index)
    alive = jnp.ones((1,) * len(index.broadcast), bool) if survives is None else jnp.asarray(survives)
    alive = alive.reshape(alive.shape + (1,) * (len(index.laid_out) - alive.ndim))
    for axis, inside in index.inside.items():
        number = len(index.broadcast) + list(index.batched).index(axis)
        alive = alive & inside.reshape((-1,) + (1,) * (alive.ndim - 1 - number))
    return _arranged(index, alive)


def _is_masked(mode: str) -> bool:
    return mode in ("fill", "drop")


def _mode(drops: bool) -> lax.GatherScatterMode:
    """What XLA does outside the array: nothing, or whatever it likes, because nothing lies there."""
    return lax.GatherScatterMode.FILL_OR_DROP if drops else lax.GatherScatterMode.PROMISE_IN_BOUNDS


def _starts(index: AdvancedIndex) -> dict[int, Any]:
    """For each axis of the array the places to gather from, but for windows that start at 0."""
    starts = {k: start_in_range(one) for k, one in index.windows.items()}
    return index.columns | {k: start for k, start in starts.items() if not isinstance(start, int) or start}


def _stacked(index: AdvancedIndex, starts: dict[int, Any]) -> Any:
    """The places as XLA wants them: one array with those of one element along the last axis."""
    columns = [jnp.broadcast_to(jnp.asarray(column, int), index.batch) for column in starts.values()]
    return jnp.stack(columns, -1) if columns else jnp.zeros((*index.batch, 0), int)


def _scatter(scatter: Any, array: Any, value: Any, index: AdvancedIndex, starts: dict[int, Any]) -> Any:
    value = _laid_out(index, fitted(value, index.shape, array.dtype))
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(range(len(index.batch), value.ndim)),
        inserted_window_dims=tuple(sorted(index.columns)),
        scatter_dims_to_operand_dims=tuple(starts),
    )
    return scatter(array, _stacked(index, starts), value, numbers)


def _arranged(index: AdvancedIndex, found: Any) -> Any:
    """Elements, or what broadcasts against them, from the layout of an index to that of the result."""
    found = lax.rev(found, [k for k in index.backward if found.shape[k] > 1])
    shape = [1 if k is None else found.shape[k] for k in index.result]
    return lax.reshape(lax.transpose(found, [k for k in index.result if k is not None]), shape)


def _laid_out(index: AdvancedIndex, value: Any) -> Any:
    """The inverse of `_arranged`."""
    order = [k for k in index.result if k is not None]
    value = lax.reshape(value, [index.laid_out[k] for k in order])
    return lax.rev(lax.transpose(value, np.argsort(order).tolist()), index.backward)
