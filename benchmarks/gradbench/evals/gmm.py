"""`gmm`: the log posterior of a mixture of Gaussians with Wishart priors on its precisions.

Component k has the weight exp(alpha_k) / Σ exp(alpha) and the precision QᵀQ, where Q is lower triangular, with the
exponentials of `q` on its diagonal and `l` below it, column by column.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import multigammaln

import bridge
from benchmarks.gradbench.evaluation import Eval, Function, Input

INDEPENDENT = ("alpha", "mu", "q", "l")


def log_sum_exp(v: np.ndarray) -> Any:
    """log Σ exp over the last axis."""
    largest = np.max(v, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(v - largest), axis=-1)) + largest[..., 0]


def objective(
    alpha: np.ndarray, mu: np.ndarray, q: np.ndarray, lower: np.ndarray, points: np.ndarray, gamma: float, freedom: int
) -> Any:
    """The log likelihood of `points` plus the log prior, which has `freedom` degrees more than the dimension plus 1."""
    (count, size), components = points.shape, len(alpha)
    columns, rows = np.triu_indices(size, 1)
    diagonal = np.arange(size)
    factor = np.zeros((size, size))
    scores = np.zeros((count, components))
    norm = 0.0
    for k in range(components):
        factor[rows, columns] = lower[k]
        factor[diagonal, diagonal] = np.exp(q[k])
        scaled = (points - mu[k]) @ factor.T
        scores[:, k] = alpha[k] + np.sum(q[k]) - 0.5 * np.sum(scaled**2, axis=1)
        norm += np.sum(factor**2)
    likelihood = np.sum(log_sum_exp(scores)) - count * (0.5 * size * np.log(2 * np.pi) + log_sum_exp(alpha))
    degrees = size + freedom + 1
    constant = degrees * size * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * degrees, size)
    return likelihood + components * constant - 0.5 * gamma**2 * norm + freedom * np.sum(q)


jacobian = bridge.grad(objective, argnums=("alpha", "mu", "q", "lower"), engine="native")


def prepare(given: Input) -> tuple[Any, ...]:
    """The independent variables, the points and the prior's two numbers."""
    independent = (np.array(given[name], dtype=float) for name in INDEPENDENT)
    return *independent, np.array(given["x"], dtype=float), float(given["gamma"]), int(given["m"])


def told(gradients: tuple[np.ndarray, ...]) -> dict[str, Any]:
    """The gradients by their names."""
    return {name: each.tolist() for name, each in zip(INDEPENDENT, gradients, strict=True)}


EVAL = Eval(prepare, {"objective": Function(objective, float), "jacobian": Function(jacobian, told)})
