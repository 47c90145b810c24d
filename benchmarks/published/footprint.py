"""The memory that a program itself makes use of, which a gradient's own is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

import bridge
from benchmarks.published import clock

LIMIT = 1.3
"""How many times that a gradient may have at its peak."""


def handled(loss: Callable[..., Any], arguments: Iterable[Any], varied: Iterable[Any]) -> int:
    """Bytes that a program creates and overwrites, as often as it does, and that its gradient returns.

    What functions of NumPy's create for themselves is not seen, nor are operations on arrays that no argument reaches:
    what is counted is no more than what there is. Where the program alone, in plain NumPy, has more at its peak, that
    counts.
    """
    given = list(arguments)
    operations = bridge.trace(loss)(*given).timeline.operations
    written = sum(
        int(np.prod(region.shape, dtype=np.int64)) * np.dtype(region.dtype).itemsize
        for operation in operations
        for region in operation.writes
    )
    plain = [each.copy() if isinstance(each, np.ndarray) else each for each in given]
    return max(written, clock.allocated(lambda: loss(*plain))) + returned(varied)


def returned(varied: Iterable[Any]) -> int:
    """Bytes of a gradient."""
    return sum(np.asarray(each).nbytes for each in varied)
