"""The two figures: programs without fault that are called wrong, wrong rules that are not found or not named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

import bridge
from benchmarks.crosscheck.planting import Plant, plant_for
from bridge.proof.report.model import Difference, Report
from tests.proof.planted import MISTAKES, planted
from tests.random_programs import RandomProgram, programs

Show = Callable[[str], None] | None


@dataclass
class Figures:
    """What was counted. `alarms` are correct programs with a difference that is neither a kink nor rounding."""

    correct: int = 0
    alarms: int = 0
    remarked: Counter[str] = field(default_factory=Counter)
    wrong: int = 0
    found: int = 0
    localised: int = 0
    kinds: Counter[str] = field(default_factory=Counter)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {kind}" for kind, count in self.kinds.most_common())
        remarked = ", ".join(f"{count} {kind}" for kind, count in self.remarked.most_common()) or "none"
        return "\n".join([
            f"correct programs: {self.correct}, false alarms: {self.alarms} (kinks and rounding remarked on: "
            f"{remarked})",
            f"programs with one wrong rule: {self.wrong}, found: {self.found} ({_share(self.found, self.wrong)}), "
            f"localised to the operation: {self.localised} ({_share(self.localised, self.wrong)})",
            f"classified as: {kinds or 'nothing'}",
        ])  # fmt: skip


def figures(count: int, engines: Sequence[str], show: Show = None) -> Figures:
    """Both figures over `count` programs each, the same ones in every run."""
    counted = Figures()
    run_all(count, lambda program: count_correct(program, engines, counted, show))
    rng = np.random.default_rng(0)
    # Some programs show none of the wrong rules that are tried; others take their place.
    run_all(2 * count, lambda program: count_wrong(program, rng, counted, count, show))
    return counted


def count_correct(program: RandomProgram, engines: Sequence[str], counted: Figures, show: Show = None) -> None:
    """One correct program."""
    report = bridge.crosscheck(program.function(np), engines=engines, shrink=False)(*program.inputs)
    counted.correct += 1
    counted.alarms += bool(wrong_in(report))
    counted.remarked.update(one.kind for one in report.differences if one.kind in ("kink", "precision"))
    if show is not None and wrong_in(report):
        show(f"false alarm:\n{program!r}\n{report}")


def count_wrong(
    program: RandomProgram, rng: np.random.Generator, counted: Figures, most: int, show: Show = None
) -> None:
    """One program with a wrong rule, if one is found that its gradient shows."""
    if counted.wrong >= most:
        return
    plant = plant_for(program, rng)
    if plant is None:
        return
    with planted(plant.function, MISTAKES[plant.mistake]):
        report = bridge.crosscheck(program.function(np), engines=("native",), shrink=False)(*program.inputs)
    counted.wrong += 1
    counted.found += bool(wrong_in(report))
    counted.localised += names(report, plant)
    counted.kinds.update({one.kind for one in report.differences})
    if show is not None and not names(report, plant):
        how = "not named" if wrong_in(report) else "missed"
        show(f"{plant.mistake} in {plant.name}, {how}:\n{program!r}\n{report}")


def wrong_in(report: Report) -> list[Difference]:
    """The differences that are neither kinks nor rounding. An engine that refuses a program makes none."""
    return [one for one in report.differences if one.kind not in ("kink", "precision")]


def names(report: Report, plant: Plant) -> bool:
    """Whether the first difference names the operation and a line that calls it."""
    wrong = wrong_in(report)
    return bool(wrong) and wrong[0].name == plant.name and wrong[0].where in plant.lines


def run_all(count: int, check: Callable[[RandomProgram], None]) -> None:
    """Run a check on `count` programs."""

    for program in programs(count):
        with np.errstate(all="ignore"):
            check(program)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
