"""The memory that a program itself makes use of, which a gradient's own is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import bridge

LIMIT = 1.3
"""How many times that a gradient may have at its peak."""


def handled(loss: Callable[..., Any], arguments: Iterable[Any], varied: Iterable[Any]) -> int:
    """Bytes that a program creates and overwrites, as often as it does, and that its gradient returns.

    Operations on arrays that no argument reaches are not seen: what is counted is no more than what there is.
    """
    operations = bridge.trace(loss)(*arguments).timeline.operations
    written = sum(
        int(np.prod(region.shape, dtype=np.int64)) * np.dtype(region.dtype).itemsize
        for operation in operations
        for region in operation.writes
    )
    return written + returned(varied)


def returned(varied: Iterable[Any]) -> int:
    """Bytes of a gradient."""
    return sum(np.asarray(each).nbytes for each in varied)
