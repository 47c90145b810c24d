"""Interleaved timing: every peer's first repetition, then every peer's second, and so on."""

from __future__ import annotations

import gc
import math
import statistics
import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.peers import CannotRun, Run
from benchmarks.programs import Workload

AGREEMENT = 1e-9


@dataclass
class Cell:
    """One peer on one workload: the seconds of its repetitions, or why there are none."""

    samples: list[float] = field(default_factory=list)
    why_not: str = ""
    difference: float | None = None

    @property
    def seconds(self) -> float:
        """Median of the repetitions; NaN without any."""
        return statistics.median(self.samples) if self.samples else math.nan

    @property
    def fastest(self) -> float:
        """Shortest of the repetitions; NaN without any."""
        return min(self.samples, default=math.nan)

    @property
    def agrees(self) -> bool:
        """Whether the gradient equals the first peer's, relative to that gradient's largest element."""
        return self.difference is None or self.difference <= AGREEMENT


@dataclass(frozen=True)
class Effort:
    """How long to measure.

    A peer is repeated `repeats` times, or fewer once it has spent `budget` seconds, but `at_least` times. Its
    first call compiles and warms up, and is no sample, unless it takes over `patience` seconds: then it is the
    only one. `level` decides which slow peers run at all (`Workload.slow`).
    """

    level: int
    repeats: int
    at_least: int
    budget: float
    patience: float


QUICK = Effort(level=0, repeats=5, at_least=1, budget=0.3, patience=10.0)
USUAL = Effort(level=1, repeats=15, at_least=5, budget=4.0, patience=20.0)
FULL = Effort(level=2, repeats=15, at_least=5, budget=4.0, patience=20.0)
LEFT_OUT = {1: "left out by --quick", 2: "takes a good part of a minute or more; run by --full"}


def measure(workload: Workload, peers: dict[str, Any], effort: Effort) -> dict[str, Cell]:
    """Time one workload with every peer; the gradients of the first calls are compared with the first peer's."""
    cells = {key: Cell() for key in peers}
    runs: dict[str, Run] = {}
    reference: Any = None
    for key, peer in peers.items():
        needed = workload.slow.get(key, 0)
        if needed > effort.level:
            cells[key].why_not = LEFT_OUT[needed]
            continue
        try:
            run = peer.prepare(workload)
        except CannotRun as error:
            cells[key].why_not = str(error)
            continue
        seconds, result = timed(run)
        if result is not None:
            gradient = flattened(result)
            if reference is None:
                reference = gradient
            cells[key].difference = float(np.max(np.abs(gradient - reference)) / np.max(np.abs(reference)))
        if seconds > effort.patience:
            cells[key].samples.append(seconds)
        else:
            runs[key] = run
    for _ in range(effort.repeats):
        for key, run in runs.items():
            samples = cells[key].samples
            if len(samples) < effort.at_least or sum(samples) < effort.budget:
                samples.append(timed(run)[0])
    return cells


def timed(run: Run) -> tuple[float, Any]:
    """Seconds of one call, and its result; earlier garbage is collected before the clock starts."""
    gc.collect()
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


def flattened(gradient: Any) -> Any:
    """All cotangents as one NumPy vector."""
    return np.concatenate([np.ravel(np.asarray(part)) for part in gradient])
