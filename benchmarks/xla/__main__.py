"""`python -m benchmarks.xla`: compiled gradients, ours and JAX's, beside PyTorch's; one table and its requirements."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import timing
from benchmarks.programs import Workload
from benchmarks.requirements import Cells, Requirement
from benchmarks.timing import Effort
from benchmarks.xla import report, requirements
from benchmarks.xla.programs import CALLS, WORKLOADS

WIDTH_WITHOUT_TERMINAL = 170
QUICK = Effort(level=0, repeats=7, at_least=1, budget=1.0, patience=10.0)
USUAL = Effort(level=1, repeats=15, at_least=3, budget=3.0, patience=5.0)

Report = tuple[list[Workload], dict[str, Any], Cells, list[Requirement], list[str]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; returns 1 if two columns' gradients differ, else 0.

    A requirement that falls short is reported and does not change the exit status: it depends on the machine.
    """
    options = parse(arguments)
    try:
        from benchmarks.xla import peers
    except ModuleNotFoundError as error:
        print(f"{error.name} is not installed: pip install 'mutation-bridge[jax]'", file=sys.stderr)
        return 2
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_WITHOUT_TERMINAL)
    effort = QUICK if options.quick else USUAL
    columns = {key: peer for key, peer in peers.columns() if not options.columns or key in options.columns}
    workloads = [w for w in WORKLOADS if not options.only or any(part in w.name for part in options.only)]
    cells: Cells = {}
    allocated: dict[str, list[float]] = {}
    missing: list[str] = []

    def so_far() -> Report:
        """What is known by now; a run that is cut short has written the rows before."""
        measured = [workload for workload in workloads if workload.name in cells]
        notes = [*missing, *spellings(columns), *reasons(columns, cells), *requirements.disagreements(cells)]
        found = measured, columns, cells, list(requirements.of_times(cells, allocated)), notes
        if options.output:
            report.write(options.output, report.markdown(*found))
        return found

    with Console(stderr=True).status("starting") as status:
        for workload in workloads:
            status.update(workload.title)
            try:
                cells[workload.name] = timing.measure(workload, columns, effort)
                of_one_call(workload.name, cells)
            except ModuleNotFoundError as error:
                missing.append(f"{workload.name} is left out: {error.name} is not installed")
            if workload.program == "writes":
                allocated[workload.name] = peers.allocations(workload.inputs()[0].size, effort.repeats)
            so_far()
    report.show(console, *so_far())
    return 1 if requirements.disagreements(cells) else 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    names = ", ".join(workload.name for workload in WORKLOADS)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.xla", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repetitions, and nothing that takes a peer long")
    parser.add_argument("--only", nargs="+", metavar="NAME", help=f"names or parts of names, among: {names}")
    parser.add_argument("--columns", nargs="+", metavar="KEY", help="xla, jax, option, rewritten, ref, torch, native")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the tables to FILE as Markdown")
    return parser.parse_args(arguments)


def of_one_call(name: str, cells: Cells) -> None:
    """Divide the samples of a workload that is timed in a row."""
    for cell in cells[name].values():
        cell.samples = [seconds / CALLS.get(name, 1) for seconds in cell.samples]


def spellings(columns: dict[str, Any]) -> list[str]:
    """Where there was a choice, how long each way of writing a program took in its first call."""
    return [
        f"{peer.title}, {name}, one call of each spelling, the first is taken: {spelling}"
        for peer in columns.values()
        for name, spelling in peer.spelling.items()
    ]


def reasons(columns: dict[str, Any], cells: Cells) -> list[str]:
    """Why cells are empty, one line for each column and reason."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, row in cells.items():
        for key, cell in row.items():
            if cell.why_not:
                found.setdefault((columns[key].title, cell.why_not), []).append(name)
    return [f"{title}, {', '.join(names)}: {why}" for (title, why), names in found.items()]


if __name__ == "__main__":
    sys.exit(main())
