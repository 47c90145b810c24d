"""The tables, on a terminal and in a Markdown file."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from benchmarks.programs import Workload
from benchmarks.report import duration, quantity, requirements_table
from benchmarks.requirements import Cells, Requirement
from benchmarks.timing import Cell
from benchmarks.xla.requirements import AGREEMENT

BASE = "jax"
TITLE = "Compiled gradients: median time, its ratio to jax.grad's, temporary memory as XLA plans it"


def where() -> str:
    """The kind of device and the versions, without names of machines."""
    device = jax.devices()[0]
    kind = "CPU" if device.platform == "cpu" else device.device_kind
    versions = ", ".join(f"{name} {version(name)}" for name in ("jax", "numpy", *installed("torch")))
    return f"{kind}, {os.cpu_count()} processor cores, float64; Python {platform.python_version()}, {versions}"


def installed(name: str) -> Iterator[str]:
    """The name, if there is such a distribution."""
    try:
        version(name)
    except ModuleNotFoundError:
        return
    yield name


def shown(cell: Cell, base: Cell, temporary: int | None) -> tuple[str, ...]:
    """The parts of one cell: time, ratio, memory, and whether its gradient differs."""
    if not cell.samples:
        return ("-",)
    parts = [duration(cell.seconds)]
    if base.samples:
        parts.append(f"{cell.seconds / base.seconds:.3g}x")
    if temporary is not None:
        parts.append(f"{temporary / 1e6:.3g} MB")
    if cell.difference is not None and not cell.difference <= AGREEMENT:
        parts.append("differs")
    return tuple(parts)


def rows(
    workloads: Sequence[Workload], peers: dict[str, Any], cells: Cells
) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
    """Title and cells of each row."""
    for workload in workloads:
        row = cells[workload.name]
        yield (
            workload.title,
            [shown(row[key], row[BASE], peer.temporary.get(workload.name)) for key, peer in peers.items()],
        )


def show(
    console: Console,
    workloads: Sequence[Workload],
    peers: dict[str, Any],
    cells: Cells,
    requirements: Sequence[Requirement],
    notes: Sequence[str],
) -> None:
    """Print the machine, both tables and the notes."""
    console.print(where())
    table = Table(title=TITLE, title_justify="left")
    table.add_column("program")
    for peer in peers.values():
        table.add_column(peer.title, justify="right")
    for title, row in rows(workloads, peers, cells):
        table.add_row(title, *("\n".join((parts[0], " ".join(parts[1:]))).rstrip() for parts in row))
    console.print(table)
    if requirements:
        console.print(requirements_table(requirements))
    for note in notes:
        console.print(f"note: {note}")


def markdown(
    workloads: Sequence[Workload],
    peers: dict[str, Any],
    cells: Cells,
    requirements: Sequence[Requirement],
    notes: Sequence[str],
) -> str:
    """The same as Markdown."""
    lines = [f"{TITLE}.", "", f"{where()}.", ""]
    lines += table(
        ["program", *(peer.title for peer in peers.values())],
        [[title, *(", ".join(parts) for parts in row)] for title, row in rows(workloads, peers, cells)],
    )
    if requirements:
        lines += ["", *table(["requirement", "required", "measured", "verdict", "made of"], list(judged(requirements)))]
    lines += ["", *(f"- {note}" for note in notes)] if notes else []
    return "\n".join(lines) + "\n"


def judged(requirements: Sequence[Requirement]) -> Iterator[list[str]]:
    """One row a requirement."""
    for each in requirements:
        sign = "≥" if each.at_least else "≤"
        verdict = "pass" if each.passed else "falls short"
        bound, measured = quantity(each.bound, each.unit), quantity(each.measured, each.unit)
        yield [each.title, f"{sign} {bound}", measured, verdict, each.note]


def table(head: list[str], body: list[list[str]]) -> Iterator[str]:
    """A Markdown table; the first column is text, the others are numbers."""
    yield f"| {' | '.join(head)} |"
    yield f"|---|{'---:|' * (len(head) - 1)}"
    for row in body:
        yield f"| {' | '.join(row)} |"


def write(path: Path, text: str) -> None:
    """Write the file, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
