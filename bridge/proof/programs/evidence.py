"""All that was gathered about one program: what the engines answered, what differences and observed runs say."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.proof.blame.blaming import Blame, blamed
from bridge.proof.blame.compiled_operations import blamed_under_xla
from bridge.proof.blame.observing import Step, flat_values
from bridge.proof.blame.recorded import Recorded, Walk, record
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.compare import Comparison, compared
from bridge.proof.numerics.sampling import Sample, Sampled, complex_step, directions, rounding, sampled
from bridge.proof.numerics.tolerances import Tolerance, apart, tolerance_for
from bridge.proof.programs.running import Answer
from bridge.proof.report.model import Difference
from bridge.proof.subject import Subject
from bridge.transforms.chosen import Argnums

EVERY_COORDINATE = 48


def quiet(begins: str) -> None:
    """Say nothing of what begins."""


@dataclass(frozen=True)
class Options:
    """What a caller of `bridge.crosscheck` asked for, as it documents it."""

    engines: tuple[str, ...]
    asked: tuple[str, ...]  # of these, those without whose answer a report is not ok
    fd: bool
    argnums: Argnums | None
    rtol: float | None
    atol: float | None
    twin: Callable[..., Any] | None
    shrink: bool
    seed: int
    until: float = math.inf  # by the clock of perf_counter; what has not begun by then is left out
    progress: Callable[[str], None] = quiet

    @property
    def is_over(self) -> bool:
        """Whether the time that the caller gave is over."""
        return perf_counter() > self.until

    def without_shrinking(self, engines: Sequence[str]) -> Options:
        """The same for those of `engines` that were asked for (for all, if none of them is one), without shrinking."""
        chosen = tuple(engine for engine in self.engines if engine in engines)
        return replace(self, engines=chosen or self.engines, shrink=False, progress=quiet)


@dataclass(frozen=True)
class Conflict:
    """Two answers that differ: of which engines, the suspect first, about what, and how far they are apart.

    Where it is about a gradient, `sample` is what finite differences say there, and `spot` the leaf and the index of
    the element, None along a direction.
    """

    engines: tuple[str, str]
    what: str
    got: Any
    expected: Any
    largest: float
    sample: Sample | None = None
    spot: tuple[int, tuple[int, ...]] | None = None

    def judged(self, kind: str, words: str, sure: float, blame: Blame | None = None) -> Difference:
        """The difference that a report holds of it, with what is known of the operation to blame."""
        known = (self.what, float(self.largest), short(self.got), short(self.expected), words, sure)
        if blame is None:
            return Difference(kind, self.engines, *known)
        at = (blame.operation, blame.name, blame.where, blame.source, blame.shapes)
        return Difference(kind, self.engines, *known, *at, argument=blame.argument, pull=blame.pull)


@dataclass
class Evidence:
    """What is known of a program at its arguments.

    `sampled` are finite differences (or the complex step) in double precision, None where they were not asked for;
    `wide` is the program in double precision, where its arguments are narrower. `plain` is what runs the program
    without differentiating it, `replays` whether its operations can be observed: those of NumPy programs.
    """

    subject: Subject
    value: Any
    options: Options
    plain: str
    replays: bool
    tolerance: Tolerance
    epsilon: float
    directions: list[list[np.ndarray]] = field(default_factory=list)
    sampled: Sampled | None = None
    wide: Subject | None = None
    answers: dict[str, Answer] = field(default_factory=dict)
    _recorded: dict[tuple[str, str], Recorded] = field(default_factory=dict)
    _walks: dict[str, Walk] = field(default_factory=dict)
    _comparisons: dict[str, Comparison] = field(default_factory=dict)

    @property
    def ran(self) -> list[str]:
        """The engines that gave an answer."""
        return [name for name, answer in self.answers.items() if answer.ran]

    def gradient(self, engine: str) -> tuple[Any, ...]:
        """An engine's gradient, leaf by leaf."""
        return self.answers[engine].run.gradients

    def recorded(self, engine: str, zeros: str = "strong") -> Recorded:
        """The observed run under an engine that replays the log."""
        key = (engine, zeros)
        if key not in self._recorded:
            self._recorded[key] = record(self.subject, engine, zeros)
        return self._recorded[key]

    def observed(self, engine: str) -> list[Step]:
        """The operations of the observed run; none where the program cannot be observed, or the engine refuses it."""
        if not self.replays:
            return []
        try:
            return self.recorded(engine).steps
        except Exception:
            # What it raised is in the engine's run, which did the same.
            return []

    def walk(self, engine: str) -> Walk:
        """The backward pass of an engine, each entry proved."""
        if engine not in self._walks:
            recorded = self.recorded(engine)
            self._walks[engine] = recorded.walk(mended=recorded.is_mended())
        return self._walks[engine]

    def replay(self, engine: str) -> Recorded | None:
        """The observed run that stands for an engine: its own, or that of the rule book for one that compiles."""
        replaying = engine if engine in registry.replaying() else "native"
        return self.recorded(replaying) if self.observed(replaying) else None

    def blame(self, engine: str) -> Blame | None:
        """The operation to blame under an engine; None if none disagrees by itself."""
        self.options.progress(f"the operation to blame under {engine}")
        if engine == "xla" and self.replays:
            return blamed_under_xla(self.recorded("native"), self.tolerance)
        recorded = self.replay(engine)
        return None if recorded is None else blamed(recorded, self.walk(recorded.engine))

    def comparison(self, engine: str) -> Comparison | None:
        """An engine's gradient beside finite differences."""
        if self.sampled is None:
            return None
        if engine not in self._comparisons:
            gradient = self.gradient(engine)
            found = compared(self.subject, self.sampled.samples, gradient, self.tolerance.differences)
            self._comparisons[engine] = found
        return self._comparisons[engine]

    def mismatches(self, engine: str) -> list[Sample]:
        """Where an engine's gradient is not what finite differences say, coordinates first."""
        comparison = self.comparison(engine)
        return [] if comparison is None else comparison.mismatches

    def gap(self, engine: str, other: str) -> tuple[float, int, tuple[int, ...]]:
        """The largest relative difference of two engines' gradients, with leaf and index; 0.0 if they agree."""
        worst: tuple[float, int, tuple[int, ...]] = (0.0, 0, ())
        pairs = zip(self.gradient(engine), self.gradient(other), strict=True)
        size = max((_largest(g) for g in self.gradient(other)), default=0.0)
        for leaf, (a, b) in enumerate(pairs):
            # A leaf whose gradient is nothing beside the others' is held against them.
            absolute = max(self.tolerance.absolute, 1e-2 * self.tolerance.gradient * size)
            relative, index = apart(a, b, self.tolerance.gradient, absolute)
            if relative > worst[0]:
                worst = (relative, leaf, index)
        return worst

    def uncompared(self, engine: str) -> list[str]:
        """The arguments of which nothing was held against an engine's gradient: all of them, if all are empty.

        Finite differences count where they converge, another engine's gradient where it is a number. Forward mode of
        the same engine counts only where there can be no differences: both have the same rules.
        """
        comparison, gradient, others = self.comparison(engine), self.gradient(engine), self.ran != [engine]
        known = [others and not np.all(np.isnan(np.asarray(g))) for g in gradient]
        if comparison is not None:
            unproved = comparison.unproved
            known = [known[leaf] or leaf not in unproved for leaf in range(len(gradient))]
        elif any(math.isfinite(moved) for moved in self.answers[engine].forward or []):
            known = [True] * len(gradient)
        sizes = [np.size(point) for point in self.subject.points]
        names = zip(self.subject.labels, known, sizes, strict=True)
        return [label for label, is_known, size in names if (size or not any(sizes)) and not (size and is_known)]

    def samples_at(self, leaf: int, index: tuple[int, ...]) -> list[Sample]:
        """What finite differences say of one element, if they took it."""
        if self.sampled is None:
            return []
        return [s for s in self.sampled.samples if s.leaf == leaf and s.index == index]

    def sample_at(self, leaf: int, index: tuple[int, ...]) -> Sample | None:
        """Of these, the one that is not smooth, if there is one."""
        found = self.samples_at(leaf, index)
        return next((s for s in found if s.slope.kind != "smooth"), found[0] if found else None)

    def expected_at(self, leaf: int, index: tuple[int, ...]) -> Any:
        """The derivative by finite differences of one element; None where they did not take it."""
        found = self.samples_at(leaf, index)
        if not found:
            return None
        total = sum(s.expected * s.direction[leaf][index] / abs(s.direction[leaf][index]) ** 2 for s in found)
        return complex(total) if self.subject.points[leaf].dtype.kind == "c" else float(np.real(total))

    def what(self, leaf: int, index: tuple[int, ...]) -> str:
        """How a report names an element of the gradient."""
        label = self.subject.labels[leaf]
        return f"gradient of {label}[{', '.join(map(str, index))}]" if index else f"gradient of {label}"


def gathered(subject: Subject, value: Any, options: Options, plain: str, replays: bool = False) -> Evidence:
    """Finite differences of a program, and directions, before any engine has answered."""
    tolerance = tolerance_for([*subject.points, value], options.rtol, options.atol)
    evidence = Evidence(subject, value, options, plain, replays, tolerance, rounding(subject, [value]))
    evidence.wide = _in_double_precision(subject) if replays else None
    if options.fd and not subject.mixed and np.isfinite(np.asarray(value)):
        options.progress("finite differences")
        base = evidence.wide or subject
        epsilon = _arithmetic(base) if replays else evidence.epsilon
        evidence.sampled = sampled(base, epsilon, EVERY_COORDINATE, options.seed)
        exact = complex_step(subject, evidence.sampled) if replays else None
        evidence.sampled = exact or evidence.sampled
        evidence.directions = [s.direction for s in evidence.sampled.samples if s.leaf is None][:2]
        evidence.directions = evidence.directions or [s.direction for s in evidence.sampled.samples][:1]
    if not evidence.directions:
        every = 0 if sum(point.size for point in subject.points) > 1 else 1
        found = directions(subject.points, np.random.default_rng(options.seed), every)
        evidence.directions = [direction for _, _, direction in found][:2]
    return evidence


def _in_double_precision(subject: Subject) -> Subject | None:
    """The program in double precision, if it is narrower and runs so."""
    wide = subject.widened()
    if wide is None:
        return None
    try:
        value = wide.measured()[0]
    except Exception:
        # A program made for single precision may raise anything in double precision.
        return None
    return wide if np.asarray(value).dtype == np.float64 else None


def _arithmetic(base: Subject) -> float:
    """The rounding of the coarsest arithmetic inside of the program."""
    try:
        steps = record(base, "native").steps
    except Exception:
        # What it raised is in the run of the engine, which will do the same.
        return rounding(base, base.measured())
    return rounding(base, [x for step in steps for x in flat_values(step.value)])


def _largest(gradient: Any) -> float:
    values = np.abs(np.asarray(gradient))
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))
