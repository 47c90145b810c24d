"""A pulled gradient against finite differences: every coordinate of small inputs, random directions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import Path, inner, random_like, wide
from bridge.proof.numerics.finite_differences import Slope, precision, slope

EVERY_COORDINATE = 50


class Differentiable(ABC):
    """A function of several arrays at a point, as finite differences need it.

    `points` are the arrays that it is differentiated by, `paths` name them.
    """

    paths: list[Path]
    points: list[np.ndarray]

    @abstractmethod
    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        """The floating outputs at `values`, computed on copies; at `points` by default."""

    def change(self, weights: Sequence[Any], direction: Sequence[np.ndarray]) -> Callable[[float], float]:
        """How much the outputs, weighted with `weights`, change by a step along `direction`."""
        center = self.measured()
        shapes = [np.shape(out) for out in center]

        def change(h: float) -> float:
            try:
                step = zip(self.points, direction, strict=True)
                moved = self.measured([p + (h * d).astype(p.dtype) if d.any() else p for p, d in step])
                if [np.shape(a) for a in moved] != shapes:
                    return np.nan
                gaps = [np.asarray(a, wide(a)) - b for a, b in zip(moved, center, strict=True)]
                return inner(weights, [np.where(np.isfinite(b), gap, 0) for gap, b in zip(gaps, center, strict=True)])
            except (ArithmeticError, ValueError):
                return np.nan

        return change

    def magnitude(self, weights: Sequence[Any]) -> float:
        """Size of what finite differences subtract, from which their rounding noise follows."""
        values = [np.abs(np.where(np.isfinite(out), out, 0)) for out in self.measured()]
        return inner([np.abs(weight) for weight in weights], values)


@dataclass(frozen=True, slots=True)
class Sample:
    """One directional derivative: where, what finite differences say, what the gradient says."""

    leaf: int | None
    index: tuple[int, ...]
    direction: list[np.ndarray]
    slope: Slope
    got: float
    noise: float

    @property
    def expected(self) -> float:
        return self.slope.central


@dataclass
class Comparison:
    """All samples of one gradient, and the verdict over them."""

    samples: list[Sample]
    tolerance: float
    paths: list[Path]
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
        if not math.isfinite(sample.got) and (self.partial or (self.infinite and sample.leaf is None)):
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
        partials = [np.zeros(d.shape, d.dtype) for d in self.samples[0].direction] if self.samples else []
        for sample in self.samples:
            if sample.leaf is not None:
                step = sample.direction[sample.leaf][sample.index]
                partials[sample.leaf][sample.index] += sample.expected * step / abs(step) ** 2
        for sample in self.samples:
            linear = inner(partials, sample.direction)
            if sample.leaf is None and abs(linear - sample.expected) > 1e-4 * max(abs(linear), abs(sample.expected)):
                return False
        return True

    @property
    def decided(self) -> int:
        """How many samples could be compared at all."""
        return sum(self.verdict(sample) is not None for sample in self.samples)

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


def compare(
    subject: Differentiable,
    weights: Sequence[Any],
    gradient: Sequence[Any],
    tolerance: float,
    rng: np.random.Generator,
    every: int = EVERY_COORDINATE,
    random: int = 2,
    floor: float = 0.0,
) -> Comparison:
    """Compare the cotangents `gradient` of the inputs, pulled from `weights`, with finite differences.

    Up to `every` coordinates are taken (all, if there are no more), then one direction that moves all
    elements alike and `random` random ones. Differences below `floor` pass.
    """
    outputs = subject.measured()
    epsilon = precision(*(np.asarray(x).dtype for x in (*subject.points, *outputs)))
    magnitude = subject.magnitude(weights)
    gradient = [np.asarray(g) for g in gradient]
    samples = []
    for leaf, index, direction in _directions(subject.points, rng, every, random):
        found = slope(subject.change(weights, direction), magnitude, epsilon)
        got = _along(direction, gradient)
        noise = 8 * epsilon * _along([np.abs(d) for d in direction], [np.abs(g) for g in gradient])
        if found.kind == "infinite" and any(np.iscomplexobj(d) for d in direction):
            found = replace(found, kind="unknown")
        samples.append(Sample(leaf, index, direction, found, got, noise if math.isfinite(noise) else 0.0))
    partial = not all(np.all(np.isfinite(out)) for out in outputs)
    reachable = 8 * math.sqrt(epsilon) if epsilon > 1e-12 else 0.0
    infinite = any(np.isinf(g).any() for g in gradient) and not any(np.isnan(g).any() for g in gradient)
    return Comparison(samples, max(tolerance, reachable), subject.paths, partial, infinite, floor)


def _along(direction: Sequence[np.ndarray], gradient: Sequence[np.ndarray]) -> float:
    return inner([np.where(d == 0, 0, g) for d, g in zip(direction, gradient, strict=True)], direction)


def _directions(
    points: Sequence[np.ndarray], rng: np.random.Generator, every: int, random: int
) -> Iterator[tuple[int | None, tuple[int, ...], list[np.ndarray]]]:
    scales = [np.maximum(np.abs(np.where(np.isfinite(p), p, 1)), 1).astype(np.float64) for p in points]
    total = sum(p.size for p in points)
    chosen = np.arange(total) if total <= every else np.sort(rng.choice(total, every, replace=False))
    starts = np.cumsum([0] + [p.size for p in points])
    for flat in chosen:
        leaf = int(np.searchsorted(starts, flat, side="right")) - 1
        index = tuple(int(k) for k in np.unravel_index(int(flat - starts[leaf]), points[leaf].shape))
        for unit in (1.0, 1j) if points[leaf].dtype.kind == "c" else (1.0,):
            direction = [np.zeros(p.shape, wide(p)) for p in points]
            direction[leaf][index] = unit * scales[leaf][index]
            yield leaf, index, direction
    if total:
        yield None, (), [np.ones(p.shape, wide(p)) for p in points]
    for _ in range(random if total > 1 else 0):
        normal = [random_like(np.zeros(p.shape, wide(p)), rng) for p in points]
        yield None, (), [scale * d for scale, d in zip(scales, normal, strict=True)]
