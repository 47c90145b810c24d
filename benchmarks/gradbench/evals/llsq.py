"""`llsq`: how far a polynomial is from the sign function on [-1, 1], by least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input


def primal(x: np.ndarray, t: np.ndarray) -> Any:
    """Half the sum of squares of sign(t) - Σ x_j t^j over the points `t`."""
    residual = np.sign(t)
    power = np.ones_like(t)
    for j in range(len(x)):
        residual -= x[j] * power
        power *= t
    return 0.5 * np.sum(residual**2)


gradient = bridge.grad(primal, engine="native")


def prepare(given: Input) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients and the points."""
    return np.array(given["x"], dtype=float), np.linspace(-1.0, 1.0, given["n"])


EVAL = Eval(prepare, {"primal": Function(primal, float), "gradient": Function(gradient, np.ndarray.tolist)})
