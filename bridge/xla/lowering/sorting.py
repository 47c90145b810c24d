"""Sorting, and the distinct elements in NumPy's named tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.xla.lowering.calls import known
from bridge.xla.lowering.register import entry


@entry("np.partition")
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """The sorted array is partitioned at every `kth`; NumPy's order elsewhere is unspecified, and another one."""
    return jnp.sort(a, axis=axis)


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
    """Without axes, which have no rule."""
    found = jnp.unique(ar, return_index, return_inverse, return_counts)
    if not isinstance(found, tuple):
        return _with_gradient(ar, found)
    return (_with_gradient(ar, found[0]), *found[1:])


@entry("np.unique_values")
def unique_values(x: Any) -> Any:
    """Sorted."""
    return _with_gradient(x, jnp.unique(x))


@entry("np.union1d")
def union1d(ar1: Any, ar2: Any) -> Any:
    """The values of both together."""
    return unique(jnp.concatenate([jnp.reshape(ar1, -1), jnp.reshape(ar2, -1)]))


def _unique(name: str) -> Callable[..., Any]:
    """With NumPy's named tuple."""

    def several(x: Any) -> Any:
        x = jnp.asarray(x)
        values, *rest = getattr(jnp, name)(x)
        return type(getattr(np, name)(np.zeros(1)))(_with_gradient(x, values), *rest)

    return several


for _name in ("unique_all", "unique_counts", "unique_inverse"):
    entry(f"np.{_name}")(_unique(_name))
