"""Functions that choose elements, by conditions or by indices, and functions that are handed a function."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.errors import NoRuleError, RefusedError
from bridge.xla.lowering.calls import operand, weak_dtype
from bridge.xla.lowering.register import common, entry, known


@entry("np.where")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """One dtype for both choices, in which Python numbers are weak."""
    if x is None and y is None:
        return jnp.nonzero(condition)
    x, y = operand(x), operand(y)
    kind = common(x, y)
    return jnp.where(jnp.asarray(condition, bool), jnp.asarray(x, kind), jnp.asarray(y, kind))


@entry("np.clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    """By `maximum` and `minimum`, which share the derivative at a bound."""
    low, high = a_min if min is None else min, a_max if max is None else max
    bounds = [x for x in (low, high) if x is not None]
    kind = common(a, *bounds)
    a = jnp.asarray(a, kind)
    if low is not None:
        a = jnp.maximum(a, jnp.asarray(low, kind))
    return a if high is None else jnp.minimum(a, jnp.asarray(high, kind))


@entry("np.take")
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """An index out of range in mode "raise" gives NaN: raising is the caller's."""
    return jnp.take(a, jnp.asarray(indices, np.intp), axis, mode=None if mode == "raise" else mode)


@entry("np.take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    """Of lists too."""
    return jnp.take_along_axis(jnp.asarray(arr), jnp.asarray(indices), axis)


@entry("np.choose")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """An index out of range in mode "raise" gives NaN; integers have none, so that their mode must be another."""
    parts = list(choices)
    kind = common(*parts)
    parts = [jnp.asarray(part, kind) for part in parts]
    a = jnp.asarray(a)
    if mode != "raise":
        return jnp.choose(a, parts, mode=mode)
    chosen = jnp.choose(a, parts, mode="clip")
    if kind.kind in "fc":
        return jnp.where((a >= 0) & (a < len(parts)), chosen, jnp.nan)
    if known(a) is None:
        raise RefusedError(
            "np.choose of integers cannot raise for an index out of range once it is compiled",
            remedy='give mode="clip" or mode="wrap"',
        )
    return jnp.choose(a, parts, mode="raise")


@entry("np.compress")
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    """A condition that is known is a gather."""
    chosen = known(condition)
    if chosen is None:
        return jnp.compress(condition, a, axis=axis)
    return jnp.take(jnp.asarray(a), np.flatnonzero(chosen), axis)


@entry("np.extract")
def extract(condition: Any, arr: Any) -> Any:
    """Likewise."""
    chosen = known(condition)
    if chosen is None:
        return jnp.extract(condition, arr)
    return jnp.take(jnp.ravel(arr), np.flatnonzero(chosen))


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


@entry("np.select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds."""
    kind = common(*choicelist, default)
    result = jnp.asarray(default, kind)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = jnp.where(condition, jnp.asarray(choice, kind), result)
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*condlist, *choicelist)), jnp.shape(default))
    return jnp.broadcast_to(result, shape)


@entry("np.tril")
def tril(m: Any, k: int = 0) -> Any:
    """Of a vector too, as NumPy: it stands for a matrix whose rows are equal."""
    return jnp.tril(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)


@entry("np.triu")
def triu(m: Any, k: int = 0) -> Any:
    """Likewise."""
    return jnp.triu(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)


@entry("np.partition")
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """The sorted array is partitioned at every `kth`; NumPy's order elsewhere is unspecified, and another one."""
    return jnp.sort(a, axis=axis)


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
    from bridge.xla.lowering.lower import has, lower

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
