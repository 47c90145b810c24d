"""Triangles of matrices."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from bridge.xla.lowering.register import entry


@entry("np.tril")
def tril(m: Any, k: int = 0) -> Any:
    """Of a vector too, as NumPy: it stands for a matrix whose rows are equal."""
    return jnp.tril(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)


@entry("np.triu")
def triu(m: Any, k: int = 0) -> Any:
    """Likewise."""
    return jnp.triu(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)
