"""`python -m benchmarks.guard`: how many of Python's instructions the core programs take, beside what is committed.

Times tell little on a machine that others use; the number of instructions that Python executes is the same in each run.
What an operation takes is found from two lengths of a program; the rest is what a call takes before and after. NumPy's
own work is no part of it, and nothing runs in C that could run in Python. Counts belong to a minor version of Python,
and are compared with those of the same.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import bridge
from benchmarks.programs import PROGRAMS, digits_parameters
from bridge import in_c

FILE = Path(__file__).parent / "instructions.json"
ALLOWED = 1.05
"""How many times as many as committed are no failure."""

X = np.linspace(0.1, 0.9, 64)


class Counts(NamedTuple):
    """Instructions of a call without operations, and of each operation of the program."""

    call: float
    operation: float


def instructions(run: Callable[[], Any]) -> int:
    """How many of Python's instructions a call executes, when everything has been met before."""
    found = 0

    def local(frame: Any, event: str, argument: Any) -> Any:
        nonlocal found
        found += event == "opcode"
        return local

    def entered(frame: Any, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return local

    before = sys.gettrace()
    with in_c.pure():
        for _ in range(3):
            run()
        gc.collect()
        gc.disable()
        try:
            for _ in range(2):  # Python 3.12 tells instructions from the second time on
                found = 0
                sys.settrace(entered)
                run()
                sys.settrace(before)
        finally:
            sys.settrace(before)
            gc.enable()
    return found


Make = Callable[[int], Sequence[Any]]


def of_steps(program: Callable[..., Any], argnums: Any, operations: int, make: Make) -> Counts:
    """Counts of a gradient, from two numbers of steps; `make` gives the arguments for one."""
    gradient = bridge.grad(program, argnums=argnums, engine="native")
    few, many = (instructions(partial(gradient, *make(steps))) for steps in (20, 40))
    operation = (many - few) / (20 * operations)
    return Counts(few - 20 * operations * operation, operation)


def of_digits() -> Counts:
    """Counts of one gradient of the network; it has no steps."""
    random = np.random.default_rng(0)
    batch = random.random((8, 64)), np.arange(8) % 10, np.zeros((8, 64)), np.zeros((8, 10))
    gradient = bridge.grad(PROGRAMS["digits"], argnums=(0, 1, 2, 3), engine="native")
    return Counts(instructions(lambda: gradient(*digits_parameters(), *batch)), 0.0)


def of_a_compiled_call() -> Counts:
    """Counts of the call of a compiled gradient."""
    gradient = bridge.grad(PROGRAMS["heat"], engine="xla")
    return Counts(instructions(lambda: gradient(X, 3)), 0.0)


CASES: dict[str, Callable[[], Counts]] = {
    "slice writes": lambda: of_steps(PROGRAMS["writes"], 0, 4, lambda steps: (X, steps, 2)),
    "heat": lambda: of_steps(PROGRAMS["heat"], 0, 5, lambda steps: (X, steps)),
    "recurrence": lambda: of_steps(PROGRAMS["recurrence"], 0, 5, lambda steps: (X[: steps + 1],)),
    "chain": lambda: of_steps(PROGRAMS["chain"], 0, 5, lambda steps: (X, steps)),
    "scalars": lambda: of_steps(PROGRAMS["scalars"], 0, 4, lambda steps: (X[:8], steps)),
    "digits": of_digits,
    "compiled call": of_a_compiled_call,
}


def compared(found: Mapping[str, Counts], committed: Mapping[str, Sequence[float]]) -> tuple[Table, bool]:
    """A table of the counts beside those committed, and whether one of them has grown."""
    table = Table(title=f"instructions of Python {version()}", title_justify="left")
    for column in ("program", "a call", "committed", "", "an operation", "committed", ""):
        table.add_column(column, justify="left" if column == "program" else "right")
    grown = False
    for name, counts in found.items():
        cells = []
        for now, before in zip(counts, committed.get(name, (None, None)), strict=True):
            moved = now / before if before else None
            grown = grown or (moved is not None and moved > ALLOWED)
            shown = "" if moved is None or abs(moved - 1) < 0.005 else f"{moved - 1:+.1%}"
            cells += [f"{now:,.0f}" if now else "-", f"{before:,.0f}" if before else "-", shown]
        table.add_row(name, *cells)
    return table, grown


def version() -> str:
    """The minor version of Python."""
    return ".".join(platform.python_version_tuple()[:2])


def main(arguments: Sequence[str] | None = None) -> int:
    """Count, show and compare; 1 if something has grown by more than a twentieth."""
    os.environ["BRIDGE_LOOPS"] = "python"  # What is measured is an operation of Python's.
    parser = argparse.ArgumentParser(prog="python -m benchmarks.guard", description=__doc__)
    parser.add_argument("--update", action="store_true", help="commit what is counted now")
    options = parser.parse_args(arguments)
    everything = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    found = {name: count() for name, count in CASES.items()}
    table, grown = compared(found, everything.get(version(), {}))
    console = Console()
    console.print(table)
    if options.update:
        everything[version()] = {name: [round(one, 2) for one in counts] for name, counts in found.items()}
        FILE.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
        return 0
    if version() not in everything:
        console.print(f"nothing is committed for Python {version()}: python -m benchmarks.guard --update")
        return 0
    if grown:
        console.print(f"grown by more than {ALLOWED - 1:.0%}: mend it, or say why and commit it (--update)")
    return int(grown)


if __name__ == "__main__":
    sys.exit(main())
