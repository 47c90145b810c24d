"""Numbers that scale a matrix on its way into a product with a vector: the product is scaled instead.

`alpha * A @ x` makes a matrix to be read once, and costs three times what `alpha * (A @ x)` does. XLA moves such
numbers on some devices, though not on the processor. Where a number is so large or small that products could overflow
that did not before, the program computes what it says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from jax import lax

from bridge.xla.equations.graph import Graph, Replacement, size_of

_SMALLER = 8
"""How many times fewer elements the product must have than the matrix."""
SMALLEST = 1 << 14
"""Elements of a matrix from which on this pays."""
_MODERATE = float(1 << 20)
"""What is larger than this, or smaller than one by this, is left where it is."""


def scalings(graph: Graph) -> Iterator[tuple[int, Replacement]]:
    """Products with a scaled matrix that nobody else reads."""
    for number, equation in enumerate(graph.jaxpr.eqns):
        if equation.primitive.name == "dot_general":
            for side in (0, 1):
                found = _scaled(graph, equation.invars[side])
                if found is not None and _is_read_by_small_products(graph, equation.invars[side]):
                    yield number, _moved(equation, side, *found)
                    break


def _scaled(graph: Graph, matrix: Any) -> tuple[Any, Any] | None:
    """The number and the matrix of which an operand is the product; None if it is something else."""
    maker = graph.maker(matrix, "mul")
    if maker is None or size_of(matrix) < SMALLEST or not np.issubdtype(matrix.aval.dtype, np.floating):
        return None
    for one, other in (maker.invars, maker.invars[::-1]):
        spread = graph.maker(one, "broadcast_in_dim")
        if spread is not None and size_of(spread.invars[0]) == 1 and other.aval.shape == matrix.aval.shape:
            return spread.invars[0], other
    return None


def _is_read_by_small_products(graph: Graph, matrix: Any) -> bool:
    return all(
        user is not None
        and user.primitive.name == "dot_general"
        and user.invars.count(matrix) == 1
        and user.outvars[0].aval.dtype == matrix.aval.dtype
        and _SMALLER * size_of(user.outvars[0]) <= size_of(matrix)
        for user in graph.users[matrix]
    )


def _moved(equation: Any, side: int, number: Any, matrix: Any) -> Replacement:
    params, shape = equation.params, equation.outvars[0].aval.shape

    def product(factor: Any, array: Any, other: Any) -> list[Any]:
        factor = lax.reshape(factor, ())

        def multiplied(x: Any) -> Any:
            return equation.primitive.bind(*((x, other) if side == 0 else (other, x)), **params)

        size = lax.abs(factor)
        is_moderate = (size >= 1 / _MODERATE) & (size <= _MODERATE)
        scaled = lax.cond(
            is_moderate,
            lambda: multiplied(array) * lax.broadcast_in_dim(factor, shape, ()),
            lambda: multiplied(array * lax.broadcast_in_dim(factor, array.shape, ())),
        )
        return [scaled]

    return Replacement(product, (number, matrix, equation.invars[1 - side]))
