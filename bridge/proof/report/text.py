"""Reports and traces in words: what the tables, the pages and the messages of failed tests are made of."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import cache
from typing import Any

import numpy as np

from bridge.errors import printable
from bridge.proof.report.model import REFERENCES, Difference, Memory, Operation, Region, Report, Run, Timeline, Trace

MARKS = {
    "primal": "≠",
    "nan": "∅",
    "kink": "∧",
    "index": "⊘",
    "random": "?",
    "precision": "≈",
    "missing-gradient": "○",
    "mismatch": "✗",
}
"""A shape for each kind of difference, for those who do not tell colours apart."""

SHOWN_OPERATIONS = 60
"""How many operations a text shows; of more, the first and the last."""


def text_of(shown: Any) -> str:
    """A report or a trace as lines of text."""
    shown = readable(shown)
    if isinstance(shown, Report):
        return "\n".join(_report_lines(shown))
    assert isinstance(shown, Trace)
    return "\n".join(_trace_lines(shown))


_LINES = frozenset({"why", "explanation"})
"""Fields that may have several lines; elsewhere an end of line is somebody's attempt to write a line of a report."""


def readable(shown: Any) -> Any:
    """The same report or trace, in which a terminal has nothing to obey and a file nothing that it cannot hold."""
    changed = {}
    kind: Any = type(shown)
    for name in _worded(kind):
        value = getattr(shown, name)
        found = _readable(value, name in _LINES)
        if found is not value:
            changed[name] = found
    return replace(shown, **changed) if changed else shown


@cache
def _worded(kind: Any) -> tuple[str, ...]:
    """The fields that may hold words, others than figures: a timeline has many thousands of them."""
    return tuple(each.name for each in fields(kind) if not set(re.findall(r"\w+", str(each.type))) <= _FIGURES)


_FIGURES = frozenset({"int", "float", "bool", "tuple", "None"})


_PARTS = frozenset({Timeline, Operation, Memory, Region, Run, Difference})


def _readable(value: Any, lines: bool) -> Any:
    if isinstance(value, str):
        return printable(value, lines)
    if type(value) in _PARTS:
        return readable(value)
    if type(value) in (tuple, list):
        return _each_readable(value, lines)
    return value


def _each_readable(values: Sequence[Any], lines: bool) -> Sequence[Any]:
    found = [_readable(one, lines) for one in values]
    same = all(a is b for a, b in zip(found, values, strict=True))
    return values if same else type(values)(found)  # type: ignore[call-arg]


def verdict(report: Report) -> str:
    """One sentence: whether the engines agree."""
    wrong = sum(one.kind not in ("kink", "precision") for one in report.differences)
    ran = [run.engine for run in report.runs if run.status == "ran"]
    remarks = len(report.differences) - wrong
    harmless = f"{remarks} at kinks or by rounding" if remarks else ""
    unsaid = f"; not differentiated: {', '.join(report.left_out)}" if report.left_out else ""
    silent = "".join(f"{run.engine} gave no answer ({run.status}); " for run in report.unanswered)
    if wrong:
        places = f"{wrong} place{'s' if wrong > 1 else ''}{', and ' + harmless if harmless else ''}"
        return f"{silent}engines part in {places}{unsaid}"
    unheld = [name for name in report.asked if name in ran and report.compared is not None]
    unheld = [name for name in unheld if name not in (report.compared or ())]
    if unheld:
        return f"{silent}nothing was compared with a gradient by {', '.join(unheld)}: {', '.join(ran)} ran{unsaid}"
    if len(ran) < 2 or not (report.ok or (silent and report.compared)):
        return f"{silent}nothing was compared: {', '.join(ran) or 'no engine'} ran"
    if not any(name.startswith(REFERENCES) for name in ran):
        # Nobody has said where they are right together.
        unsaid = f", beside no differences{unsaid}"
    parted = {name for one in report.differences for name in (*one.engines, *one.shared)} & set(ran)
    if not parted:
        return f"{silent}{', '.join(ran)} agree{unsaid}"
    return f"{silent}{', '.join(ran)} agree but for {harmless} ({', '.join(n for n in ran if n in parted)}){unsaid}"


def _report_lines(report: Report) -> list[str]:
    lines = [f"crosscheck of {report.program}({report.arguments}): {verdict(report)}"]
    for number, one in enumerate(report.differences, 1):
        lines += [f"  {number}. {line}" if k == 0 else f"     {line}" for k, line in enumerate(difference_lines(one))]
    if report.smallest is not None:
        lines.append(f"  smallest input that shows it: {report.smallest}")
    if report.differentiated:
        lines.append(f"  differentiated: {differentiated(report)}")
    lines += [f"  {run.engine}: {run_text(run)}" for run in report.runs]
    lines += [f"  noted: {remark}" for remark in report.remarks]
    return lines


def difference_lines(one: Difference) -> list[str]:
    """A difference: what, where, the values, why."""
    suspect, other = ", ".join(one.suspects), one.engines[1]
    relative = f"relative difference {number(one.largest)}"
    lines = [f"{MARKS[one.kind]} {one.kind}: {one.what} differs between {suspect} and {other}, {relative}"]
    if one.name or one.where:
        operation = f" (operation {one.operation})" if one.operation is not None else ""
        lines.append(f"blamed: {one.name}{operation}, {place(one.where)}")
    if one.source:
        lines.append(f"  {one.source}")
    if one.argument or one.pull:
        of = f" of {one.argument}" if one.argument else ""
        lines.append(f"its cotangent{of} is wrong" + (f": the pull is {place(one.pull)}" if one.pull else ""))
    lines.append(f"{suspect}: {one.found}   {other}: {one.expected}")
    if one.shapes:
        lines.append(f"shapes of the inputs: {', '.join(map(str, one.shapes))}")
    lines.append(f"{one.explanation} (confidence {one.confidence:.0%})")
    return lines


def differentiated(report: Report) -> str:
    """What was differentiated, and which floats were not."""
    found = ", ".join(report.differentiated)
    return f"{found}; not {', '.join(report.left_out)} (argnums names others)" if report.left_out else found


def run_text(run: Run) -> str:
    """What became of one engine."""
    return f"ran in {run.seconds:.3g} s" if run.status == "ran" else f"{run.status}: {' '.join(run.why.split())}"


def mark(run: Run, report: Report) -> str:
    """A shape for what became of one engine: it ran, it gave no answer that was asked for, or none at all."""
    return "✓" if run.status == "ran" else "✗" if run.engine in report.asked else "–"


def number(value: float) -> str:
    """A figure with three digits."""
    return f"{value:.3g}"


def place(where: str | None) -> str:
    """`file:line in function`, the file as seen from the working directory where it lies below it."""
    if where is None:
        return "place not known"
    here = os.getcwd() + os.sep
    return where[len(here) :] if where.startswith(here) else where


def short(value: Any) -> str:
    """A value in a few words."""
    if value is None:
        return "-"
    array = np.asarray(value) if isinstance(value, (np.ndarray, np.generic, int, float, complex)) else None
    if array is None:
        text = printable(repr(value), lines=False)
        return text if len(text) <= 40 else text[:37] + "..."
    if array.shape == ():
        return f"{array[()]:.6g}"
    return f"{array.dtype} {array.shape}"


def largest(value: Any) -> str:
    """The largest absolute value of an array, NaN if it holds one."""
    if value is None:
        return "none"
    array = np.asarray(value)
    return number(float(np.max(np.abs(array)))) if array.size else "empty"


def memory_label(memory: Memory) -> str:
    """`x`, or number and origin of memory that the program made."""
    return f"#{memory.number} {memory.name}"


def region_text(region: Region, timeline: Timeline) -> str:
    """Memory, bytes and shape of a region."""
    memory = timeline.memory[region.memory]
    whole = region.start == 0 and region.stop == memory.size
    span = "" if whole else f" bytes {region.start}:{region.stop} of {memory.size}"
    return f"{memory_label(memory)}{span} {region.shape}"


def overlaps(operation: Operation) -> bool:
    """Whether an operation reads bytes that it overwrites."""
    return operation.overwrites and any(
        r.memory == w.memory and r.start < w.stop and w.start < r.stop
        for r in operation.reads
        for w in operation.writes
    )


def notes(operation: Operation, timeline: Timeline) -> list[str]:
    """What is worth knowing about an operation's memory."""
    found = []
    if operation.overwrites:
        found.append("reads what it overwrites" if overlaps(operation) else "overwrites")
    for region in (*operation.reads, *operation.writes):
        memory = timeline.memory[region.memory]
        names = memory.name.split(", ")
        if len(names) > 1 and "share" not in " ".join(found):
            found.append(f"{' and '.join(names)} share memory")
    return found


def chosen(timeline: Timeline) -> tuple[list[Operation], int, list[Operation]]:
    """The first and the last operations, and how many between them a text leaves out."""
    operations = list(timeline.operations)
    left_out = len(operations) - SHOWN_OPERATIONS
    if left_out <= 0:
        return operations, 0, []
    first = SHOWN_OPERATIONS * 2 // 3
    return operations[:first], left_out, operations[first + left_out :]


def counts(timeline: Timeline) -> str:
    """How many operations, overwrites and pieces of memory."""
    if not timeline.operations:
        return "no operation on an array among the arguments was seen (numbers and plain arrays are not followed)"
    overwriting = sum(operation.overwrites for operation in timeline.operations)
    return (
        f"{len(timeline.operations):,} operations, {overwriting:,} overwrite memory, "
        f"{len(timeline.memory):,} pieces of memory, {sum(m.size for m in timeline.memory):,} bytes in all"
    )


def _trace_lines(trace: Trace) -> list[str]:
    timeline = trace.timeline
    lines = [f"trace of {trace.program}: {counts(timeline)}"]
    first, left_out, last = chosen(timeline)
    lines += [_operation_line(operation, timeline) for operation in first]
    if left_out:
        lines.append(f"  ... {left_out:,} more: .to_html(path) shows them all")
    return lines + [_operation_line(operation, timeline) for operation in last]


def _operation_line(operation: Operation, timeline: Timeline) -> str:
    reads = ", ".join(region_text(region, timeline) for region in operation.reads) or "-"
    writes = ", ".join(region_text(region, timeline) for region in operation.writes) or "-"
    said = "".join(f" ({note})" for note in notes(operation, timeline))
    return f"  {operation.number} {operation.name}, {place(operation.where)}: {reads} -> {writes}{said}"
