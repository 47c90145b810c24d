"""What a loop adds to an array turn by turn, and reads of it nowhere else: how it is found, and summed at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.bodies import Body, Walk, same, stacked, walk_of
from bridge.xla.equations.factors import Factors, factors_of, total
from bridge.xla.equations.graph import Values, followed, size_of, value_of
from bridge.xla.equations.products import SMALLEST, Product, product_of, products


@dataclass(frozen=True)
class Added:
    """An array that a turn adds to a window of the sum (to all of it if there is none), or subtracts from it.

    It is a product of `factors`, or comes from a `product` with a matrix, or is small.
    """

    array: Any
    sign: int
    factors: Factors | None = None
    product: Product | None = None
    starts: tuple[Any, ...] = ()
    window: Any = None

    @property
    def seeds(self) -> list[Any]:
        """What is kept of each turn."""
        if self.factors is not None:
            return self.factors.seeds
        return [self.array if self.product is None else self.product.vector]

    @property
    def pays(self) -> bool:
        return self.factors is not None or self.product is not None


@dataclass(frozen=True)
class Sum:
    """A carried value to which turns only add."""

    position: int
    terms: list[Added]

    @property
    def seeds(self) -> list[Any]:
        return [seed for term in self.terms for seed in term.seeds]


def sums(body: Body) -> Iterator[Sum]:
    """The sums of a loop that are better made after it."""
    for position, (before, after) in enumerate(zip(body.carried, body.jaxpr.outvars, strict=True)):
        if position == body.index or size_of(before) < SMALLEST:
            continue
        terms: list[Added] = []
        if _add_terms(body, before, after, terms) and any(term.pays for term in terms):
            yield Sum(position, terms)


def _add_terms(body: Body, before: Any, after: Any, terms: list[Added]) -> bool:
    """Find what is added between two values of a sum; whether that is all that happens."""
    while (after := body.resolved(after)) is not before:
        maker = body.graph.maker(after, "add", "add_any", "sub", "dynamic_update_slice")
        if maker is None:
            return False
        if maker.primitive.name == "dynamic_update_slice":
            rest, term = _added_to_window(body, maker)
        else:
            rest, term = _added_to_all(body, before, maker)
        if term is None or _bit(body, before) & body.depends(term.array):
            return False
        terms.append(term)
        after = rest
    return True


def _bit(body: Body, before: Any) -> int:
    return 1 << body.carried.index(before)


def _added_to_all(body: Body, before: Any, maker: Any) -> tuple[Any, Added | None]:
    rest, array = maker.invars
    if not _bit(body, before) & body.depends(rest) and maker.primitive.name != "sub":
        rest, array = array, rest
    factors = None if isinstance(array, Literal) else factors_of(body, array)
    sign = -1 if maker.primitive.name == "sub" else 1
    return rest, None if factors is None else Added(array, sign, factors)


def _added_to_window(body: Body, maker: Any) -> tuple[Any, Added | None]:
    whole, window, *starts = maker.invars
    made = body.graph.maker(body.bare(window), "add", "sub")
    if made is None or not all(map(body.is_indexed, starts)):
        return whole, None
    for old, array in (made.invars, made.invars[::-1]):
        read = body.graph.maker(body.bare(old), "dynamic_slice")
        if read is None or not same(read.invars[1:], starts) or read.outvars[0].aval.shape != window.aval.shape:
            continue
        if body.resolved(read.invars[0]) is body.resolved(whole):
            array = body.bare(array)
            sign = -1 if made.primitive.name == "sub" else 1
            if isinstance(array, Literal) or (sign < 0 and old is not made.invars[0]):
                return whole, None
            return whole, Added(array, sign, None, product_of(body, array), tuple(starts), window)
    return whole, None


def summed(body: Body, one: Sum, begun: Any, stacks: Values, values: Values) -> Any:
    """The sum after the loop, given what it was before, and the seeds of all turns."""
    for term in one.terms[::-1]:
        if term.factors is not None:
            found = total(body, term.factors, stacks, values)
            begun = begun + found if term.sign > 0 else begun - found
            continue
        if term.product is None:
            (rows,) = stacked(body, [term.array], stacks, values)
        else:
            rows = products(body, term.product, stacks, values)
        begun = _added_in_windows(body, term, begun, rows if term.sign > 0 else -rows, values)
    return begun


def _added_in_windows(body: Body, term: Added, whole: Any, rows: Any, values: Values) -> Any:
    """An array with rows added to the windows of the turns."""
    rows = lax.reshape(rows, (body.turns, *term.window.aval.shape))
    walk = walk_of(body, term.starts, term.window, whole.shape)
    return _in_turn(body, term.starts, whole, rows, values) if walk is None else _along(walk, whole, rows, body)


def _along(walk: Walk, whole: Any, rows: Any, body: Body) -> Any:
    """Rows added along an axis, all of them at once: no two windows meet."""
    rows = jnp.moveaxis(lax.squeeze(rows, [1 + walk.axis]), 0, walk.axis)
    rows = lax.rev(rows, [walk.axis]) if walk.is_backward else rows
    before = [walk.low if k == walk.axis else 0 for k in range(whole.ndim)]
    part = lax.slice_in_dim(whole, walk.low, walk.low + body.turns, axis=walk.axis)
    return lax.dynamic_update_slice(whole, part + rows, before)


def _in_turn(body: Body, starts: Sequence[Any], whole: Any, rows: Any, values: Values) -> Any:
    index = body.carried[body.index]
    equations = body.between(starts, [index])

    def turn(k: Any, whole: Any) -> Any:
        known = {**values, index: lax.convert_element_type(body.start + k, index.aval.dtype)}
        followed(equations, known)
        at = [value_of(start, known) for start in starts]
        row = lax.dynamic_index_in_dim(rows, k, keepdims=False)
        return lax.dynamic_update_slice(whole, lax.dynamic_slice(whole, at, row.shape) + row, at)

    return lax.fori_loop(0, body.turns, turn, whole)
