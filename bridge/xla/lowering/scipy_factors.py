"""Matrix factorisations, as XLA computes them: see `rules/scipy_factors.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from bridge.xla.lowering.register import entry


@entry("bridge.rules.scipy_factors.householder")
def householder(a: Any, complete: bool) -> Any:
    """The factors Q and R."""
    return tuple(jnp.linalg.qr(a, mode="complete" if complete else "reduced"))


@entry("bridge.rules.scipy_factors.singular")
def singular(a: Any, full_matrices: bool, compute_uv: bool, driver: str) -> Any:
    """The singular value decomposition, or the values alone."""
    found = jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found
