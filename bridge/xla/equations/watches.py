"""Watches for NaNs in gradients, made cheap: what was computed from small arrays is looked at there.

A gradient with respect to a matrix is mostly an outer product, and looking at it reads the whole matrix again. But
nothing in it can be NaN if its factors are finite, and so small that no product or sum of them overflows. So a bound
of its elements is computed from bounds of its factors; only where that is not finite the gradient itself is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from math import prod
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.graph import Graph, Replacement, is_call_of, size_of
from bridge.xla.tracing.faults import holds_nan

SMALLEST = 1 << 14
"""Elements of a gradient from which on it may pay to look at its factors."""
_CHEAPER = 8
"""How many times fewer elements these must have."""
_DEEPEST = 24
"""Equations between a gradient and what is looked at."""

Values = dict[Any, Any]


@dataclass(frozen=True)
class Bound:
    """What bounds the absolute values of an array, of real and imaginary parts each: what it reads, and the bound."""

    reads: frozenset[Any]
    of: Callable[[Values], Any]

    @property
    def cost(self) -> int:
        return sum(map(size_of, self.reads))


def watches(graph: Graph) -> Iterator[tuple[int, Replacement]]:
    """Watches of gradients, which are results of the program, that look at less than the gradients."""
    results = set(one for one in graph.jaxpr.outvars if not isinstance(one, Literal))
    for number, equation in enumerate(graph.jaxpr.eqns):
        if not is_call_of(equation, holds_nan.__name__):
            continue
        (gradient,) = equation.invars
        # Of what is no result XLA may make each element when it is looked at, and would have to keep it here.
        if isinstance(gradient, Literal) or gradient not in results or size_of(gradient) < SMALLEST:
            continue
        bound = bound_of(graph, gradient)
        if _CHEAPER * bound.cost <= size_of(gradient):
            yield number, _looking(gradient, bound)


def _looking(gradient: Any, bound: Bound) -> Replacement:
    reads = tuple(bound.reads)
    largest = float(jnp.finfo(gradient.aval.dtype).max) / 4

    def look(value: Any, *others: Any) -> list[Any]:
        is_sure = bound.of(dict(zip(reads, others, strict=True))) < largest
        return [lax.cond(is_sure, lambda: jnp.zeros((), bool), lambda: holds_nan(value))]

    return Replacement(look, (gradient, *reads))


def bound_of(graph: Graph, atom: Any, depth: int = 0) -> Bound:
    """The bound of a value that reads least."""
    itself = _leaf(atom)
    maker = None if depth >= _DEEPEST else graph.maker(atom)
    if maker is None or (rule := _RULES.get(maker.primitive.name)) is None:
        return itself
    if any(one.aval.dtype != atom.aval.dtype for one in maker.invars[: rule.operands]):
        return itself
    parts = [bound_of(graph, one, depth + 1) for one in maker.invars[: rule.operands]]
    reads = frozenset[Any]().union(*(part.reads for part in parts))
    through = Bound(reads, lambda values: rule.combined(maker, *[part.of(values) for part in parts]))
    return through if through.cost < itself.cost else itself


def _leaf(atom: Any) -> Bound:
    if isinstance(atom, Literal):
        value = np.asarray(atom.val)
        return Bound(frozenset(), lambda values: _largest(jnp.asarray(value)))
    return Bound(frozenset([atom]), lambda values: _largest(values[atom]))


def _largest(x: Any) -> Any:
    """At least the largest absolute value of an array, NaN if there is one in it.

    It is their sum: XLA's library may lose a NaN in a maximum (`special_values.py`).
    """
    parts = [lax.real(x), lax.imag(x)] if jnp.iscomplexobj(x) else [x]
    return sum(jnp.sum(lax.abs(part)) for part in parts)


@dataclass(frozen=True)
class _Rule:
    """How the bound of a result follows from those of its first `operands` (all of them if None)."""

    combined: Callable[..., Any]
    operands: int | None = None


def _same(_: Any, bound: Any) -> Any:
    return bound


def _largest_of(_: Any, *bounds: Any) -> Any:
    return reduce(jnp.maximum, bounds)


def _total(_: Any, *bounds: Any) -> Any:
    return reduce(lax.add, bounds)


def _product(equation: Any, a: Any, b: Any) -> Any:
    return _terms(equation) * (a * b)


def _terms(equation: Any) -> int:
    """How many real products are added in one element of a complex product; 1 if it is real."""
    return 2 if jnp.issubdtype(equation.outvars[0].aval.dtype, np.complexfloating) else 1


def _contracted(equation: Any, a: Any, b: Any) -> Any:
    """Twice the bound of a sum of products: sums are rounded, in whatever order."""
    (axes, _), _ = equation.params["dimension_numbers"]
    count = prod(equation.invars[0].aval.shape[axis] for axis in axes)
    return 2 * count * _terms(equation) * (a * b)


def _summed(equation: Any, bound: Any) -> Any:
    return 2 * prod(equation.invars[0].aval.shape[axis] for axis in equation.params["axes"]) * bound


_RULES = {
    **dict.fromkeys(
        ("broadcast_in_dim", "reshape", "transpose", "squeeze", "neg", "conj", "rev", "copy"),
        _Rule(_same, 1),
    ),
    **dict.fromkeys(("slice", "dynamic_slice"), _Rule(_same, 1)),
    **dict.fromkeys(("pad", "dynamic_update_slice"), _Rule(_largest_of, 2)),
    "concatenate": _Rule(_largest_of),
    **dict.fromkeys(("add", "sub", "add_any"), _Rule(_total)),
    "mul": _Rule(_product),
    "dot_general": _Rule(_contracted),
    "reduce_sum": _Rule(_summed),
}
"""Operations whose results are finite where their operands are, and do not overflow."""
