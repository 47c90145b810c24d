"""The derivative as nobody's rules give it: finite differences and the complex step, direction by direction."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import inner, random_like, wide
from bridge.proof.numerics.finite_differences import Slope, slope
from bridge.proof.numerics.tolerances import precision

DIRECTIONS = 3
# Finite differences of one direction run a program about this often; slow programs get fewer directions.
RUNS_PER_DIRECTION = 10
SECONDS = 4.0
COMPLEX_STEP = 1e-40
# Beyond this share of the value, what stays under small steps is a jump and no rounding.
ROUGHEST = 1e-5

# The leaf and the index of one coordinate (None and () for a direction that moves everything), and the direction.
Direction = tuple[int | None, tuple[int, ...], list[np.ndarray]]


class Differentiable(ABC):
    """A function of several arrays at a point: what a proof differentiates.

    `points` are the arrays that it is differentiated by, `labels` what messages call them.
    """

    points: list[Any]
    labels: list[str]

    @abstractmethod
    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        """The floating outputs at `values`, computed on copies; at `points` by default."""

    def change(
        self, center: Sequence[Any], weights: Sequence[Any], direction: Sequence[np.ndarray]
    ) -> Callable[[float], float]:
        """How much the outputs, weighted with `weights`, change from `center` by a step along `direction`."""
        shapes = [np.shape(out) for out in center]

        def change(h: float) -> float:
            try:
                moved = self.measured(moved_along(self.points, direction, h))
                if [np.shape(a) for a in moved] != shapes:
                    return np.nan
                gaps = [np.asarray(a, wide(a)) - b for a, b in zip(moved, center, strict=True)]
                return inner(weights, [np.where(np.isfinite(b), gap, 0) for gap, b in zip(gaps, center, strict=True)])
            except (ArithmeticError, ValueError):
                return np.nan

        return change


def moved_along(points: Sequence[Any], direction: Sequence[np.ndarray], h: float) -> list[Any]:
    """Points after a step `h` along a direction, in their own dtypes."""
    return [p + (h * d).astype(p.dtype) if d.any() else p for p, d in zip(points, direction, strict=True)]


def magnitude(outputs: Sequence[Any], weights: Sequence[Any]) -> float:
    """Size of what finite differences subtract, from which their rounding noise follows."""
    values = [np.abs(np.where(np.isfinite(out), out, 0)) for out in outputs]
    return inner([np.abs(weight) for weight in weights], values)


def rounding(subject: Differentiable, outputs: Sequence[Any] = ()) -> float:
    """Machine epsilon of the coarsest dtype among a program's points and values."""
    return precision(*(np.asarray(x).dtype for x in (*subject.points, *outputs)))


@dataclass(frozen=True, slots=True)
class Sample:
    """One directional derivative: where, what finite differences say, what a gradient says, and its rounding."""

    leaf: int | None
    index: tuple[int, ...]
    direction: list[np.ndarray]
    slope: Slope
    got: float = math.nan
    noise: float = 0.0

    @property
    def expected(self) -> float:
        return self.slope.central


def directions(
    points: Sequence[Any], rng: np.random.Generator, every: int, random: int = DIRECTIONS, together: bool = False
) -> Iterator[Direction]:
    """At most `every` coordinates, then (`together`) one direction that moves all elements alike, then random ones."""
    scales = [np.maximum(np.abs(np.where(np.isfinite(p), p, 1)), 1).astype(np.float64) for p in points]
    starts = np.cumsum([0] + [p.size for p in points])
    total = int(starts[-1])
    chosen = np.arange(total) if total <= every else np.sort(rng.choice(total, every, replace=False))
    for flat in chosen:
        leaf = int(np.searchsorted(starts, flat, side="right")) - 1
        index = tuple(int(k) for k in np.unravel_index(int(flat - starts[leaf]), points[leaf].shape))
        for unit in (1.0, 1j) if points[leaf].dtype.kind == "c" else (1.0,):
            direction = [np.zeros(p.shape, wide(p)) for p in points]
            direction[leaf][index] = unit * scales[leaf][index]
            yield leaf, index, direction
    if together and total:
        yield None, (), [np.ones(p.shape, wide(p)) for p in points]
    for _ in range(random if total > 1 else 0):
        normal = [random_like(np.zeros(p.shape, wide(p)), rng) for p in points]
        yield None, (), [scale * d for scale, d in zip(scales, normal, strict=True)]


def along(direction: Sequence[np.ndarray], gradient: Sequence[Any]) -> float:
    """The derivative along a direction that a gradient predicts; elements that do not move do not count."""
    return inner([np.where(d == 0, 0, g) for d, g in zip(direction, gradient, strict=True)], direction)


def size_along(direction: Sequence[np.ndarray], gradient: Sequence[Any]) -> float:
    """The size of the terms of that derivative, from which its rounding follows."""
    return along([np.abs(d) for d in direction], [np.abs(g) for g in gradient])


def samples_of(
    subject: Differentiable, weights: Sequence[Any], chosen: Iterable[Direction], size: float, epsilon: float
) -> list[Sample]:
    """Finite differences by Richardson's scheme along each of the directions.

    Parameters
    ----------
    size : of what is subtracted.
    epsilon : rounding of the coarsest arithmetic in the program, from which the steps follow.
    """
    center = subject.measured()
    samples = []
    for leaf, index, direction in chosen:
        found = slope(subject.change(center, weights, direction), size, epsilon)
        if found.kind == "infinite" and any(np.iscomplexobj(d) for d in direction):
            found = replace(found, kind="unknown")
        samples.append(Sample(leaf, index, direction, found))
    return samples


def partials(samples: Iterable[Sample], points: Sequence[Any]) -> list[np.ndarray]:
    """The partial derivatives that samples of coordinates give, zero where there is none."""
    found = [np.zeros(np.shape(p), wide(p)) for p in points]
    for sample in samples:
        if sample.leaf is not None:
            step = sample.direction[sample.leaf][sample.index]
            found[sample.leaf][sample.index] += sample.expected * step / abs(step) ** 2
    return found


@dataclass
class Sampled:
    """Directional derivatives of a program at its point; `exact` says that the complex step took them."""

    samples: list[Sample]
    exact: bool = False

    def gradient(self, subject: Differentiable) -> tuple[Any, ...]:
        """The gradient, leaf by leaf; None for a leaf of which not every coordinate was taken or is smooth."""
        smooth = [sample for sample in self.samples if sample.slope.kind == "smooth"]
        found = zip(subject.points, partials(smooth, subject.points), strict=True)
        taken = [sum(sample.leaf == leaf for sample in smooth) for leaf in range(len(subject.points))]
        counts = [point.size * (2 if point.dtype.kind == "c" else 1) for point in subject.points]
        return tuple(g if taken[k] == counts[k] else None for k, (_, g) in enumerate(found))


def sampled(subject: Differentiable, epsilon: float, every: int, seed: int) -> Sampled:
    """Derivatives of a real program along coordinates (all, or `every` of them) and random directions."""
    begin = perf_counter()
    center = subject.measured()
    seconds = perf_counter() - begin
    if seconds > 1e-2:
        every = min(every, max(2, int(SECONDS / (RUNS_PER_DIRECTION * seconds))))
    size = max(magnitude(center, [1.0]), _noise(subject, float(np.real(center[0])), epsilon) / epsilon)
    chosen = directions(subject.points, np.random.default_rng(seed), every)
    return Sampled(samples_of(subject, [1.0], chosen, size, epsilon))


def _noise(subject: Differentiable, center: float, epsilon: float) -> float:
    """How rough the value is at steps far below those of differences: cancellation inside of the program shows there.

    Second differences of what is smooth, or has a kink, shrink with the step; those of rounding stay.
    """
    rng = np.random.default_rng(0)
    signs = [[rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0], np.shape(p)) for p in subject.points] for _ in range(6)]

    def roughness(step: float) -> float:
        found = [0.0]
        for sign in signs:
            moves = [step * np.abs(p) * s for p, s in zip(subject.points, sign, strict=True)]
            try:
                ahead, behind = (
                    float(np.real(subject.measured(moved_along(subject.points, moves, way))[0])) for way in (1.0, -1.0)
                )
            except (ArithmeticError, ValueError):
                return 0.0
            found.append(abs(ahead - 2 * center + behind))
        return max(found)

    coarse, fine = roughness(math.sqrt(epsilon)), roughness(math.sqrt(epsilon) / 8)
    stays = fine > 0.5 * coarse and fine <= ROUGHEST * abs(center)
    return fine if stays else 0.0


def complex_step(subject: Differentiable, reference: Sampled) -> Sampled | None:
    """The same derivatives of a real program by Im f(x + ih) / h, exact to rounding; None where it is not analytic.

    Squire and Trapp, Using complex variables to estimate derivatives of real functions, SIAM Review 40 (1998).
    """
    if any(point.dtype != np.float64 for point in subject.points):
        return None
    samples = []
    for sample in reference.samples:
        moved = [p + 1j * COMPLEX_STEP * d for p, d in zip(subject.points, sample.direction, strict=True)]
        try:
            value = np.asarray(subject.measured(moved)[0])
        except Exception:
            # A program made for real numbers may raise anything on complex ones.
            return None
        if value.dtype.kind != "c" or value.shape != ():
            return None
        derivative = float(value.imag) / COMPLEX_STEP
        if sample.slope.kind != "smooth" or not math.isfinite(derivative):
            samples.append(sample)
            continue
        # A program that is not analytic gives something else, and the differences tell.
        if not sample.slope.admits(derivative, 1e-5, abs(derivative)):
            return None
        exact = replace(sample.slope, left=derivative, right=derivative, central=derivative, error=0.0)
        samples.append(replace(sample, slope=exact))
    return Sampled(samples, exact=True)
