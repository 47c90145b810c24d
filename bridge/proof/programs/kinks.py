"""Kinks: answers between the one-sided derivatives, the operation that has them, and the table of conventions.

The page docs/conventions.md is the table of what the gradient is at kinks, jumps and infinities: tests evaluate each of
its rows, and reports cite them. In a checkout it lies in `docs`; a wheel carries it inside of the package.
"""

from __future__ import annotations

import math
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bridge.proof.blame.blaming import Blame, of_entry, of_step
from bridge.proof.blame.lost_gradients import tied
from bridge.proof.numerics.compare import compared
from bridge.proof.numerics.sampling import moved_along, sampled
from bridge.proof.programs.evidence import Conflict, Evidence
from bridge.proof.programs.running import answer

# How far beside the point, and at how many coordinates, a gradient is proved again.
NEARBY = 3e-3
NEARBY_COORDINATES = 16

ROW = re.compile(r"^\| `(?P<function>[^`]+)` \| `(?P<at>[^`]+)` \| `(?P<gradient>[^`]+)` \|(?P<why>.*)\|$")
_PACKAGE = Path(__file__).parent.parent.parent
_PLACES = (_PACKAGE / "conventions.md", _PACKAGE.parent / "docs" / "conventions.md")


class Convention(NamedTuple):
    """One row: the gradient of the sum of `function`, an expression in `x`, at the point `at`, and why."""

    function: str
    at: str
    gradient: str
    why: str
    section: str

    def __str__(self) -> str:
        reason = f": {self.why}" if self.why else ""
        return f"the gradient of {self.function} at {self.at} is {self.gradient}{reason}"


def page() -> Path | None:
    """Where the table lies; None in an installation without it."""
    return next((path for path in _PLACES if path.is_file()), None)


@cache
def table() -> tuple[Convention, ...]:
    """All rows of the page; none in an installation without it."""
    path = page()
    rows: list[Convention] = []
    section = ""
    for line in [] if path is None else path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            section = line[3:]
        match = ROW.match(line)
        if match:
            function, at, gradient, why = match.groups()
            rows.append(Convention(function, at, gradient, why.strip(), section))
    return tuple(rows)


def convention_of(name: str) -> Convention | None:
    """The first row about an operation (`np.abs`), among those about kinks first."""
    return next((row for row in table() if row.function.startswith(f"{name}(")), None)


def is_subgradient(evidence: Evidence, conflict: Conflict) -> bool:
    """Whether the suspect's answer at a kink lies between the one-sided derivatives."""
    sample, got = conflict.sample, conflict.got
    if sample is None or not sample.slope.is_clear_kink:
        return False
    value = float(np.real(got))
    if conflict.spot is not None:
        leaf, index = conflict.spot
        value = float(np.real(np.conj(got) * sample.direction[leaf][index])) if sample.leaf == leaf else math.nan
    return sample.slope.admits(value, evidence.tolerance.differences, abs(value)) is not False


def right_nearby(evidence: Evidence, engine: str) -> bool:
    """Whether the engine's gradient is right a little beside the point, off its thresholds."""
    subject = evidence.subject
    nearby = subject.moved_to(moved_along(subject.points, evidence.directions[0], NEARBY))
    found = answer(engine, nearby)
    if not found.ran:
        return False
    beside = sampled(nearby, evidence.epsilon, NEARBY_COORDINATES, evidence.options.seed)
    comparison = compared(nearby, beside.samples, found.run.gradients, evidence.tolerance.differences)
    return bool(comparison.decided) and not comparison.mismatches


def kink_of(evidence: Evidence, engine: str) -> Blame | None:
    """The operation whose own one-sided derivatives differ."""
    recorded = evidence.replay(engine)
    if recorded is None:
        return None
    for proof in evidence.walk(recorded.engine).proofs:
        if proof.slope.is_clear_kink:
            return of_entry(recorded, proof.number, "kink")
    step = tied(recorded.steps)
    return None if step is None else of_step(step, "kink")


def convention_at(evidence: Evidence, engine: str) -> str:
    """The operation that has the kink, and what the table of conventions says of it, in words."""
    blame = kink_of(evidence, engine)
    if blame is None:
        return "The one-sided derivatives differ: any subgradient between them is right."
    known = convention_of(blame.name)
    rule = f" (docs/conventions.md: {known})" if known else ""
    return f"{blame.place} has a kink there: any slope between the one-sided ones is right{rule}."
