"""Functions that choose elements, by conditions or by indices."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.errors import RefusedError
from bridge.xla.lowering.calls import common, known, operand
from bridge.xla.lowering.register import entry


@entry("np.where")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """Choose by a condition, in one dtype for both choices, in which Python numbers are weak."""
    if x is None and y is None:
        return jnp.nonzero(condition)
    x, y = operand(x), operand(y)
    kind = common(x, y)
    return jnp.where(jnp.asarray(condition, bool), jnp.asarray(x, kind), jnp.asarray(y, kind))


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
