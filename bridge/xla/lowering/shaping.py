"""Shapes, containers and dtypes: functions that are spelled otherwise in jax.numpy, or return something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import operand, weak_dtype
from bridge.xla.lowering.register import TABLE, entry


@entry("np.copy")
def copy(a: Any) -> Any:
    """Arrays of JAX are never written."""
    return jnp.asarray(a)


@entry("np.astype")
def astype(x: Any, dtype: Any) -> Any:
    """The real part, where complex numbers become real."""
    x = jnp.asarray(x)
    return (jnp.real(x) if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb" else x).astype(dtype)


@entry("np.broadcast_arrays")
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """In a tuple."""
    return tuple(jnp.broadcast_arrays(*map(jnp.asarray, map(operand, args))))


@entry("np.meshgrid")
def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy", copy: bool = True) -> Any:
    """Also of numbers; in the container that NumPy has."""
    found = jnp.meshgrid(*(jnp.ravel(operand(x)) for x in xi), sparse=sparse, indexing=indexing)
    return list(found) if sparse and not copy else tuple(found)


@entry("np.unstack")
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """In a tuple."""
    return tuple(jnp.unstack(jnp.asarray(x), axis=axis))


def _at_least(function: Callable[..., Any]) -> Callable[..., Any]:
    def each(*arys: Any) -> Any:
        parts = tuple(function(operand(x)) for x in arys)
        return parts[0] if len(parts) == 1 else parts

    return each


TABLE |= {f"np.atleast_{n}d": _at_least(getattr(jnp, f"atleast_{n}d")) for n in (1, 2, 3)}


@entry("np.block")
def block(arrays: Any) -> Any:
    """Nested lists, in one dtype."""

    def leaves(x: Any) -> list[Any]:
        return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list) else [x]

    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in leaves(arrays)))

    def converted(x: Any) -> Any:
        return [converted(part) for part in x] if isinstance(x, list) else jnp.asarray(x, kind)

    return jnp.block(converted(arrays))


@entry("np.pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Widths in every spelling of NumPy."""
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - array.ndim, 0)) for k in range(array.ndim)]
        pad_width = [(w, w) if np.ndim(w) == 0 else tuple(w) for w in pad_width]
    widths = _tuples(np.asarray(pad_width).astype(int).tolist())
    return jnp.pad(jnp.asarray(array), widths, mode, **{key: _tuples(operand(x)) for key, x in kwargs.items()})


def _tuples(x: Any) -> Any:
    """Nested sequences as tuples, which JAX can use as keys."""
    x = x.tolist() if isinstance(x, np.ndarray) else x
    return tuple(map(_tuples, x)) if isinstance(x, (list, tuple)) else x


def _unique(name: str) -> Callable[..., Any]:
    """With NumPy's named tuple."""

    def unique(x: Any) -> Any:
        return type(getattr(np, name)(np.zeros(1)))(*getattr(jnp, name)(jnp.asarray(x)))

    return unique


TABLE |= {f"np.{name}": _unique(name) for name in ("unique_all", "unique_counts", "unique_inverse")}
