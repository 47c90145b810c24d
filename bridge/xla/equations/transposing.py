"""Products of a transposed matrix in double precision, as every gradient with respect to a matrix is one.

XLA's processor backend multiplies `a.T @ b` with a slower routine than `a @ b`: it takes twice the time, much more than
transposing the matrix before, which it never does by itself. Single precision has no such difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax import lax

from bridge.xla.equations.graph import Graph, Replacement, size_of

SHORTEST = 32
"""Lengths of all axes from which on this pays."""


def transposings(graph: Graph) -> Iterator[tuple[int, Replacement]]:
    """Products of matrices whose left one is summed over its first axis, or is a transposed one."""
    if jax.default_backend() != "cpu":
        return
    for number, equation in enumerate(graph.jaxpr.eqns):
        if equation.primitive.name != "dot_general" or not _is_large(equation):
            continue
        (summed, _), _ = equation.params["dimension_numbers"]
        if tuple(summed) == (0,) or _is_transposed(graph, equation.invars[0]):
            yield number, Replacement(_made_before(equation, tuple(summed) == (0,)), tuple(equation.invars))


def _is_large(equation: Any) -> bool:
    left, right = (atom.aval for atom in equation.invars)
    return (
        not any(equation.params["dimension_numbers"][1])
        and left.ndim == right.ndim == 2
        and left.dtype == right.dtype == np.float64
        and min(*left.shape, *right.shape) >= SHORTEST
    )


def _is_transposed(graph: Graph, matrix: Any) -> bool:
    """Whether a matrix is another one with its axes exchanged."""
    while (maker := graph.maker(matrix, "transpose", "reshape", "rev", "squeeze", "broadcast_in_dim")) is not None:
        if maker.primitive.name == "transpose":
            long = [k for k in maker.params["permutation"] if maker.invars[0].aval.shape[k] > 1]
            return long != sorted(long)
        if size_of(maker.invars[0]) != size_of(matrix):
            return False
        matrix = maker.invars[0]
    return False


def _made_before(equation: Any, is_turned: bool) -> Any:
    (summed, other), batch = equation.params["dimension_numbers"]
    params = {**equation.params, "dimension_numbers": (((1,) if is_turned else summed, other), batch)}

    def product(left: Any, right: Any) -> list[Any]:
        # Without the barrier XLA makes of both the product that it was.
        left = lax.optimization_barrier(lax.transpose(left, (1, 0)) if is_turned else left)
        return [equation.primitive.bind(left, right, **params)]

    return product
