"""`python -m benchmarks.in_c`: what an operation takes with the part that is written in C, and in Python alone.

Processor time in one process, the least of several calls, as microseconds an operation and as multiples of the plain
program. For the stencil also what the recorded ufuncs alone would take: bound views, `out=` arrays, no guards and
nothing of the program's own Python, written by hand.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import bridge
from bridge import in_c

X = np.linspace(0.1, 0.9, 64)


def chain(x: Any, steps: int) -> Any:
    """Products and sums of small arrays."""
    y = x
    for _ in range(steps):
        y = y * x + x
    return np.sum(y)


def scalars(x: Any, steps: int) -> Any:
    """The same of numbers."""
    y = z = x[0]
    for _ in range(steps):
        y = y * z + z
    return y


def stencil(x: Any, steps: int) -> Any:
    """A slice that is written, from three others."""
    for _ in range(steps):
        x[1:-1] = 0.33 * (x[:-2] + x[1:-1] + x[2:])
    return np.sum(x)


PROGRAMS: dict[Callable[..., Any], int] = {chain: 2, scalars: 2, stencil: 4}
"""Operations of a step."""


def replayed(steps: int) -> Callable[[], np.ndarray]:
    """The gradient of the stencil by its ufuncs alone."""
    a, g, temporary, ct = X.copy(), np.zeros(64), np.empty(62), np.empty(62)
    saved = np.empty((steps, 62))
    left, middle, right = a[:-2], a[1:-1], a[2:]
    there: list[Callable[[], Any]] = []
    back: list[Callable[[], Any]] = []
    for k in range(steps):
        there += [
            partial(np.copyto, saved[k], middle), partial(np.add, left, middle, temporary),
            partial(np.add, temporary, right, temporary), partial(np.multiply, 0.33, temporary, temporary),
            partial(np.copyto, middle, temporary),
        ]  # fmt: skip
    for k in reversed(range(steps)):
        back += [
            partial(np.copyto, ct, g[1:-1]), partial(g[1:-1].fill, 0.0), partial(np.copyto, middle, saved[k]),
            partial(np.multiply, ct, 0.33, ct), *(partial(np.add, part, ct, part) for part in (g[:-2], g[1:-1], g[2:])),
        ]  # fmt: skip

    def run() -> np.ndarray:
        np.copyto(a, X)
        for step in there:
            step()
        g.fill(1.0)
        for step in back:
            step()
        return g

    return run


def least(run: Callable[[], Any], calls: int = 7) -> float:
    """Seconds of processor time."""
    found = []
    for _ in range(calls):
        begin = time.process_time()
        run()
        found.append(time.process_time() - begin)
    return min(found)


def main(steps: int = 2000) -> int:
    """Print the table; 1 if two gradients differ."""
    os.environ["BRIDGE_LOOPS"] = "python"  # What is measured is an operation of Python's.
    table = Table("program", "plain", "in Python", "in C", "Python / C", "replayed", title="microseconds an operation")
    differ = not in_c.AVAILABLE
    for program, operations in PROGRAMS.items():
        gradient = bridge.grad(program, engine="native")
        plain = least(lambda: program(X.copy(), steps))  # noqa: B023
        quick = least(lambda: gradient(X, steps))  # noqa: B023
        with in_c.pure():
            slow = least(lambda: gradient(X, steps))  # noqa: B023
            expected = gradient(X, steps)
        differ = differ or not np.array_equal(gradient(X, steps), expected)
        cells = [1e6 * one / (steps * operations) for one in (plain, slow, quick)]
        again = "-"
        if program is stencil:
            run = replayed(steps)
            again = f"{least(run) / plain:.1f}x"
            differ = differ or not np.allclose(run(), expected)
        shown = (f"{one:.2f} ({one / cells[0]:.1f}x)" for one in cells[1:])
        table.add_row(program.__name__, f"{cells[0]:.2f}", *shown, f"{slow / quick:.1f}", again)
    console = Console() if sys.stdout.isatty() else Console(width=110)
    console.print(table)
    if not in_c.AVAILABLE:
        console.print(f"nothing runs in C: {in_c.WHY_NOT}")
    return int(differ)


if __name__ == "__main__":
    sys.exit(main())
