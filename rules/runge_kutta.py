"""Runge-Kutta methods on given steps: what `scipy.integrate` computes on the steps that it has accepted, tracked.

The coefficients are those of SciPy's solver classes, and operations are done in their order: values agree to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from bridge.extend import as_array, needs, refuse

integrate = needs("scipy.integrate")
METHODS = {"RK23": integrate.RK23, "RK45": integrate.RK45, "DOP853": integrate.DOP853}


class Step:
    """One step from `(t_old, y_old)` to `(t, y)`, and its interpolant; `k` are the slopes at its stages."""

    def __init__(self, solver: Any, slope: Callable[..., Any], t_old: Any, t: Any, y_old: Any, first: Any) -> None:
        self.solver, self.slope = solver, slope
        self.t_old, self.t, self.y_old = t_old, t, y_old
        self.h = h = t - t_old
        k = [first]
        for a, c in zip(solver.A[1:], solver.C[1:], strict=True):
            k.append(slope(t_old + c * h, y_old + _weighted(k, a[: len(k)]) * h))
        self.y = y_old + h * _weighted(k, solver.B)
        k.append(slope(t_old + h, self.y))
        self.k = k
        self._coefficients: Any = None

    def at(self, t: Any) -> Any:
        """The solution inside of the step, at a number or at an array of times: then a column for each."""
        x = (as_array(t) - self.t_old) / self.h
        self.prepare()
        before = self.y_old if not np.ndim(x) else np.expand_dims(self.y_old, -1)
        if issubclass(self.solver, integrate.DOP853):
            return self._nested(x) + before
        order = self._coefficients.shape[1]
        powers = np.cumprod(np.stack([x] * order), axis=0)
        return self.h * np.dot(self._coefficients, powers) + before

    def prepare(self) -> None:
        """Compute the coefficients of the interpolant, unless that is done."""
        if self._coefficients is None:
            dense = issubclass(self.solver, integrate.DOP853)
            self._coefficients = self._of_dop853() if dense else np.dot(np.transpose(np.stack(self.k)), self.solver.P)

    def _of_dop853(self) -> list[Any]:
        """Seven vectors, of which the interpolant of order 7 is a nested sum (Hairer, Nørsett, Wanner, II.6)."""
        solver, h, k = self.solver, self.h, list(self.k)
        for a, c in zip(solver.A_EXTRA, solver.C_EXTRA, strict=True):
            k.append(self.slope(self.t_old + c * h, self.y_old + _weighted(k, a[: len(k)]) * h))
        difference = self.y - self.y_old
        parts = [difference, h * k[0] - difference, 2 * difference - h * (self.k[-1] + k[0])]
        return [*parts, *(h * np.dot(solver.D, np.stack(k)))]

    def _nested(self, x: Any) -> Any:
        total: Any = 0.0
        for number, part in enumerate(reversed(self._coefficients)):
            total = total + (np.expand_dims(part, -1) if np.ndim(x) else part)
            total = total * (x if number % 2 == 0 else 1 - x)
        return total


class Trajectory:
    """The solution of an initial value problem on given steps; called with times, it interpolates, as `OdeSolution`."""

    def __init__(
        self, solver: Any, slope: Callable[..., Any], times: Sequence[Any], y0: Any, plain: Any, dense: bool = False
    ) -> None:
        self.ts = np.asarray(plain, float)
        self.t_min, self.t_max = min(self.ts[0], self.ts[-1]), max(self.ts[0], self.ts[-1])
        self.steps: list[Step] = []
        y, first = y0, slope(times[0], y0) if len(times) > 1 else None
        for t_old, t in pairwise(times):
            self.steps.append(Step(solver, slope, t_old, t, y, first))
            y, first = self.steps[-1].y, self.steps[-1].k[-1]
        if dense:
            # Now, and not in a search that calls the solution: what a search computes is forgotten.
            for step in self.steps:
                step.prepare()
        self.states = [y0, *(step.y for step in self.steps)]

    @property
    def n_segments(self) -> int:
        """The number of steps."""
        return len(self.steps)

    @property
    def interpolants(self) -> list[Any]:
        """Refused: the interpolants of single steps are SciPy's own objects."""
        refuse("the interpolants of a tracked solution", "call the solution: sol(t)")

    def __call__(self, t: Any) -> Any:
        """The solution at a time, of shape `(n,)`; at times in one array, of shape `(n, len(t))`."""
        times = as_array(t)
        if times.ndim > 1:
            raise ValueError("`t` must be a float or a 1-D array.")
        if not self.steps:
            return self.states[0] if not times.ndim else np.stack([self.states[0]] * times.shape[0], axis=-1)
        places = self._segments(np.asarray(_plain(times), float))
        if not times.ndim:
            return self.steps[int(places)].at(times[()] if not hasattr(times, "place") else times)
        if not places.size:
            return np.zeros((self.states[0].shape[0], 0))
        # Times in any order: runs of one segment are evaluated together, as SciPy does with sorted ones.
        parts = []
        ends = np.flatnonzero(np.diff(places)) + 1
        for start, stop in zip([0, *ends], [*ends, places.size], strict=True):
            parts.append(self.steps[int(places[start])].at(times[start:stop]))
        return np.concatenate(parts, axis=-1) if len(parts) > 1 else parts[0]

    def _segments(self, times: Any) -> Any:
        forward = self.ts[-1] >= self.ts[0]
        ends = self.ts if forward else -self.ts
        found = np.searchsorted(ends, times if forward else -times, side="left") - 1
        return np.clip(found, 0, len(self.steps) - 1)


def _weighted(k: list[Any], weights: Any) -> Any:
    return np.dot(np.transpose(np.stack(k)), weights)


def _plain(value: Any) -> Any:
    while hasattr(value, "place"):
        value = value.value
    return value
