"""Statistics, histograms, and functions that are handed a function."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.errors import NoRuleError, RefusedError
from bridge.xla.lowering.calls import known, operand, weak_dtype
from bridge.xla.lowering.lower import has, lower
from bridge.xla.lowering.register import entry


@entry("np.real_if_close")
def real_if_close(a: Any, tol: float = 100) -> Any:
    """Complex numbers stay complex unless their values are known: the dtype of the result depends on them."""
    a = jnp.asarray(a)
    if a.dtype.kind != "c":
        return a
    if known(a) is None:
        raise RefusedError(
            "the dtype of np.real_if_close depends on values that are not known when XLA compiles it",
            remedy="use np.real",
        )
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return jnp.real(a) if bool(jnp.all(jnp.abs(jnp.imag(a)) < limit)) else a


@entry("np.corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Without the rounding beyond 1."""
    if not rowvar:
        x, y = jnp.transpose(x), None if y is None else jnp.transpose(y)
    covariance = jnp.cov(x, y)
    if not covariance.ndim:
        return covariance / covariance
    deviation = jnp.sqrt(jnp.real(jnp.diagonal(covariance)))
    found = covariance / deviation[:, None] / deviation
    if found.dtype.kind == "c":
        return jnp.clip(jnp.real(found), -1, 1) + 1j * jnp.clip(jnp.imag(found), -1, 1)
    return jnp.clip(found, -1, 1)


@entry("np.bincount")
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    """As long as the largest index, which must be known."""
    places = known(x)
    if places is None:
        return jnp.bincount(x, weights, minlength)
    length = max(int(places.max(initial=-1)) + 1, minlength)
    if weights is None:
        return jnp.bincount(x, length=length)
    return jnp.zeros(length, np.float64).at[places].add(jnp.asarray(weights, np.float64))


@entry("np.piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function is computed everywhere; where several conditions hold, the last one counts."""
    if isinstance(condlist, (list, tuple)):
        single = not condlist or (not isinstance(condlist[0], list) and not jnp.ndim(condlist[0]) and jnp.ndim(x) > 0)
    else:
        single = jnp.ndim(condlist) <= jnp.ndim(x)
    condlist = [condlist] if single else list(condlist)
    conditions = [jnp.asarray(operand(c), bool) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~sum(conditions[1:], conditions[0]))
    x = jnp.asarray(x)
    result = jnp.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        value = _lowered(function)(x, *args, **kw) if callable(function) else function
        result = jnp.where(condition, jnp.asarray(value, x.dtype), result)
    return result


@entry("np.apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """Only functions that have a lowering can be handed over."""
    return jnp.apply_along_axis(_lowered(func1d), axis, jnp.asarray(arr), *args, **kwargs)


@entry("np.apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """Likewise, one axis or several."""
    return jnp.apply_over_axes(_lowered(func), jnp.asarray(a), [int(k) for k in np.atleast_1d(axes)])


def _lowered(function: Any) -> Any:
    """A function that the user hands over, computed by JAX; one that is not NumPy's cannot be."""
    if not has(function):
        raise NoRuleError(
            f"JAX cannot run {getattr(function, '__name__', function)}, which was handed to a NumPy function",
            remedy='write it as a loop over slices, or use engine="native"',
        )
    return lambda *args, **kwargs: lower(function, args, kwargs)


@entry("np.histogram")
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """Densities in double precision, edges in that of the edges that are given, else of the data."""
    counts, edges = jnp.histogram(a, bins, range, weights, density)
    if jnp.ndim(bins):
        edges = jnp.asarray(bins)
    if density:
        return counts.astype(np.float64), edges
    return counts.astype(np.intp if weights is None else np.dtype(weak_dtype(weights))), edges
