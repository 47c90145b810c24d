"""`python -m benchmarks.scaling`: exponents of compiled time in the number of steps, and in the size of arrays."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.published.report import line
from benchmarks.published.runs import Result, run
from benchmarks.report import duration
from benchmarks.scaling.catalogue import named

WIDTH = 150
LAST = 3
STEPS = (250, 1000, 4000, 8000)
OF_STEPS = {"stencil": 1000, "sweep": 64, "branches": 100, "pendulum": 2}
SIZES = (10_000, 100_000, 1_000_000)
OF_SIZE = {"writes": (500, 2000), "moves": (500, 2000)}
LARGEST_OF_STEPS, LARGEST_OF_SIZE, LARGEST_OF_COMPILING = 1.05, 0.1, 0.1


@dataclass(frozen=True)
class Row:
    """How one quantity of a program grows: seconds at each point, and the bound of the exponent."""

    program: str
    quantity: str
    points: Sequence[int]
    seconds: Sequence[float]
    bound: float

    @property
    def exponent(self) -> float:
        """The slope of a line through the last points, both axes logarithmic; NaN where one is missing.

        What does not grow hides in the first points what does.
        """
        seconds = self.seconds[-LAST:]
        if not all(each > 0 for each in seconds):
            return math.nan
        return float(np.polyfit(np.log(self.points[-LAST:]), np.log(seconds), 1)[0])

    @property
    def verdict(self) -> str:
        """Whether the exponent is within its bound."""
        return "not known" if math.isnan(self.exponent) else "pass" if self.exponent <= self.bound else "falls short"


def rows(program: str, results: dict[str, Result]) -> Iterator[Row]:
    """What the points of one program come to."""

    def known(steps: int, size: int) -> Result:
        return results[named(program, steps, size)]

    if program in OF_STEPS:
        found = [known(steps, OF_STEPS[program]) for steps in STEPS]
        times = [each.processor if each.verdict == "right" and each.processor else math.nan for each in found]
        yield Row(program, "time, in steps", STEPS, times, LARGEST_OF_STEPS)
        compiling = [each.compiling if each.verdict == "right" and each.compiling else math.nan for each in found]
        yield Row(program, "compile time, in steps", STEPS, compiling, LARGEST_OF_COMPILING)
        return
    few, many = OF_SIZE[program]
    pairs = [(known(few, size), known(many, size)) for size in SIZES]
    each_step = [
        (more.processor - less.processor) / (many - few)
        if less.verdict == more.verdict == "right" and more.processor and less.processor
        else math.nan
        for less, more in pairs
    ]
    yield Row(program, "time of a step, in size", SIZES, each_step, LARGEST_OF_SIZE)


def points(program: str) -> list[str]:
    """The names of a program's points."""
    if program in OF_STEPS:
        return [named(program, steps, OF_STEPS[program]) for steps in STEPS]
    return [named(program, steps, size) for size in SIZES for steps in OF_SIZE[program]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all points, each in a process of its own; returns 1 if an exponent is too large or not known."""
    options = parse(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH)
    found: list[Row] = []
    for program in options.only or (*OF_STEPS, *OF_SIZE):
        results = {}
        for name in points(program):
            job = {"catalogue": "benchmarks.scaling.catalogue", "checkout": "", "preset": "", "own_dtype": False}
            results[name] = run(job | {"name": name, "engine": options.engine}, options.timeout)
            console.print(line(results[name]), markup=False, highlight=False, soft_wrap=True)
        found += rows(program, results)
        if options.output:
            with options.output.open("w", encoding="utf-8") as file:
                Console(file=file, width=WIDTH).print(table(found, options.engine))
    console.print(table(found, options.engine))
    return 0 if all(row.verdict == "pass" for row in found) else 1


def table(found: Sequence[Row], engine: str) -> Table:
    """One row a program and quantity."""
    shown = Table(title=f"how gradients grow, engine {engine}, in processor time", title_justify="left")
    for column in ("program", "what", "points", "seconds"):
        shown.add_column(column)
    for column in ("exponent", "required", "verdict"):
        shown.add_column(column, justify="right")
    for row in found:
        shown.add_row(
            row.program,
            row.quantity,
            ", ".join(f"{point:,}" for point in row.points),
            ", ".join("-" if math.isnan(each) else duration(each) for each in row.seconds),
            "-" if math.isnan(row.exponent) else f"{row.exponent:.2f}",
            f"≤ {row.bound:g}",
            row.verdict,
        )
    return shown


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=(*OF_STEPS, *OF_SIZE), metavar="NAME", help="some of the programs")
    parser.add_argument("--engine", default="xla", help="xla, or any other engine of bridge")
    parser.add_argument("--timeout", type=float, default=60.0, metavar="SECONDS", help="for each point (60)")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the table to FILE, after each program")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())
