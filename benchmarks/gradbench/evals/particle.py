"""`particle`: where to put a charge so that a particle that flies by hits the origin.

The particle is pushed by the gradient of a potential, and its path is differentiated with respect to the charge's
place: a derivative within a derivative, in a loop that ends when the particle crosses the axis.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.gradbench.evals.descent import Slope, forward, lowest, reverse
from benchmarks.gradbench.evaluation import Eval, Function, Input

STEP = 0.1


def potential(place: np.ndarray, charges: np.ndarray) -> Any:
    """The sum of the inverse distances from the charges."""
    return np.sum(1.0 / np.sqrt(np.sum((place - charges) ** 2, axis=1)))


def miss(control: np.ndarray, inner: Slope) -> Any:
    """The square of where the particle crosses the axis; `inner` says how the potential is differentiated."""
    charges = np.array([[10.0, 10.0], [10.0, 0.0]])
    charges[0, 1] -= control[0]
    place, speed = np.array([0.0, 8.0]), np.array([0.75, 0.0])
    force = inner(potential)
    while True:
        push = force(place, charges)
        place += STEP * speed
        if place[1] <= 0:
            break
        speed -= STEP * push
    return (place[0] - place[1] / speed[1] * speed[0]) ** 2


def search(start: np.ndarray, outer: Slope, inner: Slope) -> Any:
    """The control with the smallest miss."""
    return lowest(lambda control: miss(control, inner), start, outer)[0]


def ff(start: np.ndarray) -> Any:
    """The search forward, the force forward."""
    return search(start, forward, forward)


def fr(start: np.ndarray) -> Any:
    """The search forward, the force in reverse."""
    return search(start, forward, reverse)


def rf(start: np.ndarray) -> Any:
    """The search in reverse, the force forward."""
    return search(start, reverse, forward)


def rr(start: np.ndarray) -> Any:
    """The search in reverse, the force in reverse."""
    return search(start, reverse, reverse)


def prepare(given: Input) -> tuple[np.ndarray]:
    """Where the search starts."""
    return (np.array([given["w"]], dtype=float),)


EVAL = Eval(prepare, {each.__name__: Function(each, float) for each in (ff, fr, rf, rr)})
