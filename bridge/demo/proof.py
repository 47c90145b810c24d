"""A gradient against finite differences of the plain program, and what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

import bridge

STEP = 1e-4
DIRECTIONS = 4
REPEATS = 5


@dataclass(frozen=True)
class Proof:
    """What one gradient was worth.

    Attributes
    ----------
    gradient_error : largest relative difference from finite differences, over the directions tried.
    value_error : relative difference between the value under differentiation and the plain program's.
    gradient_seconds, forward_seconds : median time of one value and gradient, and of one plain run.
    """

    gradient_error: float
    value_error: float
    gradient_seconds: float
    forward_seconds: float


def prove(function: Callable[..., Any], point: np.ndarray, *args: Any) -> Proof:
    """Compare the gradient of `function(point, *args)` by `point` with finite differences of plain runs.

    The directions are random unit vectors with a fixed seed.
    """
    value_and_gradient = bridge.value_and_grad(function)
    value, gradient = value_and_gradient(point, *args)
    plain = function(point, *args)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(DIRECTIONS):
        direction = rng.normal(size=point.shape)
        direction /= np.linalg.norm(direction)
        slope = directional_slope(lambda x: function(x, *args), point, direction)
        errors.append(abs(np.vdot(gradient, direction) - slope) / abs(slope))
    return Proof(
        gradient_error=float(np.max(errors)),
        value_error=float(abs(value - plain) / abs(plain)),
        gradient_seconds=median_seconds(lambda: value_and_gradient(point, *args)),
        forward_seconds=median_seconds(lambda: function(point, *args)),
    )


def directional_slope(function: Callable[[np.ndarray], Any], point: np.ndarray, direction: np.ndarray) -> float:
    """Slope of `function` at `point` along `direction`, by the central difference of fourth order."""

    def antisymmetric(step: float) -> float:
        return float(function(point + step * direction) - function(point - step * direction))

    return (8 * antisymmetric(STEP) - antisymmetric(2 * STEP)) / (12 * STEP)


def median_seconds(call: Callable[[], object]) -> float:
    """Median wall-clock time of `call` over a few repetitions."""
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return median(seconds)
