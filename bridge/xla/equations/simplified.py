"""What is made of a traced program before XLA gets it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.interpreters import partial_eval as pe

from bridge.xla.equations.graph import Graph, everywhere, replaced
from bridge.xla.equations.placing import placings
from bridge.xla.equations.scaling import scalings
from bridge.xla.equations.watches import watches
from bridge.xla.tracing.kernels import opened

_PASSES = (scalings, watches)


def simplified(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX without what its results do not need, and with cheaper equations where there are some.

    XLA drops what a loop computes in vain, as a log that nobody reads; of a kernel it cannot.
    """

    def run(*args: Any) -> Any:
        made, kind = jax.make_jaxpr(function, return_shape=True)(*args)
        jaxpr, values = _needed(opened(made), [*made.consts, *jax.tree.leaves(args)])
        jaxpr = everywhere(jaxpr, placings)
        for found in _PASSES:
            replacements = dict(found(Graph(jaxpr)))
            if replacements:
                jaxpr, constants = replaced(jaxpr, replacements)
                jaxpr, values = _needed(jaxpr, [*values, *constants])
        return jax.tree.unflatten(jax.tree.structure(kind), jaxpr_as_fun(ClosedJaxpr(jaxpr, ()))(*values))

    return run


def _needed(jaxpr: Any, values: list[Any]) -> tuple[Any, list[Any]]:
    """The part of a program that its results need, and the values that it takes."""
    kept, used = pe.dce_jaxpr(jaxpr, [True] * len(jaxpr.outvars))
    return kept, [x for x, is_used in zip(values, used, strict=True) if is_used]
