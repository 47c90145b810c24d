"""What is made of a traced program before XLA gets it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters import partial_eval as pe

from bridge.xla.equations.bodies import Known, loops, position_of_index
from bridge.xla.equations.fission import fissions
from bridge.xla.equations.graph import Graph, everywhere, inside, replaced, size_of
from bridge.xla.equations.placing import placings
from bridge.xla.equations.scaling import scalings
from bridge.xla.equations.special_values import special_values_kept
from bridge.xla.equations.watches import watches
from bridge.xla.interrupts import is_unset
from bridge.xla.tracing.kernels import LOOP, opened


def simplified(
    function: Callable[..., Any],
    is_bounded: bool = False,
    tells: Callable[[], bool] = lambda: False,
    polls: Callable[[], None] = lambda: None,
) -> Callable[..., Any]:
    """A function of JAX without what its results do not need, and with cheaper equations where there are some.

    The first of its arguments is false whenever it runs; the second is the flag of `interrupts`, and `polls()` is
    called if a loop is to look at that which does not do so by itself. If its memory `is_bounded`, loops keep no more
    than they say. If it `tells()`, which is asked when it has been traced, its last result are notes, and that the last
    of these is not zero says that its results are to be computed by a program with all long ways in it
    (`products.either`).

    XLA drops what a loop computes in vain, as a log that nobody reads; of a kernel it cannot.
    """

    def run(*args: Any) -> Any:
        made, kind = jax.make_jaxpr(function, return_shape=True)(*args)
        whole = opened(made)
        known = Known(whole.invars[len(made.consts)], _integers(whole.invars, made.consts))
        stop = whole.invars[len(made.consts) + 1]
        jaxpr, values = _needed(whole, [*made.consts, *jax.tree.leaves(args)], stop)
        jaxpr = everywhere(jaxpr, placings)
        split = () if is_bounded else (partial(fissions, known=known, tells=tells()),)
        for found in (*split, scalings, watches):
            replacements = dict(found(Graph(jaxpr)))
            if replacements:
                jaxpr, constants = replaced(jaxpr, replacements)
                jaxpr, values = _needed(jaxpr, [*values, *constants], stop)
        looking = stopping(jaxpr, stop)
        if looking is not None:
            polls()
        jaxpr, values = _needed(jaxpr if looking is None else looking, values)
        jaxpr = special_values_kept(jaxpr)
        leaves, structure = jax.tree.flatten(kind)
        results = jaxpr_as_fun(ClosedJaxpr(jaxpr, ()))(*values)
        results, failed = results[: len(leaves)], results[len(leaves) :]
        if failed:
            notes = results[-1]
            results[-1] = notes.at[-1].max(jnp.stack(failed).any().astype(notes.dtype))
        return jax.tree.unflatten(structure, results)

    return run


def _needed(jaxpr: Any, values: list[Any], stop: Any = None) -> tuple[Any, list[Any]]:
    """The part of a program that its results need, and the values that it takes; the input `stop` stays."""
    kept, used = pe.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars), [one is stop for one in jaxpr.invars])
    return kept, [x for x, is_used in zip(values, used, strict=True) if is_used]


def _integers(names: Sequence[Any], constants: Sequence[Any]) -> dict[Any, int]:
    """The constants of a program that are integers."""
    return {
        name: int(x)
        for name, x in zip(names, constants, strict=False)
        if not isinstance(x, jax.core.Tracer) and x.ndim == 0 and x.dtype.kind in "iu"
    }


_MUCH = 1024
"""The smallest number of elements per iteration for which the loop is analysed."""
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
