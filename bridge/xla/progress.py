"""A line on stderr about compilations that take their time."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 2.0
"""Seconds that pass in silence."""


@contextmanager
def told_if_long(name: str) -> Iterator[None]:
    """Say what is compiled, and how long it took, if that is more than two seconds."""
    start = time.perf_counter()
    timer = threading.Timer(PATIENCE, _say, [f"compiling {name} for XLA; this happens once for each signature"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        seconds = time.perf_counter() - start
        if seconds > PATIENCE:
            _say(f"compiled {name} in {seconds:.1f} s")


def _say(text: str) -> None:
    print(f"[bridge] {text}", file=sys.stderr, flush=True)
