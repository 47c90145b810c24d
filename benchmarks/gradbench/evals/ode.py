"""`ode`: a chain of equations y_0' = x_0, y_i' = x_i y_{i-1} up to time 2, by the classical Runge-Kutta method."""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input

END = 2.0


def slope(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    """Write the derivative of `y` into `out`."""
    out[0] = x[0]
    np.multiply(x[1:], y[:-1], out=out[1:])


def primal(x: np.ndarray, steps: int) -> Any:
    """The state at the end, from zeros at the beginning."""
    h = END / steps
    y = np.zeros_like(x)
    first, second, third, fourth = np.zeros_like(x), np.zeros_like(x), np.zeros_like(x), np.zeros_like(x)
    for _ in range(steps):
        slope(x, y, first)
        slope(x, y + 0.5 * h * first, second)
        slope(x, y + 0.5 * h * second, third)
        slope(x, y + h * third, fourth)
        second += third
        y += h / 6 * (first + 2 * second + fourth)
    return y


def last(x: np.ndarray, steps: int) -> Any:
    """The last element of the state at the end."""
    return primal(x, steps)[-1]


gradient = bridge.grad(last, engine="native")


def prepare(given: Input) -> tuple[np.ndarray, int]:
    """The coefficients and the number of steps."""
    return np.array(given["x"], dtype=float), int(given["s"])


EVAL = Eval(prepare, {"primal": Function(primal, np.ndarray.tolist), "gradient": Function(gradient, np.ndarray.tolist)})
