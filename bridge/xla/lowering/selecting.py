"""Functions that choose elements, by conditions or by indices."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.lib.stride_tricks import sliding_window_view

from bridge.errors import RefusedError
from bridge.xla.lowering.calls import common, known, operand
from bridge.xla.lowering.register import entry

_LARGE = 4096
"""Elements from which on a plain mask is worth computing: XLA computes with constants while it compiles."""


@entry("np.where")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose by a condition, in one dtype for both choices, in which Python numbers are weak."""
    if x is None and y is None:
        return jnp.nonzero(condition)
    x, y = operand(x), operand(y)
    kind = common(x, y)
    return jnp.where(jnp.asarray(made_by_position(condition), bool), jnp.asarray(x, kind), jnp.asarray(y, kind))


def made_by_position(mask: Any) -> Any:
    """A band of a matrix by the distance from its diagonal, where a large plain mask is one; anything else as it is."""
    if not isinstance(mask, np.ndarray) or mask.dtype != bool or mask.ndim != 2 or mask.size < _LARGE:
        return mask
    rows, columns = mask.shape
    # What lies at each distance from the diagonal, if it is the same everywhere along it.
    along = np.concatenate([mask[:0:-1, 0], mask[0]])
    there = np.flatnonzero(along)
    if not there.size or there[-1] - there[0] + 1 != there.size:
        return mask
    if not np.array_equal(mask, sliding_window_view(along, columns)[::-1]):
        return mask
    least, most = (int(end) - (rows - 1) for end in (there[0], there[-1]))
    distance = lax.iota(np.int32, columns) - lax.broadcasted_iota(np.int32, mask.shape, 0)
    found = None
    if least > 1 - rows:
        found = distance >= least
    if most < columns - 1:
        found = distance <= most if found is None else found & (distance <= most)
    return mask if found is None else found


@entry("np.take")
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """Take elements by index; one out of range in mode "raise" gives NaN, and the caller raises."""
    return jnp.take(a, jnp.asarray(indices, np.intp), axis, mode=None if mode == "raise" else mode)


@entry("np.take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Take elements by index along an axis, also of lists."""
    return jnp.take_along_axis(jnp.asarray(arr), jnp.asarray(indices), axis)


@entry("np.choose")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """Choose by integers; one out of range in mode "raise" gives NaN, so integer arrays need another mode."""
    parts = list(choices)
    kind = common(*parts)
    parts = [jnp.asarray(part, kind) for part in parts]
    a = jnp.asarray(a)
    if mode != "raise":
        return jnp.choose(a, parts, mode=mode)
    chosen = jnp.choose(a, parts, mode="clip")
    if kind.kind in "fc":
        return jnp.where((a >= 0) & (a < len(parts)), chosen, jnp.nan)
    if known(a) is None:
        raise RefusedError(
            "np.choose of integers cannot raise for an index out of range once it is compiled",
            remedy='give mode="clip" or mode="wrap"',
        )
    return jnp.choose(a, parts, mode="raise")


@entry("np.compress")
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """Take the slices where a condition holds; a condition that is known is a gather."""
    chosen = known(condition)
    if chosen is None:
        return jnp.compress(condition, a, axis=axis)
    return jnp.take(jnp.asarray(a), np.flatnonzero(chosen), axis)


@entry("np.extract")
def extract(condition: Any, arr: Any) -> Any:
    """Take the elements where a condition holds; one that is known is a gather."""
    chosen = known(condition)
    if chosen is None:
        return jnp.extract(condition, arr)
    return jnp.take(jnp.ravel(arr), np.flatnonzero(chosen))


@entry("np.select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds."""
    kind = common(*choicelist, default)
    result = jnp.asarray(default, kind)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = jnp.where(condition, jnp.asarray(choice, kind), result)
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*condlist, *choicelist)), jnp.shape(default))
    return jnp.broadcast_to(result, shape)
