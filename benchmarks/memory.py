"""Peak memory of gradients, each measured in a process of its own.

`python -m benchmarks.memory CASE METER` prints one number of bytes. METER is `tracemalloc` (what the
gradient allocates beyond what was there before) or `resident` (the high-water mark of the whole process).
"""

from __future__ import annotations

import gc
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.programs import PROGRAMS, WORKLOADS, Array, Workload, chain_steps, random_vector

ROOT = Path(__file__).resolve().parent.parent
FLOAT = 8

LONG_ENTRIES = 1_000_000
LONG_STEPS = LONG_ENTRIES // 5
SEGMENTS = 1000


@dataclass(frozen=True)
class Footprint:
    """Elements that a gradient has to hold, counted from the program's text (README.md has the terms).

    Attributes
    ----------
    created : every array that the program makes, alive or not by the end.
    overwritten : every element that it writes over, as often as it does.
    shadows : shadows of roots alive at once, at the worst moment of the sweep.
    arguments : the arguments, of which a context owns copies; not part of `total`.
    """

    created: int
    overwritten: int
    shadows: int
    arguments: int

    @property
    def total(self) -> int:
        """Bytes of the three terms of the requirement."""
        return FLOAT * (self.created + self.overwritten + self.shadows)

    @property
    def total_with_arguments(self) -> int:
        """The same, with the context's copies of the arguments."""
        return self.total + FLOAT * self.arguments


def footprint(workload: Workload) -> Footprint:
    """Count the terms of one workload."""
    arguments = sum(array.size for array in (*workload.inputs(), *workload.data()))
    return Footprint(*COUNTS[workload.program](workload), arguments)


def count_writes(workload: Workload) -> tuple[int, int, int]:
    """`b`, and a sine, a product and a sum for each write; shadows of `b` and `x`."""
    (n,), (count, width) = workload.inputs()[0].shape, workload.settings
    return n + 3 * count * width, count * width, 2 * n


def count_heat(workload: Workload) -> tuple[int, int, int]:
    """The copy, four intermediates a step, the square; shadows of `u` and of two intermediates."""
    (n,), (steps,) = workload.inputs()[0].shape, workload.settings
    return n + 4 * steps * (n - 2) + n, steps * (n - 2), 3 * n


def count_digits(workload: Workload) -> tuple[int, int, int]:
    """Five columns of one number an image; three passes over `hidden`, four over `logits`; all shadows."""
    *_, hidden, logits = (array.size for array in workload.data())
    parameters = sum(array.size for array in workload.inputs())
    columns = 5 * workload.data()[1].size
    return columns, 3 * hidden + 4 * logits, parameters + hidden + logits + columns


COUNTS: dict[str, Callable[[Workload], tuple[int, int, int]]] = {
    "writes": count_writes,
    "heat": count_heat,
    "digits": count_digits,
}


def checkpointed(x: Array, steps: int) -> Any:
    """The program `chain` in segments, each of them under `bridge.checkpoint`."""
    import bridge

    segment = bridge.checkpoint(partial(chain_steps, steps=steps // SEGMENTS))
    y = x.copy()
    for _ in range(SEGMENTS):
        y = segment(y, x)
    return np.sum(y)


LONG = "long"
LONG_CHECKPOINTED = "long-checkpointed"
MEASURED = ("writes-1e4", "writes-1e6", "heat-1e3", "heat-1e6", "digits")


def gradient_of(case: str) -> Callable[[], Any]:
    """A function that computes the case's gradient once; a small run of the program has warmed everything up."""
    import bridge

    if case in (LONG, LONG_CHECKPOINTED):
        gradient = bridge.grad(PROGRAMS["chain"] if case == LONG else checkpointed)
        (x,) = random_vector(8)()
        gradient(x, SEGMENTS)
        return lambda: gradient(x, LONG_STEPS)
    workload = next(workload for workload in WORKLOADS if workload.name == case)
    inputs = workload.inputs()
    arguments = (*inputs, *workload.data(), *workload.settings)
    gradient = bridge.grad(PROGRAMS[workload.program], argnums=tuple(range(len(inputs))))
    gradient(*(small(argument) for argument in arguments))
    return lambda: gradient(*arguments)


def small(argument: Any) -> Any:
    """An argument cut down for the warm-up: the first 300 elements of a vector, at most two repetitions."""
    if isinstance(argument, np.ndarray):
        return argument[:300] if argument.ndim == 1 else argument
    return min(argument, 2)


def traced(case: str) -> int:
    """Bytes that one gradient allocates at its peak, Python objects included."""
    run = gradient_of(case)
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        run()
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


def resident(case: str) -> int:
    """Bytes that the whole process has held at its peak, interpreter and imports included."""
    gradient_of(case)()
    status = Path("/proc/self/status")
    if status.exists():
        # `ru_maxrss` of a process that was forked from a larger one starts at the parent's size.
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if "VmHWM" in line) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


METERS = {"tracemalloc": traced, "resident": resident}


def measure(case: str, meter: str) -> int:
    """Bytes of one case, measured in a fresh process; a failure there is raised here."""
    command = [sys.executable, "-m", "benchmarks.memory", case, meter]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command[1:])} failed:\n{result.stderr}")
    return int(result.stdout)


if __name__ == "__main__":
    print(METERS[sys.argv[2]](sys.argv[1]))
