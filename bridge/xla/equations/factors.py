"""Arrays that are products of smaller ones, as outer products are: of which, and along which axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.bodies import Body, stacked
from bridge.xla.equations.graph import Values, followed, size_of, value_of
from bridge.xla.equations.products import Mask, all_finite, either, masked, spread_from, unmasked

_SMALLER = 4
"""How many times fewer elements the factors must have, all together."""
_LABELS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Factors:
    """Small arrays, their axes among those of the whole (or beyond them, where these are summed), masks, and a sign."""

    whole: Any
    parts: list[tuple[Any, tuple[int | None, ...]]] = field(default_factory=list)
    masks: list[Mask] = field(default_factory=list)
    sign: int = 1
    beyond: Any = field(default_factory=lambda: count(len(_LABELS) // 2))

    @property
    def seeds(self) -> list[Any]:
        return [atom for atom, _ in self.parts if not isinstance(atom, Literal)]


def factors_of(body: Body, whole: Any) -> Factors | None:
    """The factors of an array that a body computes; None if it does not consist of much smaller ones."""
    found = Factors(whole)
    rank = len(whole.aval.shape)
    if rank > len(_LABELS) // 2 or not _take_apart(body, found, whole, tuple(range(rank))):
        return None
    small = _SMALLER * sum(map(size_of, found.seeds)) <= size_of(whole)
    plain = all(body.is_indexed(mask.mask) and _holder(found, mask) is not None for mask in found.masks)
    return found if small and plain and len(found.parts) > 1 else None


def _take_apart(body: Body, found: Factors, atom: Any, axes: tuple[int | None, ...]) -> bool:
    """Add the factors of an array, whose axes are these of the whole."""
    atom, inner = spread_from(body, atom)
    axes = tuple(None if axis is None else axes[axis] for axis in inner)
    if _SMALLER * size_of(atom) <= size_of(found.whole):
        found.parts.append((atom, axes))
        return True
    kept, mask = unmasked(body, atom)
    if mask is not None:
        of_whole = tuple(None if axis is None else axes[axis] for axis in mask.axes)
        found.masks.append(Mask(mask.mask, of_whole, mask.is_kept))
        return _take_apart(body, found, kept, axes)
    maker = body.graph.maker(atom, "mul", "neg", "dot_general")
    if maker is None or maker.outvars[0].aval.dtype != found.whole.aval.dtype:
        return False
    if maker.primitive.name == "dot_general":
        return _take_product_apart(body, found, maker, axes)
    if maker.primitive.name == "neg":
        found.sign = -found.sign
    # Operands of a product have one shape.
    return all(_take_apart(body, found, one, axes) for one in maker.invars)


def _take_product_apart(body: Body, found: Factors, maker: Any, axes: tuple[int | None, ...]) -> bool:
    summed, batch = maker.params["dimension_numbers"]
    if any(batch) or any(one.aval.dtype != found.whole.aval.dtype for one in maker.invars):
        return False
    rest = iter(axes)
    labels = [next(found.beyond) for _ in summed[0]]
    for one, contracted in zip(maker.invars, summed, strict=True):
        own: list[int | None] = []
        for k in range(len(one.aval.shape)):
            own.append(labels[list(contracted).index(k)] if k in contracted else next(rest))
        if _SMALLER * size_of(one) > size_of(found.whole):
            return False
        found.parts.append((one, tuple(own)))
    return max(labels, default=0) < len(_LABELS)


def _holder(found: Factors, mask: Mask) -> int | None:
    """The number of a factor that has all axes of a mask."""
    wanted = {axis for axis in mask.axes if axis is not None}
    return next((k for k, (_, axes) in enumerate(found.parts) if wanted <= set(axes)), None)


def total(body: Body, found: Factors, stacks: Values, values: Values) -> Any:
    """The sum of an array over all turns, as one product of its factors."""
    names = [*[atom for atom, _ in found.parts], *[mask.mask for mask in found.masks]]
    rows = stacked(body, names, stacks, values)
    parts = rows[: len(found.parts)]

    chosen = list(parts)
    for mask, where in zip(found.masks, rows[len(parts) :], strict=True):
        k: Any = _holder(found, mask)
        own = found.parts[k][1]
        axes = [None if axis is None else own.index(axis) for axis in mask.axes]
        chosen[k] = masked(chosen[k], where, axes, mask.is_kept)
    at_once = _summed(found, chosen)
    if not found.masks:
        return at_once
    return either(all_finite(parts), lambda: at_once, lambda: _one_by_one(body, found, parts, values))


def _summed(found: Factors, stacks: Sequence[Any]) -> Any:
    shape = found.whole.aval.shape
    names, operands = [], []
    for stack, (_, axes) in zip(stacks, found.parts, strict=True):
        long = [k for k, axis in enumerate(axes) if axis is not None]
        operands.append(lax.reshape(stack, (stack.shape[0], *[stack.shape[1 + k] for k in long])))
        names.append("Z" + "".join(_LABELS[axes[k]] for k in long))  # type: ignore[index]
    present = [k for k in range(len(shape)) if any(_LABELS[k] in name for name in names)]
    text = ",".join(names) + "->" + "".join(_LABELS[k] for k in present)
    result = jnp.einsum(text, *operands, precision=lax.Precision.HIGHEST)
    return lax.broadcast_in_dim(result if found.sign > 0 else -result, shape, present)


def _one_by_one(body: Body, found: Factors, parts: Sequence[Any], values: Values) -> Any:
    """The same sum as the loop computes it: where factors are not finite, a mask is more than a product with zero."""
    index = body.carried[body.index]
    equations = body.between([found.whole], [*found.seeds, index])

    def turn(k: Any, before: Any) -> Any:
        known = {**values, index: lax.convert_element_type(body.start + k, index.aval.dtype)}
        for (atom, _), x in zip(found.parts, parts, strict=True):
            if not isinstance(atom, Literal):
                known[atom] = lax.dynamic_index_in_dim(x, k, keepdims=False)
        followed(equations, known)
        return before + value_of(found.whole, known)

    return lax.fori_loop(0, body.turns, turn, jnp.zeros(found.whole.aval.shape, found.whole.aval.dtype))
