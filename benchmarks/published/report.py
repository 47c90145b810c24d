"""The table of one engine, its reasons, and the line that sums it up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from rich.table import Table

from benchmarks.published.engines import COMPILE
from benchmarks.published.footprint import LIMIT
from benchmarks.published.runs import Result
from benchmarks.report import duration

LONGEST_REASON = 300
ABSENT = ("no derivative", "no port")
COLOURS = {"right": "green", "no derivative": "dim", "no port": "dim"}


def table(title: str, results: Sequence[Result], engine: str) -> Table:
    """One row a program: times, their ratio, memory, the largest error, the verdict."""
    shown = Table(title=f"{title}, engine {engine}", title_justify="left")
    shown.add_column("program")
    compiled = engine in COMPILE
    columns = ("forward", "compile" if compiled else "first call", "run" if compiled else "gradient", "ratio", "memory")
    for column in (*columns, "error"):
        shown.add_column(column, justify="right", no_wrap=True)
    shown.add_column("verdict", no_wrap=True)
    for result in results:
        if result.engine == engine and result.verdict not in ABSENT:
            shown.add_row(*row(result, compiled))
    return shown


def line(result: Result) -> str:
    """What is printed of one result as soon as it is known."""
    parts = [f"{result.name:24} {result.engine:7} {result.verdict:14}"]
    if result.gradient is not None and result.first is not None:
        median = result.facts.get("median")
        parts.append(f"first {duration(result.first):>8}  then {duration(result.gradient):>8}")
        parts.append(f"(median {duration(median)})" if median else "")
    if result.verdict not in ("right", *ABSENT) or result.verdict == "no port":
        parts.append(shortened(result.reason).replace("\n", " "))
    return "  ".join(filter(None, parts)).rstrip()


def row(result: Result, compiled: bool) -> list[str]:
    """The cells of one program."""
    start = result.first
    if compiled and start is not None and result.gradient is not None:
        start = max(start - result.gradient, 0.0)
    colour = COLOURS.get(result.verdict, "red")
    verdict = f"[{colour}]{result.verdict}[/{colour}]{' (float32)' if result.precision == 'single' else ''}"
    return [
        result.name,
        *("-" if seconds is None else duration(seconds) for seconds in (result.forward, start, result.gradient)),
        "-" if result.ratio is None else f"{result.ratio:.3g}",
        "-" if result.memory is None else f"{result.memory / 2**20:,.1f} MiB",
        "-" if result.error is None else f"{result.error:.0e}",
        verdict,
    ]


def reasons(results: Sequence[Result], engine: str) -> list[str]:
    """A line for each program of which there is something to say: why it is not right, or zero somewhere."""
    lines = []
    for result in (each for each in results if each.engine == engine):
        if result.note:
            lines.append(f"{result.name}: {result.note}")
        zero = result.facts.get("zero", ())
        if result.reason:
            lines.append(f"{result.name}, {result.verdict}: {shortened(result.reason)}")
        if zero:
            everywhere = set(zero) == set(result.facts["arguments"])
            lines.append(
                f"{result.name}: the gradient is zero {'throughout' if everywhere else 'for ' + ', '.join(zero)}"
            )
    return lines


def shortened(reason: str) -> str:
    """A reason in a line or two: what happened, and where. The JSON file has all of it, the remedy included."""
    what, *places = reason.split("\n  at ")
    words = " ".join(what.split())
    place = " ".join(places[:1]).partition("\n")[0]
    return (words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}...") + (place and f"\n  at {place}")


def summary(results: Sequence[Result], engine: str) -> str:
    """One line: how many are right, and what a gradient costs."""
    differentiable = [each for each in results if each.engine == engine and each.verdict not in ABSENT]
    right = [each for each in differentiable if each.verdict == "right"]
    mean = geometric_mean([each.ratio for each in right if each.ratio])
    processor = geometric_mean([each.facts["processor"] for each in right if each.facts.get("processor")])
    took = "run" if engine in COMPILE else "gradient"
    cost = f", {took} {mean:.3g} times forward (geometric mean; {processor:.3g} in processor time)" if right else ""
    return f"{len(right)} of {len(differentiable)} right ({engine}){cost}"


def memory(results: Sequence[Result], engine: str) -> Iterator[str]:
    """One line, if it was counted: memory beside that of the programs themselves, and where it is most."""
    counted = {each.name: each.footprint for each in results if each.engine == engine and each.footprint is not None}
    if counted:
        most = sorted(counted, key=lambda name: -counted[name])[:3]
        within = sum(ratio <= LIMIT for ratio in counted.values())
        yield (
            f"memory within {LIMIT} times of what the program creates, overwrites and returns: {within} of "
            f"{len(counted)} ({engine}); most: " + ", ".join(f"{name} {counted[name]:.3g}" for name in most)
        )


def geometric_mean(ratios: Sequence[float]) -> float:
    """The geometric mean; NaN of nothing."""
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else math.nan
