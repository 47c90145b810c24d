"""The tables and the JSON file."""

from __future__ import annotations

import datetime
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.programs import Workload
from benchmarks.requirements import Cells, Requirement
from benchmarks.timing import Cell

BASE = "bridge"


def machine(peers: dict[str, Any]) -> dict[str, Any]:
    """Where and with what the numbers were taken."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "system": platform.platform(terse=True),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "versions": {key: peer.version() for key, peer in peers.items()},
    }


def processor() -> str:
    """The processor's name."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def times_table(workloads: Sequence[Workload], peers: dict[str, Any], cells: Cells) -> Table:
    """One row a workload, one column a peer: median seconds and the ratio to bridge."""
    table = Table(title="gradient: median time, ratio to bridge", title_justify="left")
    table.add_column("program")
    for peer in peers.values():
        table.add_column(peer.title, justify="right", no_wrap=True)
    for workload in workloads:
        row = cells[workload.name]
        table.add_row(workload.title, *(shown(row[key], row[BASE].seconds, workload.operations) for key in peers))
    return table


def shown(cell: Cell, base: float, operations: int) -> str:
    """One cell: `12.3 ms  1.2x`; times of one operation where these are counted."""
    if not cell.samples:
        return "-"
    seconds = cell.seconds
    time = f"{seconds / operations * 1e6:.2f} µs/op" if operations else duration(seconds)
    differs = "" if cell.agrees else " [red]differs[/red]"
    return f"{time} {seconds / base:>6.3g}x{differs}"


def duration(seconds: float) -> str:
    """Three digits in the unit that suits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def requirements_table(requirements: Sequence[Requirement]) -> Table:
    """One row a requirement: the bound, the measured number, the verdict."""
    table = Table(title="requirements", title_justify="left")
    table.add_column("what")
    for name in ("required", "measured"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("made of")
    for each in requirements:
        sign = "≥" if each.at_least else "≤"
        verdict = "[green]pass[/green]" if each.passed else "[red]falls short[/red]"
        bound, measured = quantity(each.bound, each.unit), quantity(each.measured, each.unit)
        table.add_row(each.title, f"{sign} {bound}", measured, verdict, each.note)
    return table


def quantity(value: float, unit: str) -> str:
    """A ratio as `1.2x`, anything else in whole units."""
    return f"{value:.3g}x" if unit == "x" else f"{value:,.0f} {unit}"


def show(
    console: Console,
    workloads: Sequence[Workload],
    peers: dict[str, Any],
    cells: Cells,
    requirements: Sequence[Requirement],
    notes: Sequence[str],
) -> None:
    """Print the machine, both tables and the notes."""
    where = machine(peers)
    versions = ", ".join(f"{key} {version}" for key, version in where["versions"].items())
    console.print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}; {versions}")
    if cells:
        console.print(times_table(workloads, peers, cells))
    if requirements:
        console.print(requirements_table(requirements))
    for note in notes:
        console.print(f"note: {note}")


def write_json(
    path: Path, peers: dict[str, Any], cells: Cells, requirements: Sequence[Requirement], notes: Sequence[str]
) -> None:
    """Write everything that was measured: all samples, not only their medians."""
    content = {
        "machine": machine(peers),
        "times": {
            name: {
                key: {"median": cell.seconds, "samples": cell.samples, "difference": cell.difference}
                for key, cell in row.items()
                if cell.samples
            }
            for name, row in cells.items()
        },
        "requirements": [
            {
                "what": each.title,
                "bound": each.bound,
                "at_least": each.at_least,
                "measured": each.measured,
                "unit": each.unit,
                "passed": each.passed,
                "note": each.note,
            }
            for each in requirements
        ],
        "notes": list(notes),
    }
    path.write_text(json.dumps(content, indent=1) + "\n")
