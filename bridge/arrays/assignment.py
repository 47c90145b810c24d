"""Assignments into Buffers, and copies in another dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays.operands import operand, refuse_complex
from bridge.errors import ArgumentError
from bridge.position import here, resolve
from bridge.rewind.lifetime import remember
from bridge.rewind.memory import grounded
from bridge.rewind.values import lowered_to


def assign(target: Any, key: Any, place: Any, value: Any) -> None:
    """`target[key] = value`, at `place`."""
    context = place.context
    if type(value) in (list, tuple):
        value = operand(value)
    source = getattr(value, "place", None)
    if source is not None:
        if source.context is context:
            value = value.value
            source = source if source.active and context.carries(place.dtype) else None
        elif source.context.level > context.level:
            if source.active:
                raise remember(value, "a write into a Buffer of an outer context")
            value = lowered_to(context, value)
            source = value.place if not context.differentiates and hasattr(value, "place") else None
            value = value.value if source is not None else grounded(value)
        else:
            source = None
    elif isinstance(value, np.ndarray):
        context.check_original(value)
    if place.dtype.kind != "c" and np.dtype(getattr(value, "dtype", type(value))).kind == "c":
        refuse_complex(target)
    context.write(target, key, place, value, source)


def astype(tracked: Any, dtype: np.dtype[Any], casting: str, copy: bool, order: str) -> Any:
    """A copy in another dtype; the same object if nothing changes and no copy is asked."""
    if dtype == tracked.dtype and not copy:
        return tracked
    if dtype.kind not in "fciub":
        raise ArgumentError(
            f"astype({dtype}) of a tracked array",
            where=resolve(here()),
            remedy="use a float, complex, integer or boolean dtype",
        )
    context = tracked.place.context
    context.check_usable()
    value = tracked.value.astype(dtype, order, casting) if tracked.shape else tracked.value.astype(dtype)
    if not context.carries(dtype):
        return context.inactive(value)
    return context.copied(value, tracked.place)
