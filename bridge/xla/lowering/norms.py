"""Norms, whose derivative at 0 is 0."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.arithmetic import absolute
from bridge.xla.lowering.register import entry


def _root(squares: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    away = squares != 0
    return jnp.where(away, jnp.sqrt(jnp.where(away, squares, 1)), 0)


def _length(x: Any, axis: Any, keepdims: bool) -> Any:
    return _root(jnp.sum(jnp.real(x * jnp.conj(x)), axis, keepdims=keepdims))


@entry("np.linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norms that are roots of sums of squares have derivative 0 at 0."""
    axes = 1 if isinstance(axis, (int, np.integer)) else x.ndim if axis is None else len(axis)
    if (ord is None and (axis is None or axes <= 2)) or (ord == 2 and axes == 1) or (ord == "fro" and axes == 2):
        return _length(x, axis, keepdims)
    if axes == 2 and ord in (2, -2, "nuc"):
        return jnp.linalg.norm(x, ord, axis, keepdims)
    x = absolute(x)
    if axes == 1 and isinstance(ord, (int, float)) and not np.isinf(ord) and ord not in (0, 1):
        return _power_mean(x, ord, axis, keepdims)
    return jnp.linalg.norm(x, ord, axis, keepdims)


def _power_mean(x: Any, ord: float, axis: Any, keepdims: bool) -> Any:
    total = jnp.sum(x**ord, axis, keepdims=keepdims)
    away = total != 0
    return jnp.where(away, jnp.where(away, total, 1) ** (1.0 / ord), 0 if ord > 0 else jnp.inf)


@entry("np.linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """As `norm` at 0."""
    if ord == 2:
        return _length(x, axis, keepdims)
    return jnp.linalg.vector_norm(absolute(x), axis=axis, keepdims=keepdims, ord=ord)


@entry("np.linalg.matrix_norm")
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """As `norm`."""
    return norm(x, ord, (-2, -1), keepdims)
