"""Lengths of vectors in the plane, with the derivative at 0 of docs/conventions.md."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from bridge.xla.lowering.register import entry


@entry("np.hypot")
@jax.custom_jvp
def _hypot(x: Any, y: Any) -> Any:
    return jnp.hypot(x, y)


@_hypot.defjvp
def _hypot_moves(primals: Any, tangents: Any) -> Any:
    """Also near the ends of the range; 0 at the origin."""
    out = _hypot(*primals)
    safe = jnp.where(out == 0, 1, out)
    x, y = primals
    return out, x / safe * tangents[0] + y / safe * tangents[1]
