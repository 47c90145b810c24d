"""Reports and traces as rich tables in a terminal; rich is optional, and plain text stands in for it."""

from __future__ import annotations

import io
import shutil
from collections.abc import Iterator
from typing import Any

from bridge.proof.report.model import Operation, Report, Run, Timeline, Trace
from bridge.proof.report.text import (
    MARKS,
    chosen,
    counts,
    difference_lines,
    differentiated,
    largest,
    mark,
    notes,
    number,
    place,
    readable,
    region_text,
    short,
    text_of,
    verdict,
)

STYLES = {"✓": "green", "✗": "red", "–": "yellow"}
WIDTH = 140
"""Columns of tables that go into a file or a string, where no terminal says how wide it is."""
NARROW = 72
"""A terminal of fewer columns has no room for the columns of a table: it gets their cells as lines."""


def tables(shown: Any) -> str:
    """A report or a trace as tables without colours; as lines of text if rich is not installed."""
    try:
        from rich.console import Console
    except ImportError:
        return text_of(shown)
    width = shutil.get_terminal_size((WIDTH, 24)).columns
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(shown)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]


def renderables(shown: Any, width: int) -> Iterator[Any]:
    """What a rich console of so many columns prints."""
    shown = readable(shown)
    if isinstance(shown, Report):
        yield from _report(shown, width < NARROW)
    else:
        assert isinstance(shown, Trace)
        yield from _narrow_trace(shown) if width < NARROW else _trace(shown)


def _report(report: Report, narrow: bool) -> Iterator[Any]:
    from rich.text import Text

    style = "bold green" if report.ok else "bold red"
    yield Text.assemble(
        (f"{'✓' if report.ok else '✗'} ", style),
        (f"{report.program}({report.arguments})", "bold"),
        ": ",
        (verdict(report), style),
    )
    if report.differences:
        if not narrow:
            yield _differences(report)
        for position, one in enumerate(report.differences, 1):
            yield Text("\n".join([f"{position}. {difference_lines(one)[0]}", *_indented(difference_lines(one)[1:])]))
    if report.smallest is not None:
        yield Text(f"smallest input that shows the first: {report.smallest}")
    if report.differentiated:
        yield Text(f"differentiated: {differentiated(report)}")
    yield from [_narrow_run(run, report) for run in report.runs] if narrow else [_runs(report)]
    for remark in report.remarks:
        yield Text(f"noted: {remark}", style="dim")


def _indented(lines: list[str]) -> list[str]:
    return [f"   {line}" for line in lines]


def _differences(report: Report) -> Any:
    from rich.text import Text

    table = _table("", "kind", "engines", "what", ">relative", "blamed", ">sure")
    table.columns[1].no_wrap = True
    for position, one in enumerate(report.differences, 1):
        harmless = one.kind in ("kink", "precision")
        table.add_row(
            str(position),
            Text(f"{MARKS[one.kind]} {one.kind}", style="yellow" if harmless else "red"),
            Text("\n".join([", ".join(one.suspects), one.engines[1]])),
            Text(one.what),
            number(one.largest),
            Text(f"{one.name or 'not found'}\n{_line(one.where)}".rstrip()),
            f"{one.confidence:.0%}",
        )
    return table


def _runs(report: Report) -> Any:
    from rich.text import Text

    table = _table("engine", "status", "value", "largest |gradient|", ">seconds")
    for run in report.runs:
        gradients = ", ".join(map(largest, run.gradients))
        ran = run.status == "ran"
        reason = run.why.partition("\n")[0]
        shape = mark(run, report)
        status = Text(f"{shape} ran" if ran else f"{shape} {run.status}: {reason}", style=STYLES[shape])
        table.add_row(
            Text(run.engine), status, Text(short(run.value)), gradients, number(run.seconds) if ran else "",
        )  # fmt: skip
    return table


def _narrow_run(run: Run, report: Report) -> Any:
    from rich.text import Text

    shape = mark(run, report)
    name = (f"{shape} {run.engine}", STYLES[shape])
    if run.status != "ran":
        return Text.assemble(name, f": {run.status}: {run.why.partition(chr(10))[0]}")
    gradients = f", largest |gradient| {', '.join(map(largest, run.gradients))}" if run.gradients else ""
    value = f", value {short(run.value)}" if run.value is not None else ""
    return Text.assemble(name, f": ran in {number(run.seconds)} s{value}{gradients}")


def _narrow_trace(trace: Trace) -> Iterator[Any]:
    from rich.text import Text

    heading, *lines = text_of(trace).split("\n")
    yield Text(heading, style="bold")
    yield from map(Text, lines)


def _trace(trace: Trace) -> Iterator[Any]:
    from rich.text import Text

    timeline = trace.timeline
    yield Text.assemble((f"trace of {trace.program}", "bold"), f": {counts(timeline)}")
    table = _table(">", "operation", "where", "source", "reads", "writes", "memory")
    first, left_out, last = chosen(timeline)
    for operation in first:
        table.add_row(*_cells(operation, timeline))
    if left_out:
        table.add_row("", Text(f"... {left_out:,} more: .to_html(path) shows them all", style="dim"))
    for operation in last:
        table.add_row(*_cells(operation, timeline))
    yield table


def _cells(operation: Operation, timeline: Timeline) -> list[Any]:
    from rich.text import Text

    return [
        str(operation.number),
        Text(operation.name),
        Text(_line(operation.where)),
        Text(operation.source or ""),
        Text("\n".join(region_text(region, timeline) for region in operation.reads)),
        Text("\n".join(region_text(region, timeline) for region in operation.writes)),
        Text(", ".join(notes(operation, timeline)), style="yellow"),
    ]


def _line(where: str | None) -> str:
    """File and line, without folder and function."""
    return "" if where is None else place(where).partition(" in ")[0].replace("\\", "/").rpartition("/")[2]


def _table(*columns: str) -> Any:
    """A table; the columns whose name begins with `>` hold figures."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for name in columns:
        table.add_column(name.lstrip(">"), justify="right" if name.startswith(">") else "left", overflow="fold")
    return table
