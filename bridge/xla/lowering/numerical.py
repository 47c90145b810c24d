"""Statistics, histograms, slopes, polynomials, and functions that take a function."""

from __future__ import annotations

import operator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.errors import NoRuleError, RefusedError
from bridge.xla.lowering.calls import known, operand, weak_dtype, weak_for_result_type
from bridge.xla.lowering.lower import has, lower
from bridge.xla.lowering.register import entry


@entry("np.real_if_close")
def real_if_close(a: Any, tol: float = 100) -> Any:
    """Return complex numbers as they are unless their values are known: the dtype of the result depends on them."""
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
    """Return correlations without the rounding beyond 1."""
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
    """Count integers; the largest one, which must be known, is the length of the result."""
    places = known(x)
    if places is None:
        return jnp.bincount(x, weights, minlength)
    length = max(int(places.max(initial=-1)) + 1, minlength)
    if weights is None:
        return jnp.bincount(x, length=length)
    return jnp.zeros(length, np.float64).at[places].add(jnp.asarray(weights, np.float64))


@entry("np.piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Compute each function everywhere; where several conditions hold, the last one counts."""
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
    """Apply a function along an axis; it must have a lowering."""
    return jnp.apply_along_axis(_lowered(func1d), axis, jnp.asarray(arr), *args, **kwargs)


@entry("np.apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    """Apply a function over one axis after the other; it must have a lowering."""
    return jnp.apply_over_axes(_lowered(func), jnp.asarray(a), [int(k) for k in np.atleast_1d(axes)])


def _lowered(function: Any) -> Any:
    """A function that the user hands over, computed by JAX; one that is not NumPy's cannot be."""
    if not has(function):
        raise NoRuleError(
            f"JAX cannot run {getattr(function, '__name__', function)}, which was handed to a NumPy function",
            remedy='write it as a loop over slices, or use engine="native"',
        )
    return lambda *args, **kwargs: lower(function, args, kwargs)


@entry("np.histogram", raw=True)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: bool = False, weights: Any = None) -> Any:
    """Count values in bins: densities in double precision, edges in the precision of given edges, else of the data."""
    a = jnp.ravel(jnp.asarray(a))
    edges = jnp.asarray(bins) if jnp.ndim(bins) else _equal_edges(a, operator.index(bins), range)
    last = edges.shape[0] - 1
    inside = (a >= edges[0]) & (a <= edges[last])
    if jnp.ndim(bins):
        found = jnp.clip(jnp.searchsorted(edges, a, side="right"), 1, last) - 1
    else:
        found = _bin_of_equal_ones(jnp.where(inside, a, edges[0]), edges, last)
    if weights is None:
        counts = jnp.zeros(last, np.int32).at[found].add(inside)
    else:
        added = jnp.where(inside, jnp.ravel(jnp.asarray(weights)), 0)
        dtype = jnp.promote_types(added.dtype, jnp.result_type(a.dtype, np.float32))
        counts = jnp.zeros(last, dtype).at[found].add(added)
    if density:
        return (counts / jnp.diff(edges) / counts.sum()).astype(np.float64), edges
    return counts.astype(np.intp if weights is None else np.dtype(weak_dtype(weights))), edges


def _equal_edges(a: Any, count: int, between: Any) -> Any:
    """Return edges to the last bit as NumPy computes them, because data may lie on one."""
    if between is None:
        between = (a.min(), a.max()) if a.size else (0.0, 1.0)
    first, last = between
    kind = np.result_type(a.dtype, *map(weak_for_result_type, (first, last)))
    first, last = (jnp.asarray(x, np.result_type(jnp.asarray(x).dtype, np.float16)) for x in (first, last))
    apart = jnp.where(first == last, jnp.asarray(0.5, first.dtype), 0)
    first, last = first - apart, last + apart
    edges = (first + _rounded_product(jnp.arange(count + 1), (last - first) / count)).at[count].set(last)
    return edges.astype(kind if kind.kind == "f" else np.result_type(kind, np.float64))


def _rounded_product(k: Any, step: Any) -> Any:
    """`k * step` for integers k below 2**26, rounded before anything is added to it.

    XLA makes one operation of a product and a sum, which rounds once. Both halves of the step have exact products.
    """
    if step.dtype != np.float64:
        return (k.astype(np.float64) * step.astype(np.float64)).astype(step.dtype)
    bits = lax.bitcast_convert_type(step, np.int64)
    high = lax.bitcast_convert_type(bits & ~((1 << 27) - 1), np.float64)
    return k * high + k * (step - high)


def _bin_of_equal_ones(a: Any, edges: Any, count: int) -> Any:
    """The number of the bin that each element lies in; division says which, up to rounding, and the edges decide.

    JAX's own way is a binary search, which takes the memory of four arrays like the data, and more time.
    """
    found = jnp.minimum(((a - edges[0]) / (edges[count] - edges[0]) * count).astype(np.int32), count - 1)
    found = found - (a < edges[found])
    return found + ((a >= edges[found + 1]) & (found < count - 1))


@entry("np.gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return slopes, also at uneven spacings, which jax.numpy lacks: differences weighted by both spacings."""
    axes = tuple(range(f.ndim)) if axis is None else tuple(np.atleast_1d(axis) % f.ndim)
    steps = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    found = tuple(_slope(f, operand(step), k, edge_order) for step, k in zip(steps, axes, strict=True))
    return found[0] if len(axes) == 1 else found


def _slope(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    n = f.shape[axis]
    f = jnp.moveaxis(f, axis, 0)
    h = jnp.diff(jnp.asarray(step)) if jnp.ndim(step) else jnp.full(n - 1, step)
    h = jnp.reshape(h, (n - 1,) + (1,) * (f.ndim - 1)).astype(jnp.real(f).dtype)
    rise = jnp.diff(f, axis=0) / h
    left, right = h[:-1], h[1:]
    middle = (right * rise[:-1] + left * rise[1:]) / (left + right)
    if edge_order == 1:
        first, last = rise[:1], rise[-1:]
    else:
        first = rise[:1] - h[:1] * (rise[1:2] - rise[:1]) / (h[:1] + h[1:2])
        last = rise[-1:] + h[-1:] * (rise[-1:] - rise[-2:-1]) / (h[-1:] + h[-2:-1])
    return jnp.moveaxis(jnp.concatenate([first, middle, last]), 0, axis)


def _beside_integers(x: Any) -> Any:
    """An array in which single precision has become double."""
    return jnp.asarray(x, np.result_type(jnp.asarray(x).dtype, np.int64))


@entry("np.polyder")
def polyder(p: Any, m: int = 1) -> Any:
    """Return a derivative of a polynomial; the zeroth keeps its dtype."""
    return jnp.polyder(_beside_integers(p) if m else p, m)


@entry("np.polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """Return an integral of a polynomial; the zeroth keeps its dtype."""
    return jnp.polyint(_beside_integers(p) if m else p, m, k)


@entry("np.vander")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Return powers by products with integers."""
    return jnp.vander(_beside_integers(x), N, increasing)
