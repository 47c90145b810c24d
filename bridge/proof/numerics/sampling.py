"""The derivative as nobody's rules give it: finite differences and the complex step, and gradients against them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import inner, random_like, wide
from bridge.proof.numerics.compare import Comparison, Differentiable, Sample
from bridge.proof.numerics.finite_differences import precision, slope
from bridge.proof.programs.subject import Subject

EVERY_COORDINATE = 48
DIRECTIONS = 3
# Finite differences of one direction run a program about this often; slow programs get fewer directions.
RUNS_PER_DIRECTION = 10
SECONDS = 4.0
COMPLEX_STEP = 1e-40
# Beyond this share of the value, what stays under small steps is a jump and no rounding.
ROUGHEST = 1e-5


@dataclass
class Sampled:
    """Directional derivatives of a program at its point: coordinates first, then random directions.

    `epsilon` is the rounding of the arithmetic in which they were taken, `exact` whether the complex step took them.
    """

    samples: list[Sample]
    epsilon: float
    exact: bool = False

    def against(self, gradient: Sequence[Any], tolerance: float, subject: Subject, epsilon: float) -> Comparison:
        """A gradient beside these derivatives; its own rounding is `epsilon`."""
        held = [np.asarray(g) for g in gradient]
        samples = []
        outputs = subject.measured()
        # A derivative so far below the value is nothing but rounding.
        least = 2.0**-50 * inner([1.0], [np.abs(np.where(np.isfinite(outputs[0]), outputs[0], 0.0))])
        for sample in self.samples:
            got = along(sample.direction, held)
            noise = least + 32 * epsilon * along([np.abs(d) for d in sample.direction], [np.abs(g) for g in held])
            samples.append(replace(sample, got=got, noise=noise if math.isfinite(noise) else 0.0))
        partial = not all(np.all(np.isfinite(out)) for out in outputs)
        infinite = any(np.isinf(g).any() for g in held) and not any(np.isnan(g).any() for g in held)
        return Comparison(samples, tolerance, subject.paths, partial, infinite)

    def gradient(self, subject: Subject) -> tuple[Any, ...]:
        """The gradient, leaf by leaf; None for a leaf of which not every coordinate was taken or is smooth."""
        found: list[Any] = []
        for leaf, point in enumerate(subject.points):
            gradient = np.zeros(point.shape, wide(point))
            mine = [s for s in self.samples if s.leaf == leaf and s.slope.kind == "smooth"]
            for sample in mine:
                step = sample.direction[leaf][sample.index]
                gradient[sample.index] += sample.expected * step / abs(step) ** 2
            count = point.size * (2 if point.dtype.kind == "c" else 1)
            found.append(gradient if len(mine) == count else None)
        return tuple(found)


def along(direction: Sequence[np.ndarray], gradient: Sequence[np.ndarray]) -> float:
    """The derivative along a direction that a gradient predicts; elements that do not move do not count."""
    return inner([np.where(d == 0, 0, g) for d, g in zip(direction, gradient, strict=True)], direction)


def sampled(subject: Subject, epsilon: float, every: int, seed: int) -> Sampled:
    """Finite differences by Richardson's scheme along coordinates (all, or `every` of them) and random directions.

    Parameters
    ----------
    epsilon : rounding of the coarsest arithmetic in the program, from which the steps follow.
    """
    begin = perf_counter()
    subject.measured()
    seconds = perf_counter() - begin
    if seconds > 1e-2:
        every = min(every, max(2, int(SECONDS / (RUNS_PER_DIRECTION * seconds))))
    magnitude = max(subject.magnitude([1.0]), _noise(subject, epsilon) / epsilon)
    samples = []
    for leaf, index, direction in directions(subject.points, np.random.default_rng(seed), every):
        found = slope(subject.change([1.0], direction), magnitude, epsilon)
        if found.kind == "infinite" and any(np.iscomplexobj(d) for d in direction):
            found = replace(found, kind="unknown")
        samples.append(Sample(leaf, index, direction, found, math.nan, 0.0))
    return Sampled(samples, epsilon)


def _noise(subject: Subject, epsilon: float) -> float:
    """How rough the value is at steps far below those of differences: cancellation inside of the program shows there.

    Second differences of what is smooth, or has a kink, shrink with the step; those of rounding stay.
    """
    center = float(np.real(subject.measured()[0]))
    rng = np.random.default_rng(0)
    signs = [[rng.uniform(0.5, 1.0) * rng.choice([-1.0, 1.0], np.shape(p)) for p in subject.points] for _ in range(6)]

    def roughness(step: float) -> float:
        found = [0.0]
        for sign in signs:
            moves = [step * np.abs(p) * s for p, s in zip(subject.points, sign, strict=True)]
            try:
                ahead, behind = (
                    float(np.real(subject.measured(_moved(subject, moves, way))[0])) for way in (1.0, -1.0)
                )
            except (ArithmeticError, ValueError):
                return 0.0
            found.append(abs(ahead - 2 * center + behind))
        return max(found)

    coarse, fine = roughness(math.sqrt(epsilon)), roughness(math.sqrt(epsilon) / 8)
    stays = fine > 0.5 * coarse and fine <= ROUGHEST * abs(center)
    return fine if stays else 0.0


def _moved(subject: Subject, moves: Sequence[Any], way: float) -> list[Any]:
    return [p + (way * move).astype(np.asarray(p).dtype) for p, move in zip(subject.points, moves, strict=True)]


def directions(
    points: Sequence[np.ndarray], rng: np.random.Generator, every: int, random: int = DIRECTIONS
) -> Iterator[tuple[int | None, tuple[int, ...], list[np.ndarray]]]:
    """Coordinates, each as `(leaf, index, direction)`, then random directions that move everything."""
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
    for _ in range(random if total > 1 else 0):
        normal = [random_like(np.zeros(p.shape, wide(p)), rng) for p in points]
        yield None, (), [scale * d for scale, d in zip(scales, normal, strict=True)]


def complex_step(subject: Subject, reference: Sampled) -> Sampled | None:
    """The same derivatives by Im f(x + ih) / h, exact to rounding; None where the program is not analytic.

    Squire and Trapp, Using complex variables to estimate derivatives of real functions, SIAM Review 40 (1998).
    """
    if any(point.dtype != np.float64 for point in subject.points) or subject.cotangents is not None:
        return None
    samples = []
    for sample in reference.samples:
        moved = [p + 1j * COMPLEX_STEP * d for p, d in zip(subject.points, sample.direction, strict=True)]
        try:
            value = np.asarray(subject.measured(moved)[0])
        except Exception:
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
    return Sampled(samples, reference.epsilon, exact=True)


def rounding(subject: Differentiable, outputs: Sequence[Any] = ()) -> float:
    """Machine epsilon of the coarsest dtype among a program's points and values."""
    return precision(*(np.asarray(x).dtype for x in (*subject.points, *outputs)))
