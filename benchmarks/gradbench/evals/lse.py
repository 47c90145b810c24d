"""`lse`: the logarithm of a sum of exponentials, and its gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input


def primal(x: np.ndarray) -> Any:
    """log Σ exp(x), by exponentials that cannot overflow."""
    largest = np.max(x)
    shifted = x - largest
    np.exp(shifted, out=shifted)
    return largest + np.log(np.sum(shifted))


gradient = bridge.grad(primal, engine="native")


def prepare(given: Input) -> tuple[np.ndarray]:
    """The vector."""
    return (np.array(given["x"], dtype=float),)


EVAL = Eval(prepare, {"primal": Function(primal, float), "gradient": Function(gradient, np.ndarray.tolist)})
