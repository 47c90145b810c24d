"""Numerical gradients."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import operand
from bridge.xla.lowering.register import entry


@entry("np.gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Also at uneven spacings, which jax.numpy lacks: differences weighted by the spacings on both sides."""
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
