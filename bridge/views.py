"""Views: whether a result is one is decided by where its bytes lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.errors import RefusedError
from bridge.memory import Strides, address, grounded, overlaps_itself
from bridge.places import Layout
from bridge.position import here, resolve


def wrap_result(context: Any, value: Any, args: Any, fresh: Callable[[Any], Any]) -> Any:
    """Wrap what a function returned: views of tracked arguments as views, by address; the rest by `fresh`."""
    if isinstance(value, (list, tuple)):
        parts = [_as_view(context, part, args) for part in value]
        if parts and all(part is not None for part in parts):
            return type(value)(parts) if not hasattr(value, "_fields") else type(value)(*parts)
        whole = fresh(value)
        if any(part is not None for part in parts):
            return type(value)(one if part is None else part for part, one in zip(parts, whole, strict=True))
        return whole
    view = _as_view(context, value, args)
    return fresh(value) if view is None else view


def _as_view(context: Any, value: Any, args: Any) -> Any:
    from bridge.buffer import Buffer

    if not isinstance(value, (np.ndarray, Buffer)):
        return None
    ground = grounded(value)
    for x in args:
        if type(x) in (list, tuple):
            view = _as_view(context, value, x)
            if view is not None:
                return view
        elif type(x) is Buffer and x.place.context is context:
            if value is x.value:
                return x
            if np.may_share_memory(ground, grounded(x)):
                return view_at(x, value)
    return None


def view_at(buffer: Any, value: Any) -> Any:
    """`value`, which lies in the memory of `buffer`, as a Buffer on the same root."""
    from bridge.buffer import Buffer

    ground = grounded(value)
    if overlaps_itself(ground):
        ground.flags.writeable = False
    like = Strides(ground.shape, ground.strides, ground.dtype)
    return Buffer(value, Layout(buffer.place, (address(ground) - address(buffer.value), like), value))


def view_as_dtype(buffer: Any, dtype: Any) -> Any:
    """`buffer.view(dtype)`: between real and complex of one precision."""
    if dtype is None:
        return view_at(buffer, buffer.value[...])
    asked = np.dtype(dtype)
    own = buffer.dtype
    if asked == own:
        return view_at(buffer, buffer.value[...])
    pair = {own.char, asked.char}
    if pair not in ({"f", "F"}, {"d", "D"}, {"g", "G"}):
        raise RefusedError(
            f"a view of a {own} array as {asked}",
            where=resolve(here()),
            remedy="only real and complex of one precision share memory with a meaning; use astype for a copy",
        )
    return view_at(buffer, buffer.value.view(asked))
