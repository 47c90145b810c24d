"""`det`: the determinant by expansion of minors; no minor is computed once for several places, so the work is n!."""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input


def determinants(matrices: np.ndarray) -> Any:
    """The determinants of a stack of matrices, expanded along the first row; all minors are one stack."""
    count, size, _ = matrices.shape
    if size == 1:
        return matrices[:, 0, 0]
    minors = np.zeros((count, size, size - 1, size - 1))
    for j in range(size):
        minors[:, j, :, :j] = matrices[:, 1:, :j]
        minors[:, j, :, j:] = matrices[:, 1:, j + 1 :]
    inner = determinants(minors.reshape(count * size, size - 1, size - 1)).reshape(count, size)
    terms = matrices[:, 0, :] * inner
    terms[:, 1::2] *= -1.0
    return np.sum(terms, axis=1)


def primal(matrix: np.ndarray) -> Any:
    """The determinant of a matrix."""
    return determinants(matrix[None])[0]


gradient = bridge.grad(primal, engine="native")


def prepare(given: Input) -> tuple[np.ndarray]:
    """The matrix, which comes row by row."""
    return (np.array(given["A"], dtype=float).reshape(given["ell"], given["ell"]),)


EVAL = Eval(
    prepare, {"primal": Function(primal, float), "gradient": Function(gradient, lambda found: found.ravel().tolist())}
)
