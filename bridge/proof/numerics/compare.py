"""A gradient against directional derivatives: the verdict on every coordinate and direction that was taken."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import inner
from bridge.proof.numerics.sampling import (
    Differentiable,
    Sample,
    along,
    directions,
    magnitude,
    partials,
    rounding,
    samples_of,
    size_along,
)

EVERY_COORDINATE = 50
# A gradient's own sum along a direction is rounded by this many times the machine epsilon of its terms.
ULPS = 32
# Beside a value, a derivative below this share of it is nothing but rounding.
LEAST = 2.0**-50


@dataclass(frozen=True, slots=True)
class Sampling:
    """How a gradient is compared with finite differences.

    Attributes
    ----------
    tolerance : largest relative difference that passes; never less than the arithmetic allows.
    every : how many coordinates are taken at most; all, if there are no more.
    random : how many random directions, beside one that moves all elements alike.
    floor : differences below it pass.
    """

    tolerance: float
    rng: np.random.Generator
    every: int = EVERY_COORDINATE
    random: int = 2
    floor: float = 0.0


@dataclass
class Comparison:
    """All samples of one gradient, and the verdict over them."""

    samples: list[Sample]
    tolerance: float
    labels: Sequence[str]
    partial: bool = False
    infinite: bool = False
    floor: float = 0.0
    scales: dict[int | None, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for sample in self.samples:
            if math.isfinite(sample.expected):
                self.scales[sample.leaf] = max(self.scales.get(sample.leaf, 0.0), 0.1 * abs(sample.expected))

    def verdict(self, sample: Sample) -> bool | None:
        """Whether a sample agrees; None where nothing can be said (infinite terms that cancel, say)."""
        jumps = sample.slope.kind == "jump"
        if not math.isfinite(sample.got) and (jumps or self.partial or (self.infinite and sample.leaf is None)):
            return None
        scale = self.scales.get(sample.leaf, 0.0)
        return sample.slope.admits(sample.got, self.tolerance, scale, self.floor + sample.noise)

    @property
    def mismatches(self) -> list[Sample]:
        """The samples that differ, coordinates before random directions."""
        wrong = [sample for sample in self.samples if self.verdict(sample) is False]
        return sorted(wrong, key=lambda s: (s.leaf is None, s.slope.kind != "smooth", -self.difference(s)))

    @property
    def kinks(self) -> list[Sample]:
        """The samples where the one-sided slopes differ clearly."""
        return [sample for sample in self.samples if sample.slope.is_clear_kink]

    @property
    def differentiable(self) -> bool:
        """Whether the function looks smooth in every direction that was tried, and its slopes linear in it."""
        if not all(sample.slope.kind in ("smooth", "edge") for sample in self.samples):
            return False
        gradient = partials(self.samples, self.samples[0].direction) if self.samples else []
        for sample in self.samples:
            linear = inner(gradient, sample.direction)
            if sample.leaf is None and abs(linear - sample.expected) > 1e-4 * max(abs(linear), abs(sample.expected)):
                return False
        return True

    @property
    def decided(self) -> int:
        """How many samples could be compared at all."""
        return sum(self.verdict(sample) is not None for sample in self.samples)

    @property
    def unproved(self) -> list[int]:
        """The leaves with elements of which no sample that could be compared says anything; none without samples."""
        moves = [[bool(np.any(part)) for part in s.direction] for s in self.samples if self.verdict(s) is not None]
        sizes = [part.size for part in self.samples[0].direction] if self.samples else []
        return [leaf for leaf, size in enumerate(sizes) if size and not any(moved[leaf] for moved in moves)]

    @property
    def figure(self) -> float:
        """Largest relative difference among the samples at which the function is smooth."""
        smooth = [self.difference(sample) for sample in self.samples if sample.slope.kind == "smooth"]
        return max((d for d in smooth if math.isfinite(d)), default=0.0)

    def difference(self, sample: Sample) -> float:
        """Difference of a sample relative to the larger of the two values and the leaf's scale."""
        gap = abs(sample.got - sample.expected)
        if gap == 0:
            return 0.0
        if not math.isfinite(gap):
            return math.inf
        return gap / max(abs(sample.got), abs(sample.expected), self.scales.get(sample.leaf, 0.0))

    def factor(self) -> float | None:
        """The one number by which what was got is too large, if there is one."""
        pairs = [(s.expected, s.got) for s in self.samples if s.leaf is not None and s.slope.kind == "smooth"]
        weight = sum(expected * expected for expected, _ in pairs)
        if weight == 0 or not all(math.isfinite(got) for _, got in pairs):
            return None
        factor = sum(expected * got for expected, got in pairs) / weight
        residual = sum((got - factor * expected) ** 2 for expected, got in pairs)
        return factor if residual <= 1e-8 * weight and len(pairs) > 1 else None

    def told(self, sample: Sample, noun: str = "cotangent") -> str:
        """Where a gradient differs, what was expected and what it is; `noun` is what messages call it."""
        if sample.leaf is None:
            where = "along a direction through all arguments, the derivative"
        else:
            place = f" at index {sample.index}" if sample.index else ""
            where = f"the {noun} of {self.labels[sample.leaf]}{place}"
        slope = sample.slope
        if slope.kind == "kink":
            return (
                f"{where} is {sample.got:.9g}, outside of the one-sided slopes of a kink, {slope.left:.9g} (left) and "
                f"{slope.right:.9g} (right)"
            )
        if slope.kind in ("edge", "jump"):
            return f"{where} is {sample.got:.9g}, but the function's one-sided slope is {slope.central:.9g}"
        if slope.kind == "infinite":
            return f"{where} is {sample.got:.9g}, but difference quotients grow without bound"
        return (
            f"{where} is {sample.got:.9g}, but finite differences give {slope.central:.9g} "
            f"(relative difference {self.difference(sample):.1e}, {len(self.mismatches)} of "
            f"{len(self.samples)} samples differ)"
        )


def compare(subject: Differentiable, weights: Sequence[Any], gradient: Sequence[Any], sampling: Sampling) -> Comparison:
    """Compare the cotangents `gradient` of the inputs, pulled from `weights`, with finite differences."""
    outputs = subject.measured()
    epsilon = rounding(subject, outputs)
    chosen = directions(subject.points, sampling.rng, sampling.every, sampling.random, together=True)
    samples = samples_of(subject, weights, chosen, magnitude(outputs, weights), epsilon)
    reachable = 8 * math.sqrt(epsilon) if epsilon > 1e-12 else 0.0
    found = compared(subject, samples, gradient, max(sampling.tolerance, reachable), weights)
    found.floor += sampling.floor
    return found


def compared(
    subject: Differentiable,
    samples: Sequence[Sample],
    gradient: Sequence[Any],
    tolerance: float,
    weights: Sequence[Any] = (1.0,),
) -> Comparison:
    """A gradient beside derivatives that were taken before, perhaps in a higher precision."""
    outputs = subject.measured()
    held = [np.asarray(g) for g in gradient]
    epsilon = ULPS * rounding(subject, outputs)
    beside = []
    for sample in samples:
        noise = epsilon * size_along(sample.direction, held)
        noise = noise if math.isfinite(noise) else 0.0
        beside.append(replace(sample, got=along(sample.direction, held), noise=noise))
    partial = not all(np.all(np.isfinite(out)) for out in outputs)
    infinite = any(np.isinf(g).any() for g in held) and not any(np.isnan(g).any() for g in held)
    return Comparison(beside, tolerance, subject.labels, partial, infinite, LEAST * magnitude(outputs, weights))
