"""What cross-checks and traces find, as data: operations, memory, runs, differences; and how they are looked at."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

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

    `engines` are the two that differ, the suspect first; `shared` further engines with the suspect's fault; `what` is
    "value", "gradient of x[3]", ...; `largest` the largest relative difference; `operation` the number in the timeline
    to blame, if it was found; `argument` whose cotangent it gets wrong, and `pull` where the pull is defined, if that
    is known; `confidence` of the verdict, from 0 to 1.
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
    shared: tuple[str, ...] = ()
    argument: str = ""
    pull: str | None = None

    @property
    def suspects(self) -> tuple[str, ...]:
        """The engines that are wrong."""
        return (self.engines[0], *self.shared)


class Shown:
    """The ways in which a `Report` or a `Trace` can be looked at."""

    def to_json(self, path: str | Path | None = None) -> str:
        """All of it as strict JSON with a version (docs/reports.md); written to `path` as well, if one is given."""
        return _written(_renderer("json_form").to_json(self), path)

    def to_html(self, path: str | Path | None = None) -> str:
        """One self-contained page, which needs no network; written to `path` as well, if one is given.

        Raises BridgeError with the line to type if Jinja2 is not installed.
        """
        return _written(_renderer("html").page([self]), path)

    def _repr_html_(self) -> str:
        return str(_renderer("html").fragment(self))

    def __rich_console__(self, console: Any, options: Any) -> Any:
        yield from _renderer("rendering").renderables(self, options.max_width)

    def __str__(self) -> str:
        """Tables if rich is installed, lines of text otherwise."""
        return str(_renderer("rendering").tables(self))

    def __repr__(self) -> str:
        return str(_renderer("text").text_of(self))


def _renderer(name: str) -> Any:
    """The module that shows reports in one way: it rests on these classes, and is imported when it is asked for."""
    return import_module(f"bridge.proof.report.{name}")


def _written(text: str, path: str | Path | None) -> str:
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


@dataclass(repr=False)
class Report(Shown):
    """What a cross-check found.

    `ok`: no engine gives a wrong value or gradient, at least one gradient was compared with another answer, and so was
    that of every engine that was asked for.
    """

    program: str
    arguments: str
    runs: list[Run] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    timeline: Timeline | None = None
    smallest: str | None = None
    """The smallest input that still shows the first difference, as Python text."""
    differentiated: list[str] = field(default_factory=list)
    """What was differentiated, as source code names it."""
    left_out: list[str] = field(default_factory=list)
    """Floats that were not: about their gradients the report says nothing."""
    asked: list[str] = field(default_factory=list)
    """The engines of which an answer was asked for: those that the caller named, else "native"."""
    compared: list[str] | None = None
    """The engines whose gradient was compared with another answer; None for all that gave one."""

    @property
    def ok(self) -> bool:
        """Whether every engine that was asked for was compared, at least one, and only kinks and rounding differ."""
        answers = [run for run in self.runs if not run.engine.startswith(REFERENCES)]
        gave = [run.engine for run in answers if run.status == "ran" and run.gradients]
        compared = [engine for engine in gave if self.compared is None or engine in self.compared]
        harmless = all(one.kind in ("kink", "precision") for one in self.differences)
        return harmless and bool(compared) and set(self.asked) <= set(compared)

    @property
    def unanswered(self) -> list[Run]:
        """The runs of engines that were asked for, and gave no answer."""
        return [run for run in self.runs if run.engine in self.asked and run.status != "ran"]


@dataclass(frozen=True, repr=False)
class Trace(Shown):
    """What `bridge.trace` saw: the value that the program returned, and the timeline of its operations."""

    program: str
    value: Any
    timeline: Timeline
