"""What a call allocates."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable
from typing import Any

ADDRESSABLE = 1 << 47


def peak_of(call: Callable[..., Any], *args: Any) -> int:
    """The most bytes that a call has allocated at once, beyond what was there before.

    What other threads allocate meanwhile is counted, too: where there are any, it is the least of three calls.
    """
    return min(_peak_of(call, *args) for _ in range(3 if threading.active_count() > 1 else 1))


def _peak_of(call: Callable[..., Any], *args: Any) -> int:
    peak = ADDRESSABLE
    while peak >= ADDRESSABLE:  # NumPy tells also what it asked for in vain, which no machine has
        gc.collect()
        tracemalloc.start()
        try:
            call(*args)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return peak
