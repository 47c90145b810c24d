"""What a cross-check finds, as data: operations, memory, runs, and differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from bridge.proof.report.shown import Shown

KINDS = ("primal", "nan", "kink", "index", "random", "precision", "missing-gradient", "mismatch")
"""How differences are classified; `kink` and `precision` are remarks, the others make a report not ok."""

REFERENCES = ("finite differences", "complex step")
"""Runs that say what the derivative is without being any engine's answer."""


@dataclass(frozen=True)
class Region:
    """Memory that an operation reads or writes: bytes `start` to `stop` of the memory with the number `memory`."""

    memory: int
    start: int
    stop: int
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Memory:
    """One piece of memory that a program uses, and which argument it is, if it is one."""

    number: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    size: int


@dataclass(frozen=True)
class Operation:
    """One entry of the log.

    `overwrites` says that its write is undone on the way back; `cotangent` is the largest absolute value of the
    cotangent that went into its pull, None where none came.
    """

    number: int
    name: str
    where: str | None
    source: str | None
    reads: tuple[Region, ...]
    writes: tuple[Region, ...]
    overwrites: bool
    cotangent: float | None = None


@dataclass(frozen=True)
class Timeline:
    """The operations of a program in their order, and the memory that they use."""

    operations: tuple[Operation, ...]
    memory: tuple[Memory, ...]


@dataclass(frozen=True)
class Run:
    """One engine's answer: "ran", or "refused" or "not available" and why.

    `gradients` has one array for each differentiable leaf, None where there is none.
    """

    engine: str
    status: str
    why: str = ""
    value: Any = None
    gradients: tuple[Any, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Difference:
    """Where two answers differ.

    `engines` are the two that differ, the suspect first; `what` is "value", "gradient of x[3]", ...; `largest` the
    largest relative difference; `operation` the number in the timeline to blame, if it was found; `confidence` of the
    verdict, from 0 to 1.
    """

    kind: str
    engines: tuple[str, str]
    what: str
    largest: float
    found: str
    expected: str
    explanation: str
    confidence: float
    operation: int | None = None
    name: str = ""
    where: str | None = None
    source: str | None = None
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(repr=False)
class Report(Shown):
    """What a cross-check found. `ok`: no engine gives a wrong value or gradient, and at least one gives any."""

    program: str
    arguments: str
    runs: list[Run] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    timeline: Timeline | None = None
    smallest: str | None = None
    """The smallest input that still shows the first difference, as Python text."""

    @property
    def ok(self) -> bool:
        """Whether there was something to compare, and all differences are kinks or rounding."""
        answers = [run for run in self.runs if not run.engine.startswith(REFERENCES)]
        compared = not self.runs or any(run.status == "ran" and run.gradients for run in answers)
        return compared and all(one.kind in ("kink", "precision") for one in self.differences)


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """What `bridge.trace` saw: the value that the program returned, and the timeline of its operations."""

    program: str
    value: Any
    timeline: Timeline
