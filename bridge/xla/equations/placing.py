"""Writes of most of an array: which ones are better done in place.

Such a write is an elementwise choice between what is written and what was there (`put_most`), which XLA fuses with
what is around it: a stencil that moves an array on by itself is one pass from one copy of it to another. What is not
computed from the array's own neighbours XLA writes in place, without reading what lies there, if it is told to.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
from jax import lax
from jax.extend.core import Literal

from bridge.xla.equations.graph import Graph, Replacement, is_call_of
from bridge.xla.regions.window_access import put_most

_MADE = frozenset({"bridge_loop", "cond", "dot_general", "dynamic_update_slice", "reduce_sum", "sort", "while"})
"""Operations whose results XLA makes before it goes on."""


def placings(graph: Graph) -> Iterator[tuple[int, Replacement]]:
    """Writes of a contiguous block of an array, of values that are not computed from the array's own neighbours."""
    if jax.device_count() > 1:
        return  # an array may lie on several devices: then an elementwise choice moves nothing, and such a write does
    for number, equation in enumerate(graph.jaxpr.eqns):
        if is_call_of(equation, put_most.__name__):
            starts = _starts(equation)
            if _is_contiguous(equation) and not _moves_itself(graph, equation, starts):
                yield number, _in_place(equation, starts)


def _starts(equation: Any) -> list[int]:
    (pad,) = [one for one in equation.params["jaxpr"].jaxpr.eqns if one.primitive.name == "pad"]
    return [low for low, _, _ in pad.params["padding_config"]]


def _is_contiguous(equation: Any) -> bool:
    """Whether the block is cut along the first axis alone, those of length 1 aside."""
    array, block = (atom.aval.shape for atom in equation.invars)
    cut = [k for k, (n, m) in enumerate(zip(array, block, strict=True)) if n != m]
    return all(block[k] == 1 for k in range(max(cut, default=0)))


def _moves_itself(graph: Graph, equation: Any, starts: list[int]) -> bool:
    """Whether elements of the array are needed for what is written elsewhere in it, also as it was before."""
    array, block = equation.invars
    before = set(_versions(graph, array))
    seen: set[Any] = set()
    waiting = [block]
    while waiting:
        atom = waiting.pop()
        if isinstance(atom, Literal) or atom in seen:
            continue
        seen.add(atom)
        maker = graph.maker(atom)
        if atom in before:
            return True
        if maker is None or maker.primitive.name in _MADE or is_call_of(maker, put_most.__name__):
            continue
        if not (_is_read_there(maker, block, starts) and maker.invars[0] is array):
            waiting += maker.invars
    return False


def _versions(graph: Graph, array: Any) -> Iterator[Any]:
    """The array, and what it was before it was written."""
    while not isinstance(array, Literal):
        yield array
        maker = graph.maker(array)
        if maker is None or not (
            maker.primitive.name == "dynamic_update_slice" or is_call_of(maker, put_most.__name__)
        ):
            return
        array = maker.invars[0]


def _is_read_there(equation: Any, block: Any, starts: list[int]) -> bool:
    """Whether it reads of an array what is written."""
    if equation.primitive.name != "slice" or equation.outvars[0].aval.shape != block.aval.shape:
        return False
    return list(equation.params["start_indices"]) == starts


def _in_place(equation: Any, starts: list[int]) -> Replacement:
    def written(array: Any, block: Any) -> list[Any]:
        return [lax.dynamic_update_slice(array, block, starts)]

    return Replacement(written, tuple(equation.invars))
