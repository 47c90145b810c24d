"""`python -m benchmarks.bounded`: time and memory of a gradient whose log `memory=` bounds, each in its own process.

The heat equation with a nonlinear term, a million elements, 100 steps: some 1.6 GB are overwritten or read again.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import bridge

SIZE, STEPS = 1_000_000, 100
AMOUNTS = ("", "512MB", "100MB")


def heat(u: Any, steps: int) -> Any:
    """Explicit steps in place; the loss is the squared norm of the result."""
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * np.tanh(u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def measured(amount: str) -> str:
    """Seconds of the program and of its gradient, megabytes that the process had at most, and a sum to compare."""
    u = np.linspace(0.0, 1.0, SIZE)
    start = time.perf_counter()
    heat(u, STEPS)
    middle = time.perf_counter()
    gradient = bridge.grad(heat, engine="native", memory=amount or None)(u, STEPS)
    end = time.perf_counter()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return f"{middle - start:.2f} {end - middle:.2f} {most:.0f} {float(np.sum(gradient)).hex()}"


def main() -> int:
    """Print a line for each amount; 1 if two gradients differ."""
    table, sums = Table("memory=", "program, s", "gradient, s", "resident, MB", title="heat, 1e6, 100 steps"), set()
    for amount in AMOUNTS:
        code = f"from benchmarks.bounded import measured; print(measured({amount!r}))"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        *shown, total = done.stdout.split()
        table.add_row(amount or "not given", *shown)
        sums.add(total)
    Console().print(table)
    return int(len(sums) > 1)


if __name__ == "__main__":
    sys.exit(main())
