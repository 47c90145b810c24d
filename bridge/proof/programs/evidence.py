"""All that was gathered about one program: what the engines answered, what differences and observed runs say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridge.proof.blame.observing import Step
from bridge.proof.blame.recorded import Recorded, record
from bridge.proof.blame.walking import Walk
from bridge.proof.numerics.arrays import wide
from bridge.proof.numerics.compare import Comparison, Sample
from bridge.proof.numerics.sampling import Sampled
from bridge.proof.numerics.tolerances import Tolerance, apart
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.running import Answer
from bridge.proof.programs.subject import Subject


@dataclass
class Evidence:
    """What is known of a program at its arguments.

    `sampled` are finite differences (or the complex step) in double precision, None where they were not asked for;
    `wide` is the program in double precision, where its arguments are narrower. `plain` is what runs the program
    without differentiating it, `replays` whether its operations can be observed: those of NumPy programs.
    """

    subject: Subject
    value: Any
    generators: Generators
    tolerance: Tolerance
    epsilon: float
    directions: list[list[np.ndarray]]
    sampled: Sampled | None = None
    wide: Subject | None = None
    plain: str = "numpy"
    replays: bool = True
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
            self._recorded[key] = record(self.subject, engine, self.generators, zeros)
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

    def comparison(self, engine: str) -> Comparison | None:
        """An engine's gradient beside finite differences."""
        if self.sampled is None:
            return None
        if engine not in self._comparisons:
            made = self.sampled.against(self.gradient(engine), self.tolerance.differences, self.subject, self.epsilon)
            self._comparisons[engine] = made
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

    def sample_at(self, leaf: int, index: tuple[int, ...]) -> Sample | None:
        """What finite differences say of one element, if they took it."""
        if self.sampled is None:
            return None
        found = [s for s in self.sampled.samples if s.leaf == leaf and s.index == index]
        return next((s for s in found if s.slope.kind != "smooth"), found[0] if found else None)

    def expected_at(self, leaf: int, index: tuple[int, ...]) -> Any:
        """The derivative by finite differences of one element; None where they did not take it."""
        if self.sampled is None:
            return None
        found = [s for s in self.sampled.samples if s.leaf == leaf and s.index == index]
        if not found:
            return None
        total = sum(s.expected * s.direction[leaf][index] / abs(s.direction[leaf][index]) ** 2 for s in found)
        return complex(total) if self.subject.points[leaf].dtype.kind == "c" else float(np.real(total))

    def what(self, leaf: int, index: tuple[int, ...]) -> str:
        """How a report names an element of the gradient."""
        label = self.subject.labels[leaf]
        return f"gradient of {label}[{', '.join(map(str, index))}]" if index else f"gradient of {label}"


def predicted(gradient: Sequence[Any], direction: Sequence[np.ndarray]) -> tuple[float, float]:
    """The derivative along a direction that a gradient predicts, and the size of its terms."""
    total = size = 0.0
    for g, d in zip(gradient, direction, strict=True):
        terms = np.real(np.conj(np.asarray(g, wide(g))) * d)
        total += float(np.sum(terms))
        size += float(np.sum(np.abs(terms)))
    return total, size


def _largest(gradient: Any) -> float:
    values = np.abs(np.asarray(gradient))
    return float(np.max(values, initial=0.0, where=np.isfinite(values)))
