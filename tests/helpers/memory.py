"""What a call allocates."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any


def peak_of(call: Callable[..., Any], *args: Any) -> int:
    """The most bytes that a call has allocated at once, beyond what was there before."""
    gc.collect()
    tracemalloc.start()
    try:
        call(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
