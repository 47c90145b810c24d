"""How long calls take, in turns with the program, and how much memory they allocate."""

from __future__ import annotations

import gc
import platform
import statistics
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

REPEATS, AT_LEAST = 25, 3
BUDGET, PATIENCE = 2.0, 10.0
ROW, IN_A_ROW = 0.002, 20
CLOCK = time.get_clock_info("process_time").resolution


class Seconds(NamedTuple):
    """How long a call took, by the clock and in time of the processor, which other work on the machine moves less."""

    wall: float
    processor: float


def timed(run: Callable[[], Any], calls: int = 1) -> tuple[Seconds, Any]:
    """How long a call takes, the mean of some in a row, and its result; garbage is collected before."""
    gc.collect()
    wall, processor = time.perf_counter(), time.process_time()
    for _ in range(calls):
        result = run()
    return Seconds((time.perf_counter() - wall) / calls, (time.process_time() - processor) / calls), result


def samples(
    first: Seconds, run: Callable[[], Any], forward: Callable[[], Seconds], compiles: bool
) -> tuple[list[Seconds], list[Seconds]]:
    """Times of the program and of its gradient, in turns: the program's, the gradient's.

    The first call is the only sample of the gradient if it took long, unless that was spent on compiling.
    """
    before = [forward()]
    if first.wall >= PATIENCE and not compiles:
        return before, [first]
    found: list[Seconds] = []
    calls, spent = 1, 0.0
    for _ in range(REPEATS):
        if len(found) >= AT_LEAST and spent > BUDGET:
            break
        found.append(timed(run, calls)[0])
        before.append(forward())
        spent += found[-1].wall * calls + before[-1].wall
        calls = max(1, min(IN_A_ROW, int(ROW / min(each.wall for each in found))))
        if found[-1].wall > PATIENCE:
            break
    return before, found


def summed_up(before: list[Seconds], found: list[Seconds]) -> dict[str, Any]:
    """What is told of samples: the shortest, the median, and the ratio in processor time."""
    processor = min(each.processor for each in found)
    return {
        "forward": min(each.wall for each in before),
        "gradient": min(each.wall for each in found),
        "median": statistics.median(each.wall for each in found),
        "processor_seconds": processor,
        "processor": processor / max(min(each.processor for each in before), CLOCK),
        "samples": {"forward": before, "gradient": found},
    }


def allocated(run: Callable[[], Any]) -> int:
    """Peak bytes that Python and NumPy allocate in one call."""
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident(line: str) -> int:
    """Bytes that the process holds (`VmRSS`), or has held at most (`VmHWM`); 0 where the system does not say."""
    status = Path("/proc/self/status")
    if platform.system() != "Linux" or not status.exists():
        return 0
    return next(int(each.split()[1]) for each in status.read_text().splitlines() if line in each) * 1024
