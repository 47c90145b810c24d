"""Views: whether a result is one is decided by where its bytes lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.errors import RefusedError
from bridge.position import here, resolve
from bridge.rewind.memory import Strides, address, grounded, overlaps_itself
from bridge.rewind.places import Layout


def wrap_result(context: Any, value: Any, args: Any, fresh: Callable[[Any], Any]) -> Any:
    """Wrap what a function returned: views of arguments as views, by address; the rest by `fresh`."""
    if not isinstance(value, (list, tuple)):
        view = _as_view(context, value, args)
        return fresh(value) if view is None else view
    parts = [_as_view(context, part, _rotated(args, k)) for k, part in enumerate(value)]
    whole = value if parts and all(part is not None for part in parts) else fresh(value)
    chosen = (one if part is None else part for part, one in zip(parts, whole, strict=True))
    return type(value)(*chosen) if hasattr(value, "_fields") else type(value)(chosen)


def _rotated(args: Any, k: int) -> Any:
    """The arguments, the one that a list's part number `k` probably belongs to first."""
    return (*args[k : k + 1], *args[:k], *args[k + 1 :])


def _as_view(context: Any, value: Any, args: Any) -> Any:
    """`value` as a view of the argument whose memory it shows; a plain argument's stays plain; else None."""
    from bridge.arrays.buffer import Buffer

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
        elif isinstance(x, np.ndarray) and ground.size and np.may_share_memory(ground, x):
            return value
    return None


def view_at(buffer: Any, value: Any) -> Any:
    """`value`, which lies in the memory of `buffer`, as a Buffer on the same root."""
    from bridge.arrays.buffer import Buffer

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
    if own.isnative != asked.isnative or pair not in ({"f", "F"}, {"d", "D"}, {"g", "G"}):
        raise RefusedError(
            f"a view of a {own} array as {asked}",
            where=resolve(here()),
            remedy="only real and complex of one precision share memory with a meaning; use astype for a copy",
        )
    return view_at(buffer, buffer.value.view(asked))
