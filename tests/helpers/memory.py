"""What a call allocates."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

ADDRESSABLE = 1 << 47


def peak_of(call: Callable[..., Any], *args: Any) -> int:
    """The most bytes that a call has allocated at once, beyond what was there before.

    NumPy tells also what it asked for in vain, which no machine has: then the call is measured again.
    """
    peak = ADDRESSABLE
    while peak >= ADDRESSABLE:
        gc.collect()
        tracemalloc.start()
        try:
            call(*args)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    return peak
