"""NaNs, infinities and zeros as NumPy has them, where XLA would compute something else.

XLA's processor backend computes what is large by kernels of a library (YNNPACK) in which the larger of NaN and 1 may
be 1: a reduction of a few thousand elements, or a maximum whose results are summed, loses every NaN of its operands.
So the larger of two is chosen by a comparison, and a reduction of many tells NaNs by a sum of absolute values, which is
NaN where one of them is, and nowhere else: they cannot cancel.

XLA also simplifies as if numbers were real. A product with a mask becomes a choice, so that a mask hides a NaN; masks
are made of a choice here, which XLA leaves alone. The logarithm of a power becomes `y * log(abs(x))`, where NumPy has
NaN for a negative one. To leave its simplifier out altogether
(`xla_disable_hlo_passes=algsimp`) would mend more of that at no cost, but other passes rely on it: the gradient of
NPBench's resnet was another one, without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, Literal, jaxpr_as_fun
from jax.extend.core import Jaxpr as Equations

from bridge.xla.equations.graph import Replacement, replaced, size_of

MANY = 1024
"""Elements of a reduction from which on the library may compute it; it did from 4,096 on when this was measured."""


def keeping(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX that computes with special values as NumPy does."""

    def run(*args: Any) -> Any:
        made, kind = jax.make_jaxpr(function, return_shape=True)(*args)
        results = jaxpr_as_fun(ClosedJaxpr(special_values_kept(made.jaxpr), made.consts))(*jax.tree.leaves(args))
        return jax.tree.unflatten(jax.tree.structure(kind), results)

    return run


def special_values_kept(jaxpr: Any) -> Any:
    """Equations that keep special values, those of all loops, branches and functions among them, too."""
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
        kept = special_values_kept(parameter.jaxpr)
        return parameter if kept is parameter.jaxpr else ClosedJaxpr(kept, parameter.consts)
    if isinstance(parameter, Equations):
        return special_values_kept(parameter)
    if type(parameter) is tuple:
        several = tuple(map(_kept_in, parameter))
        return parameter if all(a is b for a, b in zip(several, parameter, strict=True)) else several
    return parameter


def _found(jaxpr: Any) -> Iterator[tuple[int, Replacement]]:
    powers = {one.outvars[0] for one in jaxpr.eqns if one.primitive.name == "pow"}
    for number, equation in enumerate(jaxpr.eqns):
        found = _FOUND.get(equation.primitive.name)
        made = found and found(equation)
        if equation.primitive.name == "log" and _is_float(equation) and any(map(powers.__contains__, _names(equation))):
            made = _log_of_power
        if made:
            yield number, Replacement(partial(made, equation), tuple(equation.invars))


def _names(equation: Any) -> Iterator[Any]:
    return (atom for atom in equation.invars if not isinstance(atom, Literal))


def _is_float(equation: Any) -> bool:
    return bool(jnp.issubdtype(equation.outvars[0].aval.dtype, np.floating))


def _is_mask_as_number(equation: Any) -> bool:
    to = equation.outvars[0].aval.dtype
    return equation.invars[0].aval.dtype == np.bool_ and bool(jnp.issubdtype(to, np.inexact))


def _is_large(equation: Any) -> bool:
    return _is_float(equation) and size_of(equation.invars[0]) >= MANY and jax.default_backend() == "cpu"


def _number(equation: Any, mask: Any) -> list[Any]:
    one = lax.full_like(mask, 1, equation.outvars[0].aval.dtype)
    return [lax.select(mask, one, lax.full_like(one, 0))]


def _of_two(is_first: Callable[[Any, Any], Any], equation: Any, *operands: Any) -> list[Any]:
    a, b = (jnp.broadcast_to(one, equation.outvars[0].aval.shape) for one in operands)
    return [lax.select(is_first(a, b) | lax.ne(a, a), a, b)]


def _of_all(equation: Any, x: Any) -> list[Any]:
    extreme = equation.primitive.bind(x, **equation.params)
    is_nan = jnp.isnan(jnp.sum(lax.abs(x), axis=equation.params["axes"]))
    return [lax.select(is_nan, lax.full_like(extreme, np.nan), extreme)]


def _log_of_power(equation: Any, power: Any) -> list[Any]:
    """The logarithm of a power as it is, which XLA makes a multiple of that of the base, negative or not."""
    known = lax.select(lax.ne(power, power), lax.full_like(power, np.nan), power)
    return [equation.primitive.bind(known, **equation.params)]


_FOUND: dict[str, Callable[[Any], Any]] = {
    "max": lambda one: _is_float(one) and partial(_of_two, lax.ge),
    "min": lambda one: _is_float(one) and partial(_of_two, lax.le),
    "reduce_max": lambda one: _is_large(one) and _of_all,
    "reduce_min": lambda one: _is_large(one) and _of_all,
    "convert_element_type": lambda one: _is_mask_as_number(one) and _number,
}
"""By primitives: what computes the results of an equation from itself and its operands, false if XLA's are right."""
