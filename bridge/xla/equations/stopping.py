"""Loops that count, and compute much in each turn, look whether a signal has come (`interrupts`).

They are found last, because other equations are found by loops that do nothing but count. What computes little is not
made slower by it, and loops inside of others leave it to these.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from bridge.xla.equations.bodies import loops, position_of_index
from bridge.xla.equations.graph import Graph, inside, size_of
from bridge.xla.interrupts import is_unset
from bridge.xla.tracing.kernels import LOOP, opened

_MUCH = 1024
"""Elements that a turn computes at least which looks."""
_IN_PLACE = frozenset({"dynamic_update_slice", "scatter", "scatter-add"})


def stopping(jaxpr: Any, stop: Any) -> Any | None:
    """The program with outermost loops that look at `stop`, one of its inputs; None if there are none."""
    found = dict(_found(jaxpr, stop))
    if not found:
        return None
    return jaxpr.replace(eqns=[found.get(number, one) for number, one in enumerate(jaxpr.eqns)])


def _found(jaxpr: Any, stop: Any) -> Iterator[tuple[int, Any]]:
    for number, equation in loops(Graph(jaxpr)):
        position = position_of_index(equation)
        if position is not None and _computes_much(equation.params["body"].jaxpr):
            yield number, _looking(equation, position, stop)


def _looking(equation: Any, position: int, stop: Any) -> Any:
    cond, (outside, around) = equation.params["cond"], equation.params["counts"]

    def wanted(stop: Any, *operands: Any) -> Any:
        return jaxpr_as_fun(cond)(*operands)[0] & is_unset(stop, operands[outside + position])

    avals = [jax.ShapeDtypeStruct(one.aval.shape, one.aval.dtype) for one in (stop, *cond.jaxpr.invars)]
    made = ClosedJaxpr(opened(jax.make_jaxpr(wanted)(*avals)), ())
    params = {**equation.params, "cond": made, "counts": (outside + 1, around)}
    return equation.replace(invars=[stop, *equation.invars], params=params)


def _computes_much(jaxpr: Any) -> bool:
    for one in jaxpr.eqns:
        if one.primitive is LOOP or one.primitive.name == "while":
            return True
        computed = one.invars[1:2] if one.primitive.name in _IN_PLACE else one.outvars
        if any(size_of(atom) >= _MUCH for atom in computed) or any(map(_computes_much, inside(one))):
            return True
    return False
