"""NaNs, infinities and zeros as NumPy has them, where XLA would compute something else.

XLA's processor backend computes what is large by kernels of a library (YNNPACK) in which the larger of NaN and 1 may
be 1: a reduction of a few thousand elements, or a maximum whose results are summed, loses every NaN of its operands.
So the larger of two is chosen by a comparison, and a reduction of many tells NaNs by a sum of absolute values, which is
NaN where one of them is, and nowhere else: they cannot cancel.

XLA also simplifies as if numbers were real: `mask * x` is 0 where x is NaN, `(x + 1e16) - 1e16` is x, and `x * a * b`
is NaN where a * b overflows. A program that is compiled by itself is compiled without (`as_written`), at no cost that
was found: what else the simplifier is needed for, inner products and padding by negative lengths, is done here. What
runs inside of another program of JAX's is compiled with it, so that masks are made of a choice there.
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


def as_written(function: Callable[..., Any]) -> Any:
    """A function jitted by itself, of which XLA computes the operations that it has, not others.

    Elsewhere than on processors XLA's simplifier does more than that, and what is compiled needs it.
    """
    options = {"xla_disable_hlo_passes": "algsimp"} if jax.default_backend() == "cpu" else None
    return jax.jit(function, compiler_options=options)


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
    for number, equation in enumerate(jaxpr.eqns):
        found = _FOUND.get(equation.primitive.name)
        made = found and found(equation)
        if made:
            yield number, Replacement(partial(made, equation), tuple(equation.invars))


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


def _is_inner(equation: Any) -> bool:
    """Whether every axis of both operands is summed, or is one of a batch."""
    (summed, _), (batch, _) = equation.params["dimension_numbers"]
    left, right = (atom.aval for atom in equation.invars)
    dtype = equation.outvars[0].aval.dtype
    return (
        len(summed) + len(batch) == left.ndim == right.ndim
        and len(summed) > 0
        and left.dtype == right.dtype == dtype
        and dtype.kind in "fc"
        and dtype.itemsize >= 4
    )


def _summed(equation: Any, left: Any, right: Any) -> list[Any]:
    """An inner product as a sum: XLA's products add one number after the other, which is slow, and wrong in float32."""
    summed, batch = equation.params["dimension_numbers"]
    left, right = (lax.transpose(x, (*batch[k], *summed[k])) for k, x in enumerate((left, right)))
    return [jnp.sum(lax.mul(left, right), axis=tuple(range(len(batch[0]), left.ndim)))]


def _cuts(equation: Any) -> bool:
    return any(low < 0 or high < 0 for low, high, _ in equation.params["padding_config"])


def _padded_then_cut(equation: Any, x: Any, value: Any) -> list[Any]:
    """Padding by negative lengths, which nothing but XLA's simplifier compiles, as a slice of what is padded."""
    config = equation.params["padding_config"]
    longer = lax.pad(x, value, [(max(low, 0), max(high, 0), inner) for low, high, inner in config])
    starts = [max(-low, 0) for low, _, _ in config]
    ends = [length - max(-high, 0) for length, (_, high, _) in zip(longer.shape, config, strict=True)]
    return [lax.slice(longer, starts, ends)]


_FOUND: dict[str, Callable[[Any], Any]] = {
    "max": lambda one: _is_float(one) and partial(_of_two, lax.ge),
    "min": lambda one: _is_float(one) and partial(_of_two, lax.le),
    "reduce_max": lambda one: _is_large(one) and _of_all,
    "reduce_min": lambda one: _is_large(one) and _of_all,
    "dot_general": lambda one: _is_inner(one) and _summed,
    "pad": lambda one: _cuts(one) and _padded_then_cut,
    "convert_element_type": lambda one: _is_mask_as_number(one) and _number,
}
"""By primitives: what computes the results of an equation from itself and its operands, false if XLA's are right."""
