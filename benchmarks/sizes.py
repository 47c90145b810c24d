"""`python -m benchmarks.sizes [--to FOLDER]`: gradients against the size of the problem, as plots and a table.

Each program at several sizes, everybody in one process and in turns, medians; beside them the plain program, and what
central differences would take, two runs of it for each number that is differentiated.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track
from rich.table import Table

import bridge
from benchmarks import peers, timing
from benchmarks.peers import Run
from benchmarks.programs import PROGRAMS, Workload, random_vector
from benchmarks.timing import Cell, Effort


class Series(NamedTuple):
    """A program, and the sizes at which it runs."""

    name: str
    title: str
    sizes: tuple[int, ...]
    settings: tuple[int, ...]


SERIES = (
    Series("writes", "1,000 slice writes of 100 elements", (1_000, 10_000, 100_000, 1_000_000), (1000, 100)),
    Series("heat", "heat equation, 50 steps", (100, 1_000, 10_000, 100_000, 1_000_000), (50,)),
    Series("recurrence", "element by element, in a Python loop", (100, 300, 1_000, 3_000), ()),
)
LINES = {
    "numpy": ("plain NumPy, no gradient", "0.4"),
    "native": ('bridge, engine="native"', "C0"),
    "xla": ('bridge, engine="xla"', "C3"),
    "jax": ("JAX, rewritten", "C2"),
    "torch": ("PyTorch, in place", "C1"),
}
DIFFERENCES = "central differences"
EFFORT = Effort(level=1, repeats=15, at_least=3, budget=2.0, patience=15.0)


class Point(NamedTuple):
    """What everybody took at one size."""

    series: Series
    size: int
    cells: dict[str, Cell]

    @property
    def differences(self) -> float:
        """Seconds of a gradient by central differences: two runs of the plain program for each number."""
        return 2 * self.size * self.cells["numpy"].seconds


def engine(name: str) -> Any:
    """A peer: this package with an engine."""

    def prepare(workload: Workload) -> Run:
        inputs = workload.inputs()
        gradient = bridge.grad(PROGRAMS[workload.program], argnums=tuple(range(len(inputs))), engine=name)
        return lambda: gradient(*inputs, *workload.settings)

    return SimpleNamespace(title=LINES[name][0], prepare=prepare)


def measured(most: int | None = None) -> list[Point]:
    """All points; `most` leaves out larger sizes."""
    missing = Console(stderr=True).print
    there = dict(peers.load(missing))
    present = {"native": engine("native"), "xla": engine("xla")} | {k: there[k] for k in LINES if k in there}
    asked = [(one, size) for one in SERIES for size in one.sizes if most is None or size <= most]
    points = []
    for series, size in track(asked, "measuring", console=Console(stderr=True)):
        slow = {"jax": 2, "torch": 2} if series.name == "writes" and size > 100_000 else {}
        workload = Workload(series.name, series.title, series.name, random_vector(size), series.settings, slow=slow)
        points.append(Point(series, size, timing.measure(workload, present, EFFORT)))
    return points


def table(points: list[Point]) -> Table:
    """Milliseconds, a line for each size."""
    shown = Table("program", "size", *(name for name, _ in LINES.values()), DIFFERENCES, title="milliseconds")
    for point in points:
        seconds = [point.cells[key].seconds if key in point.cells else float("nan") for key in LINES]
        cells = ["-" if one != one else f"{1e3 * one:.3g}" for one in (*seconds, point.differences)]
        shown.add_row(point.series.title, f"{point.size:,}", *cells)
    return shown


def plotted(points: list[Point]) -> Any:
    """One picture of all programs, times over sizes."""
    import matplotlib.pyplot as plt

    figure, parts = plt.subplots(1, len(SERIES), figsize=(12, 3.8), layout="constrained")
    for axes, series in zip(parts, SERIES, strict=True):
        own = [point for point in points if point.series is series]
        sizes = [point.size for point in own]
        for key, (name, color) in LINES.items():
            seconds = [point.cells[key].seconds if key in point.cells else float("nan") for point in own]
            if any(one == one for one in seconds):
                axes.loglog(sizes, seconds, "o-", color=color, label=name)
        axes.loglog(sizes, [point.differences for point in own], ":", color="k", label=DIFFERENCES)
        axes.set(title=series.title, xlabel="numbers that are differentiated", ylabel="seconds")
    parts[0].legend(fontsize=7)
    return figure


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, save the plot; 1 if two gradients differ."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("sizes"), metavar="FOLDER", help="where the plot goes (sizes)")
    parser.add_argument("--most", type=int, metavar="SIZE", help="leave out larger sizes")
    options = parser.parse_args(arguments)
    import matplotlib

    matplotlib.use("Agg")
    points = measured(options.most)
    console = Console() if sys.stdout.isatty() else Console(width=150)
    console.print(table(points))
    options.to.mkdir(parents=True, exist_ok=True)
    plotted(points).savefig(options.to / "sizes.png", dpi=110)
    wrong = [(p, key) for p in points for key, cell in p.cells.items() if not cell.agrees]
    for point, key in wrong:
        console.print(f"{point.series.title}, {point.size:,}: {LINES[key][0]} has another gradient")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
