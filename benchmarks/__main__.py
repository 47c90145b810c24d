"""`python -m benchmarks`: every peer in one run, one table of times and one of requirements."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import memory, peers, report, requirements, timing
from benchmarks.programs import WORKLOADS
from benchmarks.requirements import Requirement
from benchmarks.timing import Cell

WIDTH_WITHOUT_TERMINAL = 150


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmarks; returns 1 if two peers' gradients differ, else 0.

    A requirement that falls short is reported and does not change the exit status: it depends on the machine.
    """
    options = parse(arguments)
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)
    progress = Console(stderr=True)
    notes: list[str] = []

    def wanted(name: str) -> bool:
        return not options.only or any(part in name for part in options.only)

    effort = timing.QUICK if options.quick else timing.FULL if options.full else timing.USUAL
    judged: list[Requirement] = []
    with progress.status("starting") as status:
        if not options.no_memory:
            judged = list(requirements.of_memory(wanted, status.update, long=not options.quick))
            if options.quick:
                notes.append("the programs of 1,000,000 entries are left out by --quick")
        present = dict(peers.load(notes.append))
        workloads = [workload for workload in WORKLOADS if wanted(workload.name)]
        cells: dict[str, dict[str, Cell]] = {}
        for workload in workloads:
            status.update(workload.title)
            try:
                cells[workload.name] = timing.measure(workload, present, effort)
            except ModuleNotFoundError as error:
                notes.append(f"{workload.name} is left out: {error.name} is not installed")
    measured = [workload for workload in workloads if workload.name in cells]
    notes.extend(reasons(present, cells))
    judged = [*requirements.of_times(cells), *judged]
    report.show(console, measured, present, cells, judged, notes)
    if options.json:
        report.write_json(options.json, present, cells, judged, notes)
    return 0 if all(cell.agrees for row in cells.values() for cell in row.values()) else 1


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    names = ", ".join((*(workload.name for workload in WORKLOADS), memory.LONG, memory.LONG_CHECKPOINTED))
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--quick", action="store_true", help="few repetitions, under a minute: for smoke use")
    length.add_argument("--full", action="store_true", help="also what takes a peer a good part of a minute or more")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"names or parts of names, among: {names}")
    parser.add_argument("--no-memory", action="store_true", help="times only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples and verdicts to FILE")
    return parser.parse_args(arguments)


def reasons(present: dict[str, Any], cells: dict[str, dict[str, Cell]]) -> list[str]:
    """Why cells are empty, one line for each peer and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, row in cells.items():
        for key, cell in row.items():
            if cell.why_not:
                found.setdefault((present[key].title, cell.why_not), []).append(name)
    return [f"{title}, {', '.join(names)}: {why}" for (title, why), names in found.items()]


if __name__ == "__main__":
    sys.exit(main())
