"""Gradient descent with a step that grows while it goes well, as the evals `particle` and `saddle` ask for it.

`value` and `slope` are the function that is made small and its gradient. The rule is GradBench's: the step is doubled
after ten descents in a row, halved when the value does not fall, and the search ends where the gradient or the step's
effect is below 1e-5.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bridge

NEAR = 1e-5
IN_A_ROW = 10

Slope = Callable[[Callable[..., Any]], Callable[..., Any]]


def length(v: np.ndarray) -> Any:
    """The Euclidean length."""
    return np.sqrt(np.sum(v**2))


def lowest(value: Callable[[np.ndarray], Any], start: np.ndarray, differentiate: Slope) -> Any:
    """Where `value` is lowest, searched from `start`."""
    slope = differentiate(value)
    x = start.copy()
    now, downhill = value(x), slope(x)
    step, descents = NEAR, 0
    while length(downhill) > NEAR:
        if descents == IN_A_ROW:
            step *= 2
            descents = 0
            continue
        following = x - step * downhill
        if length(following - x) <= NEAR:
            break
        then = value(following)
        if then < now:
            x[:] = following
            now, downhill = then, slope(x)
            descents += 1
        else:
            step /= 2
            descents = 0
    return x


def reverse(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by one sweep back."""
    return bridge.grad(f, engine="native")


def forward(f: Callable[..., Any]) -> Callable[..., Any]:
    """The gradient by a derivative forward along each coordinate."""
    return bridge.jacfwd(f, engine="native")
