"""Other ways to an index outside its array, brought to where `index_mode` is obeyed: that of run-time keys.

Indices that are known while the program is traced and lie outside are taken for ones that are not; functions that pick
elements by indices are keys.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.rewind.values import is_abstract
from bridge.xla.regions.affine import Affine
from bridge.xla.regions.keys import axes_taken
from bridge.xla.tracing.cells import Tracing
from bridge.xla.tracing.outlines import outline_of


def admitted(trace: Tracing, key: Any, shape: tuple[int, ...]) -> Any:
    """A key in which integers, and arrays of them, that lie outside an array of this shape are traced.

    An axis without elements is left alone: it has none that could be meant.
    """
    parts = list(key) if type(key) is tuple else [key]
    made = list(parts)
    for number, length in _lengths(parts, shape):
        part = parts[number]
        if not length or is_abstract(part) or type(part) is slice:
            continue
        index = _integers(part)
        if index is None or not ((index < -length) | (index >= length)).any():
            continue
        if index.shape or isinstance(part, np.ndarray):
            made[number] = trace.entered(index, outline_of(index) if trace.is_dry else jnp.asarray(index))
        else:
            value = int(index)
            made[number] = trace.integer(Affine.unknown(value, value, value))
    return tuple(made) if type(key) is tuple else made[0]


def picks(function: Any, kwargs: dict[str, Any]) -> bool:
    """Whether a function is `np.take` or `np.take_along_axis`, and not told itself what an index outside means."""
    return function in _PICKING and kwargs.get("mode", "raise") == "raise"


def picked(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """The array of JAX and the key by which such a function picks."""
    named = dict(zip(_PICKING[function], args, strict=False)) | kwargs
    array, indices = jnp.asarray(named[_PICKING[function][0]]), named["indices"]
    axis = named.get("axis", None if function is np.take else -1)
    if axis is None:
        array, axis = jnp.ravel(array), 0
        indices = jnp.ravel(indices) if function is np.take_along_axis else indices
    axis %= array.ndim
    rest: list[Any] = [slice(None)] * array.ndim
    if function is np.take_along_axis:
        rest = [np.arange(n).reshape((-1,) + (1,) * (array.ndim - k - 1)) for k, n in enumerate(array.shape)]
    return array, (*rest[:axis], _as_key(indices), *rest[axis + 1 :])


_PICKING = {np.take: ("a", "indices", "axis"), np.take_along_axis: ("arr", "indices", "axis")}


def _as_key(indices: Any) -> Any:
    return indices if isinstance(indices, jax.Array) else np.asarray(indices, np.intp)


def _lengths(parts: list[Any], shape: tuple[int, ...]) -> list[tuple[int, int]]:
    """For each part of a key that indexes one axis its number, and the length of that axis."""
    taken = [_axes(part) for part in parts]
    left = len(shape) - sum(taken)
    found, axis = [], 0
    for number, (part, count) in enumerate(zip(parts, taken, strict=True)):
        if count == 1 and axis < len(shape):
            found.append((number, shape[axis]))
        axis += left if part is Ellipsis else count
    return found


def _axes(part: Any) -> int:
    """How many axes one part of a key indexes; a list is the array that it stands for."""
    return axes_taken(np.asarray(part) if isinstance(part, (list, tuple)) and not _holds_traced(part) else part)


def _integers(part: Any) -> np.ndarray | None:
    """The integers of a part of a key; None if it holds anything else."""
    if part is None or part is Ellipsis or _holds_traced(part):
        return None
    index = np.asarray(part)
    return index if index.dtype.kind in "iu" else None


def _holds_traced(part: Any) -> bool:
    return is_abstract(part) or (isinstance(part, (list, tuple)) and any(map(_holds_traced, part)))
