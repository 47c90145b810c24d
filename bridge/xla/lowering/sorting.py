"""Sorting, and the distinct elements in NumPy's named tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.calls import common, known
from bridge.xla.lowering.comparing import is_complex
from bridge.xla.lowering.register import entry


def _order(a: Any, axis: int, descending: Any = None) -> Any:
    """The places of complex numbers in NumPy's order: real parts first, and behind all others what holds a NaN.

    Of these, those with a real part that is a number come first, in its order; then those with an imaginary part.
    """
    kind, *parts = _keys(a)
    keys = [kind, *((-part for part in parts) if descending else parts)]
    places = lax.broadcasted_iota(np.int64, a.shape, axis)
    return lax.sort((*keys, places), dimension=axis, is_stable=True, num_keys=3)[-1]


def _keys(a: Any) -> list[Any]:
    """Real numbers by which complex ones are sorted."""
    real, imaginary = jnp.real(a), jnp.imag(a)
    kind = 2 * jnp.isnan(real).astype(np.int8) + jnp.isnan(imaginary).astype(np.int8)
    keys = [kind, *(jnp.where(jnp.isnan(part), 0, part) for part in (real, imaginary))]
    # Zeros of both signs are equal to NumPy, and to XLA's sort they are not.
    return [jnp.where(key == 0, jnp.zeros_like(key), key) for key in keys]


def _ranks(a: Any, axis: int) -> Any:
    """Integers in the same order, equal where complex numbers are."""
    order = _order(a, axis)
    differ: Any = False
    for key in _keys(a):
        one = jnp.take_along_axis(key, order, axis)
        differ = differ | (lax.slice_in_dim(one, 1, None, axis=axis) != lax.slice_in_dim(one, 0, -1, axis=axis))
    first = jnp.zeros_like(lax.slice_in_dim(order, 0, min(1, order.shape[axis]), axis=axis))
    ranks = jnp.cumsum(jnp.concatenate([first, differ.astype(order.dtype)], axis), axis)
    return jnp.take_along_axis(ranks, jnp.argsort(order, axis=axis), axis)


@entry("np.searchsorted")
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """Return where values belong in a sorted array, complex ones in NumPy's order."""
    if not is_complex(a, v):
        return jnp.searchsorted(a, v, side=side, sorter=sorter)
    kind = common(a, v)
    a, v = jnp.asarray(a, kind), jnp.asarray(v, kind)
    ranks = _ranks(jnp.concatenate([a if sorter is None else a[sorter], jnp.reshape(v, -1)]), 0)
    return jnp.searchsorted(ranks[: a.size], jnp.reshape(ranks[a.size :], v.shape), side=side)


@entry("np.lexsort")
def lexsort(keys: Any, axis: int = -1) -> Any:
    """Return the places of sorted keys, complex ones in NumPy's order."""
    rows = [jnp.asarray(key) for key in keys]
    return jnp.lexsort([_ranks(one, axis % one.ndim) if is_complex(one) else one for one in rows], axis)


def _flat(a: Any, axis: int | None) -> tuple[Any, int]:
    """An array and the axis that is sorted, of all numbers in a row if there is none."""
    a = jnp.asarray(a)
    return (jnp.reshape(a, -1), 0) if axis is None else (a, axis % a.ndim)


@entry("np.sort")
def sort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, stable: Any = None, descending: Any = None
) -> Any:
    """Sort, complex numbers in NumPy's order."""
    if np.result_type(a).kind != "c" and not descending:
        return jnp.sort(a, axis=axis)
    a, axis = _flat(a, axis)
    return jnp.take_along_axis(a, lax.stop_gradient(argsort(a, axis, descending=descending)), axis)


@entry("np.argsort")
def argsort(
    a: Any, axis: int | None = -1, kind: Any = None, order: Any = None, stable: Any = None, descending: Any = None
) -> Any:
    """Return the places of sorted elements, complex ones in NumPy's order; descending, NaNs are last."""
    if np.result_type(a).kind == "c":
        return _order(*_flat(a, axis), descending)
    if descending:
        a = jnp.asarray(a)
        a = -a if a.dtype.kind == "f" else ~a
    return jnp.argsort(a, axis=axis)


@entry("np.partition")
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """Sort, which partitions at every `kth`; NumPy's order elsewhere is unspecified."""
    return sort(a, axis)


def _with_gradient(x: Any, values: Any) -> Any:
    """The distinct values of `x`, of which JAX knows no derivative: duplicates share alike, as in the rule book."""
    flat = known(jnp.reshape(x, -1))
    if flat is None or flat.dtype.kind not in "fc" or not isinstance(x, jax.core.Tracer):
        return values
    _, index, counts = np.unique(flat, return_inverse=True, return_counts=True)
    shared = jnp.zeros_like(values).at[index].add(jnp.reshape(x, -1) / counts[index])
    return lax.stop_gradient(values) + (shared - lax.stop_gradient(shared))


@entry("np.unique")
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False) -> Any:
    """Return the distinct elements; there is no rule along an axis."""
    found = jnp.unique(ar, return_index, return_inverse, return_counts)
    if not isinstance(found, tuple):
        return _with_gradient(ar, found)
    return (_with_gradient(ar, found[0]), *found[1:])


@entry("np.unique_values")
def unique_values(x: Any) -> Any:
    """Return distinct values, sorted."""
    return _with_gradient(x, jnp.unique(x))


@entry("np.union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    """Return the distinct values of two arrays."""
    return unique(jnp.concatenate([jnp.reshape(ar1, -1), jnp.reshape(ar2, -1)]))


def _unique(name: str) -> Callable[..., Any]:
    """Return distinct values in NumPy's named tuple."""

    def several(x: Any) -> Any:
        x = jnp.asarray(x)
        values, *rest = getattr(jnp, name)(x)
        return type(getattr(np, name)(np.zeros(1)))(_with_gradient(x, values), *rest)

    return several


for _name in ("unique_all", "unique_counts", "unique_inverse"):
    entry(f"np.{_name}")(_unique(_name))
