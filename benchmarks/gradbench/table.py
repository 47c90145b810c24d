"""How a run of GradBench is shown: a line when a tool is done with an eval, and a table of all."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.gradbench.conversation import Evaluation, Outcome
from benchmarks.report import duration, machine

WIDTH = 130
LONGEST_REASON = 160
PRIMAL = frozenset({"square", "objective", "primal", "cost"})
"""Functions that differentiate nothing."""

COLOURS = {"valid": "green", "refused": "dim", "absent": "dim"}


def line(outcome: Outcome) -> str:
    """What is printed as soon as it is known."""
    reason = shortened(outcome.reason) if outcome.verdict != "valid" else ""
    return f"{outcome.eval:10} {outcome.tool:14} {outcome.verdict:8} {reason}".rstrip()


def rows(outcome: Outcome) -> list[tuple[str, Evaluation | None, Evaluation]]:
    """For each derivative that was evaluated: the input, the function itself if it is asked for, the derivative.

    An eval that says nothing of its inputs has them all alike: the last is shown.
    """
    primals: dict[str, Evaluation] = {}
    found: dict[tuple[str, str], tuple[str, Evaluation | None, Evaluation]] = {}
    several = len({one.function for one in outcome.evaluations} - PRIMAL) > 1
    for one in outcome.evaluations:
        if one.function in PRIMAL:
            primals[one.description] = one
        else:
            shown = f"{one.description} {one.function}" if several else one.description
            found[one.description, one.function] = shown.strip(), primals.get(one.description), one
    return list(found.values())


def table(outcomes: Sequence[Outcome]) -> Table:
    """One row a tool and an input of an eval's."""
    shown = Table(title="GradBench: medians of the runs after the first, which compiles", title_justify="left")
    shown.add_column("eval")
    shown.add_column("input", no_wrap=True)
    shown.add_column("tool", no_wrap=True)
    shown.add_column("verdict", no_wrap=True)
    for column in ("objective", "derivative", "ratio", "first derivative"):
        shown.add_column(column, justify="right", no_wrap=True)
    for number, outcome in enumerate(outcomes):
        following = outcomes[number + 1] if number + 1 < len(outcomes) else None
        made = cells(outcome)
        for place, row in enumerate(made):
            ends = place == len(made) - 1 and (following is None or following.eval != outcome.eval)
            shown.add_row(*row, end_section=ends)
    return shown


def cells(outcome: Outcome) -> list[list[str]]:
    """The rows of one outcome; one without times if nothing was evaluated."""
    colour = COLOURS.get(outcome.verdict, "red")
    verdict = f"[{colour}]{outcome.verdict}[/{colour}]"
    made = []
    for name, primal, derivative in rows(outcome):
        ratio = f"{derivative.median / primal.median:.3g}" if primal else "-"
        times = [duration(primal.median) if primal else "-", duration(derivative.median), ratio]
        made.append([outcome.eval, name, outcome.tool, verdict, *times, duration(derivative.first)])
    return made or [[outcome.eval, "", outcome.tool, verdict, "-", "-", "-", "-"]]


def show(console: Console, outcomes: Sequence[Outcome]) -> None:
    """Print the machine, the table, why what is not valid is not, and a line for each tool."""
    where = machine({})
    console.print(f"{where['processor']}, {where['cores']} cores, Python {where['python']}")
    console.print(table(outcomes))
    for outcome in outcomes:
        if outcome.verdict != "valid":
            console.print(line(outcome), markup=False, highlight=False, soft_wrap=True)
    for tool in dict.fromkeys(one.tool for one in outcomes):
        own = [one for one in outcomes if one.tool == tool]
        valid = sum(one.verdict == "valid" for one in own)
        console.print(f"{tool}: {valid} of {len(own)} evals valid", markup=False, highlight=False)


def write(path: Path, outcomes: Sequence[Outcome]) -> None:
    """Write what `show` prints of the outcomes so far."""
    shown = io.StringIO()
    show(Console(file=shown, width=WIDTH), outcomes)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(one.rstrip() for one in shown.getvalue().splitlines()) + "\n", encoding="utf-8")


def shortened(reason: str) -> str:
    """A reason that fits into a line or two."""
    words = " ".join(reason.split())
    return words if len(words) <= LONGEST_REASON else f"{words[:LONGEST_REASON]}..."
