"""Maxima and minima that keep NaNs, as NumPy's do.

XLA's processor backend computes what is large by kernels of a library (YNNPACK) in which the larger of NaN and 1 may
be 1: a reduction of a few thousand elements, or a maximum whose results are summed, loses every NaN of its operands.
So the larger of two is chosen by a comparison, and a reduction of many tells NaNs by a sum of absolute values, which is
NaN where one of them is, and nowhere else: they cannot cancel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.extend.core import Jaxpr as Equations

from bridge.xla.equations.graph import Replacement, replaced, size_of

MANY = 1024
"""Elements of a reduction from which on the library may compute it; it did from 4,096 on when this was measured."""


def keeping_nans(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX whose maxima and minima are NaN where an operand is."""

    def run(*args: Any) -> Any:
        made, kind = jax.make_jaxpr(function, return_shape=True)(*args)
        results = jaxpr_as_fun(ClosedJaxpr(nan_kept(made.jaxpr), made.consts))(*jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(kind), results)

    return run


def nan_kept(jaxpr: Any) -> Any:
    """Equations whose maxima and minima keep NaNs, those of all loops, branches and functions among them, too."""
    inner = [(k, params) for k, one in enumerate(jaxpr.eqns) if (params := _changed(one.params)) is not None]
    found = dict(_found(jaxpr))
    if not inner and not found:
        return jaxpr
    equations = list(jaxpr.eqns)
    for k, params in inner:
        equations[k] = equations[k].replace(params=params)
    changed, constants = replaced(jaxpr.replace(eqns=equations), found)
    assert not constants
    return changed


def _changed(params: Mapping[str, Any]) -> dict[str, Any] | None:
    """The parameters of an equation with other equations in them; None if they stay as they are."""
    changed = {name: _kept_in(one) for name, one in params.items()}
    return None if all(changed[name] is one for name, one in params.items()) else changed


def _kept_in(parameter: Any) -> Any:
    if isinstance(parameter, ClosedJaxpr):
        kept = nan_kept(parameter.jaxpr)
        return parameter if kept is parameter.jaxpr else ClosedJaxpr(kept, parameter.consts)
    if isinstance(parameter, Equations):
        return nan_kept(parameter)
    if type(parameter) is tuple:
        several = tuple(map(_kept_in, parameter))
        return parameter if all(a is b for a, b in zip(several, parameter, strict=True)) else several
    return parameter


def _found(jaxpr: Any) -> Iterator[tuple[int, Replacement]]:
    for number, equation in enumerate(jaxpr.eqns):
        made = _MADE.get(equation.primitive.name)
        if made is not None and jnp.issubdtype(equation.outvars[0].aval.dtype, np.floating):
            if equation.primitive.name in _OF_ALL and size_of(equation.invars[0]) < MANY:
                continue
            yield number, Replacement(partial(made, equation), tuple(equation.invars))


def _of_two(is_first: Callable[[Any, Any], Any], equation: Any, *operands: Any) -> list[Any]:
    a, b = (jnp.broadcast_to(one, equation.outvars[0].aval.shape) for one in operands)
    return [lax.select(is_first(a, b) | lax.ne(a, a), a, b)]


def _of_all(equation: Any, x: Any) -> list[Any]:
    extreme = equation.primitive.bind(x, **equation.params)
    is_nan = jnp.isnan(jnp.sum(lax.abs(x), axis=equation.params["axes"]))
    return [lax.select(is_nan, lax.full_like(extreme, np.nan), extreme)]


_OF_ALL = ("reduce_max", "reduce_min")
_MADE = {"max": partial(_of_two, lax.ge), "min": partial(_of_two, lax.le), **dict.fromkeys(_OF_ALL, _of_all)}
