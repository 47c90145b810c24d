"""`python -m benchmarks.loops [CHECKOUT]`: gradients of NPBench's loop kernels with loops in Python and in C.

Without CHECKOUT, it runs the example of the README. The unmodified program and its gradients with `loops="python"` and
`loops="auto"` are timed in turn.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import bridge
from benchmarks import npbench
from benchmarks.published.loss import Loss
from benchmarks.published.program import Program
from bridge.loops_in_c import compiling

ROUNDS, BUDGET, WARM, LONG = 7, 6.0, 1.5, 30.0
TOLERANCE = 1e-6


class Times(NamedTuple):
    """Seconds of a kernel and of its two gradients, the smallest of some, and how far the gradients are apart."""

    name: str
    plain: float
    python: float
    in_c: float
    difference: float


def relaxed(u: Any, k: Any, sweeps: int) -> Any:
    """The example of the README."""
    for _ in range(sweeps):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] += k * (u[i - 1, j] + u[i, j - 1] + u[i + 1, j] + u[i, j + 1] - 4.0 * u[i, j])
    return np.sum(u**2)


def of_readme() -> Program:
    """The example of the README with its arguments."""
    u = np.sin(np.arange(10_000.0)).reshape(100, 100)
    return Program(relaxed, {"u": u, "k": 0.2, "sweeps": 20}, relaxed)


def timed(run: Callable[[], Any]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measured(name: str, program: Program) -> Times:
    """One kernel. Loops that take long have been compiled before the clock starts."""
    loss, given = Loss(program), tuple(program.arguments.values())
    by_python = bridge.grad(loss, program.positions, loops="python")
    by_c = bridge.grad(loss, program.positions, loops="auto")
    expected, start = by_python(*given), time.perf_counter()
    found = by_c(*given)
    while time.perf_counter() - start < (LONG if compiling.running() else WARM):
        found = by_c(*given)
    apart = [np.max(np.abs(a - b)) / max(np.max(np.abs(a)), 1e-300) for a, b in zip(expected, found, strict=True)]
    samples: list[tuple[float, ...]] = []
    begun = time.perf_counter()
    while len(samples) < ROUNDS and (len(samples) < 2 or time.perf_counter() - begun < BUDGET):
        copies = program.copied()
        plain = timed(lambda: program.function(*copies))  # noqa: B023
        samples.append((plain, timed(lambda: by_python(*given)), timed(lambda: by_c(*given))))
    return Times(name, *(min(column) for column in zip(*samples, strict=True)), float(max(apart)))


def table(times: Sequence[Times]) -> Table:
    """Milliseconds, and how many plain runs a gradient takes."""
    shown = Table("kernel", "plain, ms", "gradient, Python", "gradient, C", "largest difference")
    for one in times:
        ratios = (f"{part / one.plain:.2f}" for part in (one.python, one.in_c))
        shown.add_row(one.name, f"{1e3 * one.plain:.3g}", *ratios, f"{one.difference:.1e}")
    means = (statistics.geometric_mean([getattr(one, key) / one.plain for one in times]) for key in ("python", "in_c"))
    shown.add_row("geometric mean", "", *(f"{mean:.2f}" for mean in means), "")
    return shown


def plotted(times: Sequence[Times]) -> Any:
    """Both gradients of each kernel, in runs of the plain one."""
    import matplotlib.pyplot as plt

    times = sorted(times, key=lambda one: one.in_c / one.plain)
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    at = np.arange(len(times))
    axes.bar(at - 0.2, [one.python / one.plain for one in times], 0.4, color="#9aa5b1", label="loops in Python")
    axes.bar(at + 0.2, [one.in_c / one.plain for one in times], 0.4, color="#0b7285", label="loops in C")
    axes.axhline(1.0, color="k", linewidth=0.8)
    axes.set(yscale="log", ylabel="gradient, in runs of the plain program")
    axes.set_xticks(at, [one.name for one in times], rotation=50, ha="right", fontsize=8)
    axes.legend(fontsize=8, loc="upper left")
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, save the plot; 1 if two gradients differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loops", description=__doc__)
    parser.add_argument("checkout", type=Path, nargs="?", metavar="CHECKOUT", help="where NPBench has been checked out")
    parser.add_argument("--preset", choices=npbench.PRESETS, default="S", help="size of the arrays")
    parser.add_argument("--kernels", metavar="A,B", help="some of the kernels, by name")
    parser.add_argument("--to", type=Path, metavar="FOLDER", help="where the plot goes")
    options = parser.parse_args(arguments)
    names = options.kernels.split(",") if options.kernels else npbench.LOOPS
    load = partial(
        npbench.load, options.checkout and options.checkout.resolve(), preset=options.preset, own_dtype=False
    )
    programs = {"README": of_readme} if options.checkout is None else {name: partial(load, name) for name in names}
    times = []
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, program in programs.items():
            times.append(measured(name, program()))
    console = Console() if sys.stdout.isatty() else Console(width=110)
    console.print(table(times))
    if options.to is not None:
        import matplotlib

        matplotlib.use("Agg")
        options.to.mkdir(parents=True, exist_ok=True)
        plotted(times).savefig(options.to / "loops.png", dpi=110)
    return int(any(not one.difference < TOLERANCE for one in times))


if __name__ == "__main__":
    sys.exit(main())
