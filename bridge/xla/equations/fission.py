"""Loops from which products are taken out: those that need nothing of other turns, and sums that nobody reads there.

A gradient with respect to a matrix that every turn of a loop multiplies is a sum of outer products, one a turn, each of
which reads and writes the whole matrix. Their factors are kept instead, a row for each turn, and one product of
matrices makes the sum after the loop. Likewise, products with a matrix that stays of what follows from the number of
the turn are made before the loop, all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.bodies import Body, Known, counted, loops, walk_of
from bridge.xla.equations.graph import Graph, Replacement, Values, followed, inside, size_of, value_of
from bridge.xla.equations.products import SMALLEST, Product, guarded, product_of, products
from bridge.xla.equations.sums import Sum, summed, sums
from bridge.xla.tracing.kernels import loop

# fmt: off
_OF_LIBRARIES = frozenset({
    "cholesky", "custom_linear_solve", "eig", "eigh", "fft", "ffi_call", "geqrf", "hessenberg", "householder_product",
    "io_callback", "lu", "pure_callback", "qr", "schur", "svd", "symmetric_product", "triangular_solve",
    "tridiagonal", "tridiagonal_solve",
})
# fmt: on
"""What calls a library. Of all turns at once, JAX does it on XLA's own threads, each of which may wait for the others:
such programs stopped for good, seen with solves on two cores. A loop that holds any of these stays as it is."""
_ANYWAY = 1 << 20
"""Elements that may be kept whatever goes into a loop."""
_LARGER = 2
"""How many times what goes into a loop the rows may be that are kept of its turns."""


def fissions(graph: Graph, known: Known, tells: bool = False) -> Iterator[tuple[int, Replacement]]:
    """Loops of a program from which products can be taken out; under `tells`, without long ways."""
    for number, equation in loops(graph):
        jaxpr = equation.params["body"].jaxpr
        if not _may_pay(jaxpr) or _calls_libraries(jaxpr):
            continue
        body = counted(equation, known)
        if body is None:
            continue
        split = Split(body, [one in graph.users for one in equation.outvars])
        if split.sums or split.early:
            run = guarded(split.run) if tells else split.run
            yield number, Replacement(run, (*body.outside, *body.begun))


def _may_pay(jaxpr: Any) -> bool:
    return any(
        _may_pay_inside(one)
        or (one.primitive.name == "dot_general" and max(map(size_of, one.invars)) >= SMALLEST)
        or (one.primitive.name == "mul" and size_of(one.outvars[0]) >= SMALLEST)
        for one in jaxpr.eqns
    )


def _may_pay_inside(equation: Any) -> bool:
    return equation.primitive.name in ("jit", "pjit") and _may_pay(equation.params["jaxpr"].jaxpr)


def _calls_libraries(jaxpr: Any) -> bool:
    return any(one.primitive.name in _OF_LIBRARIES or any(map(_calls_libraries, inside(one))) for one in jaxpr.eqns)


class Split:
    """A loop in three parts: products before it, the loop without them, sums after it."""

    def __init__(self, body: Body, used: Sequence[bool]) -> None:
        self.body = body
        self.early = list(self._early())
        self.known = [one.result for one in self.early]
        found = {one.position: one for one in sums(body)}
        while True:
            self.needed = self._needed(used, found)
            read = self.needed & found.keys()
            if not read and self._is_bounded(found.values()):
                break
            found = {k: one for k, one in found.items() if read and k not in read}
        self.sums = list(found.values())
        seeds = dict.fromkeys(seed for one in self.sums for seed in one.seeds)
        self.seeds = [seed for seed in seeds if not body.is_indexed(seed)]

    def _early(self) -> Iterator[Product]:
        """Products that follow from the number of the turn."""
        body, left = self.body, self._largest
        for equation in body.jaxpr.eqns:
            atoms = [atom for atom in equation.invars if not isinstance(atom, Literal)]
            if not all(map(body.is_indexed, atoms)) or all(map(body.is_constant, atoms)):
                continue
            product = product_of(body, equation.outvars[0])
            if product is None:
                continue
            left -= body.turns * sum(map(size_of, product.rows))
            if left >= 0:
                yield product

    @property
    def _largest(self) -> int:
        return max(_ANYWAY, _LARGER * sum(map(size_of, (*self.body.outside, *self.body.begun))))

    def _is_bounded(self, found: Any) -> bool:
        """Whether all that is kept of the turns is not much more than what goes into the loop."""
        kept: set[Any] = set().union(*(_rows(one) for one in found))
        return self.body.turns * sum(map(size_of, kept)) <= self._largest

    def _needed(self, used: Sequence[bool], found: dict[int, Sum]) -> set[int]:
        """The carried values that the loop still needs without these sums."""
        body = self.body
        needed = {k for k, is_used in enumerate(used) if is_used and k not in found} | {body.index}
        wanted = [seed for one in found.values() for seed in one.seeds]
        while True:
            outputs = [*wanted, *(body.jaxpr.outvars[k] for k in needed)]
            more = {body.carried.index(one) for one in body.read_by(outputs, self.known)} - needed
            if not more:
                return needed
            needed |= more

    def run(self, *operands: Any) -> list[Any]:
        """All that the loop gives; what nobody uses is what it was."""
        body = self.body
        values: Values = dict(zip(body.constants, operands, strict=False))
        begun = list(operands[len(body.constants) :])
        before = [self._made_before(one, values) for one in self.early]
        carried = sorted(self.needed)
        rows = [jnp.zeros((body.turns, *seed.aval.shape), seed.aval.dtype) for seed in self.seeds]
        ended, rows = self._loop(carried, [begun[k] for k in carried], rows, (before, values))
        results = list(begun)
        for k, value in zip(carried, ended, strict=True):
            results[k] = value
        stacks = dict(zip(self.seeds, rows, strict=True))
        for one in self.sums:
            results[one.position] = summed(body, one, begun[one.position], stacks, values)
        return results

    def _made_before(self, product: Product, values: Values) -> tuple[Any, bool]:
        """The rows of a product, and whether the first is that of the last turn."""
        backward = self._goes_backward(product)
        return products(self.body, product, {}, values, backward), backward

    def _goes_backward(self, product: Product) -> bool:
        """Whether it reads arrays from their ends: then its rows are in their order, as in a loop forward."""
        body = self.body
        walks = [
            walk_of(body, one.invars[1:], one.outvars[0], one.invars[0].aval.shape)
            for one in body.between([product.vector], [body.carried[body.index]])
            if one.primitive.name == "dynamic_slice"
        ]
        return bool(walks) and all(walk is not None and walk.is_backward for walk in walks)

    def _loop(self, carried: list[int], begun: list[Any], rows: list[Any], known: Any) -> tuple[list[Any], list[Any]]:
        body, (before, values) = self.body, known
        outputs = [*(body.jaxpr.outvars[k] for k in carried), *self.seeds]
        equations = body.between(outputs, [*self.known, *body.carried])
        place, stop = carried.index(body.index), body.start + body.turns

        def step(state: Any) -> Any:
            state, rows = state
            inside = {**values, **{body.carried[k]: x for k, x in zip(carried, state, strict=True)}}
            turn = state[place] - body.start
            for one, (made, backward) in zip(self.early, before, strict=True):
                at = body.turns - 1 - turn if backward else turn
                inside[one.result] = lax.dynamic_index_in_dim(made, at, keepdims=False)
            followed(equations, inside)
            found = [value_of(atom, inside) for atom in outputs]
            after, seeds = found[: len(carried)], found[len(carried) :]
            kept = [lax.dynamic_update_index_in_dim(x, seed, turn, 0) for x, seed in zip(rows, seeds, strict=True)]
            return after, kept

        return loop(lambda state: state[0][place] < stop, step, (begun, rows))


def _rows(one: Sum) -> set[Any]:
    """What has a row for each turn: seeds, and products of them."""
    made = [term.product.result for term in one.terms if term.product is not None]
    return {atom for atom in (*one.seeds, *made) if not isinstance(atom, Literal)}
