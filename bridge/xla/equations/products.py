"""Products in a loop of something small with a matrix that stays: in all turns, these are one product of matrices.

Such a short cut holds for finite numbers only (`either`). A program that returns notes takes it in any case and notes
where it did not hold; then another program is compiled, with both ways in it, and its results are returned. Compiling
the long way, a loop mostly, costs more than all the rest of many programs, which never take it. A program without notes
has both ways in it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.bodies import Body, stacked
from bridge.xla.equations.graph import Values, followed, size_of, value_of

_FAILED_GUARDS: ContextVar[list[Any] | None] = ContextVar("bridge.xla.failed_guards", default=None)


def either(is_sure: Any, short: Callable[[], Any], long: Callable[[], Any]) -> Any:
    """Take the short way where that `is_sure`, else the long one; inside of `guarded`, always the short one."""
    failed = _FAILED_GUARDS.get()
    if failed is None:
        return lax.cond(is_sure, short, long)
    failed.append(jnp.logical_not(is_sure))
    return short()


def guarded(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """Make a function take its short cuts; if it has any, its last result is whether one of them did not hold."""

    def run(*args: Any) -> list[Any]:
        token = _FAILED_GUARDS.set([])
        try:
            results = function(*args)
            failed = _FAILED_GUARDS.get()
        finally:
            _FAILED_GUARDS.reset(token)
        return [*results, jnp.stack(failed).any()] if failed else results

    return run


SMALLEST = 2048
"""Elements of a matrix from which on this pays."""


@dataclass(frozen=True)
class Mask:
    """Where an array is what it is, and zero elsewhere: `mask`, or its opposite, whose axes are `axes` of the array."""

    mask: Any
    axes: tuple[int | None, ...]
    is_kept: bool


@dataclass(frozen=True)
class Product:
    """A `dot_general` of a `vector`, its operand number `side`, and a `matrix` that stays, maybe under a mask."""

    equation: Any
    side: int
    vector: Any
    matrix: Any
    mask: Mask | None

    @property
    def result(self) -> Any:
        return self.equation.outvars[0]

    @property
    def rows(self) -> list[Any]:
        """What has a row for each turn when it is made of all turns at once."""
        return [self.result, self.vector, *(() if self.mask is None else (self.mask.mask,))]


def product_of(body: Body, atom: Any) -> Product | None:
    """The product that a value is, if it is one."""
    equation = body.graph.maker(atom, "dot_general")
    if equation is None or any(equation.params["dimension_numbers"][1]):
        return None
    for side in (0, 1):
        matrix, mask = unmasked(body, equation.invars[1 - side])
        if body.is_constant(matrix) and size_of(matrix) >= SMALLEST:
            found = Product(equation, side, equation.invars[side], matrix, mask)
            return found if mask is None or (body.is_indexed(mask.mask) and _is_clear(found)) else None
    return None


def _is_clear(product: Product) -> bool:
    """Whether the mask chooses among what is summed, or among the sums, and not among both."""
    assert product.mask is not None
    summed = product.equation.params["dimension_numbers"][0][1 - product.side]
    axes = [axis for axis in product.mask.axes if axis is not None]
    return all(axis in summed for axis in axes) or not any(axis in summed for axis in axes)


def unmasked(body: Body, atom: Any) -> tuple[Any, Mask | None]:
    """An array without the mask that it is under."""
    maker = body.graph.maker(body.resolved(atom), "select_n")
    if maker is None or len(maker.invars) != 3 or maker.invars[0].aval.shape != atom.aval.shape:
        return atom, None
    where, other, chosen = maker.invars
    for kept, dropped, is_kept in ((chosen, other, True), (other, chosen, False)):
        if _is_zero(body, dropped):
            mask, axes = spread_from(body, where)
            return kept, Mask(mask, axes, is_kept)
    return atom, None


def _is_zero(body: Body, atom: Any) -> bool:
    while (maker := body.graph.maker(atom, "broadcast_in_dim")) is not None:
        atom = maker.invars[0]
    return isinstance(atom, Literal) and np.ndim(atom.val) == 0 and atom.val == 0


def spread_from(body: Body, atom: Any) -> tuple[Any, tuple[int | None, ...]]:
    """What an array is made of by repeating it, and which axis each of its axes is; None for those of length 1."""
    axes: tuple[int | None, ...] = tuple(range(len(atom.aval.shape)))
    while (maker := body.graph.maker(body.resolved(atom), "broadcast_in_dim", "reshape", "transpose")) is not None:
        found = _before(maker, axes)
        if found is None:
            break
        atom, axes = maker.invars[0], found
    return body.resolved(atom), axes


def _before(maker: Any, axes: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """The axes of what was spread, given those of the result; None if a reshape mixes them."""
    before, after = maker.invars[0].aval.shape, maker.outvars[0].aval.shape
    match maker.primitive.name:
        case "broadcast_in_dim":
            dims = maker.params["broadcast_dimensions"]
            return tuple(None if before[k] == 1 else axes[axis] for k, axis in enumerate(dims))
        case "transpose":
            found: list[int | None] = [None] * len(before)
            for k, axis in enumerate(maker.params["permutation"]):
                found[axis] = axes[k]
            return tuple(found)
    long = [axes[k] for k, n in enumerate(after) if n != 1]
    if [n for n in before if n != 1] != [n for n in after if n != 1]:
        return None
    rest = iter(long)
    return tuple(None if n == 1 else next(rest) for n in before)


def masked(stack: Any, mask: Any, axes: Sequence[int | None], is_kept: bool) -> Any:
    """A stack of arrays with zeros where a stack of masks says so; `axes` are those of the masks among the arrays'."""
    order = [k for k, axis in enumerate(axes) if axis is not None]
    short = lax.reshape(mask, (mask.shape[0], *[mask.shape[1 + k] for k in order]))
    dims = [0, *[1 + int(axes[k]) for k in order]]  # type: ignore[arg-type]
    short = jnp.transpose(short, [0, *[1 + k for k in np.argsort(dims[1:])]])
    where = lax.broadcast_in_dim(short, stack.shape, sorted(dims))
    zeros = jnp.zeros_like(stack)
    return lax.select(where, stack, zeros) if is_kept else lax.select(where, zeros, stack)


def products(body: Body, product: Product, stacks: Values, values: Values, backward: bool = False) -> Any:
    """The results of all turns, a row for each."""
    if product.matrix not in values:
        followed(body.between([product.matrix], values), values)
    if product.mask is None:
        return stacked(body, [product.result], stacks, values, backward)[0]
    vectors, masks = stacked(body, [product.vector, product.mask.mask], stacks, values, backward)
    matrix = values[product.matrix]

    mask, summed = product.mask, _summed(product)
    if all(axis in summed for axis in mask.axes if axis is not None):
        own = [None if axis is None else summed[axis] for axis in mask.axes]
        vectors_there = masked(vectors, masks, own, mask.is_kept)
        found = _multiplied(product, vectors_there, matrix)
    else:
        free = [k for k in range(matrix.ndim) if k not in summed]
        before = 0 if product.side else vectors.ndim - 1 - len(summed)
        own = [None if axis is None else before + free.index(axis) for axis in mask.axes]
        found = masked(_multiplied(product, vectors, matrix), masks, own, mask.is_kept)

    def one_by_one() -> Any:
        known = {**stacks, product.vector: vectors, mask.mask: masks}
        return in_turn(body, product.result, known, values, backward)

    return either(all_finite([vectors, matrix]), lambda: found, one_by_one)


def _summed(product: Product) -> dict[int, int]:
    """The axes of the matrix that are summed over, and those of the vector that they meet."""
    of_left, of_right = product.equation.params["dimension_numbers"][0]
    return dict(zip(of_left, of_right, strict=True) if product.side else zip(of_right, of_left, strict=True))


def _multiplied(product: Product, vectors: Any, matrix: Any) -> Any:
    def one(vector: Any) -> Any:
        operands = (matrix, vector) if product.side else (vector, matrix)
        return product.equation.primitive.bind(*operands, **product.equation.params)

    return jax.vmap(one)(vectors)


def in_turn(body: Body, wanted: Any, stacks: Values, values: Values, backward: bool = False) -> Any:
    """A value of a body in all turns, a row for each, computed as the loop does it."""
    index = body.carried[body.index]
    equations = body.between([wanted], [*stacks, index])

    def turn(k: Any, found: Any) -> Any:
        known = {**values, **{name: lax.dynamic_index_in_dim(x, k, keepdims=False) for name, x in stacks.items()}}
        known[index] = lax.convert_element_type(body.start + (body.turns - 1 - k if backward else k), index.aval.dtype)
        followed(equations, known)
        return lax.dynamic_update_index_in_dim(found, value_of(wanted, known), k, 0)

    start = jnp.zeros((body.turns, *wanted.aval.shape), wanted.aval.dtype)
    return lax.fori_loop(0, body.turns, turn, start)


def all_finite(arrays: Sequence[Any]) -> Any:
    """Whether no element of arrays is infinite or NaN."""
    # Nothing but zero comes of finite numbers; of the others, NaN.
    return sum(jnp.sum(x * jnp.zeros((), x.dtype)) for x in arrays) == 0
