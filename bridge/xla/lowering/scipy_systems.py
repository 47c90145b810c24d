"""Triangular systems, as XLA solves them: see `rules/scipy_systems.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.lax.linalg import triangular_solve

from bridge.xla.lowering.register import entry


@entry("bridge.rules.scipy_systems.triangular")
def triangular(a: Any, b: Any, lower: bool, form: int, unit: bool) -> Any:
    """The solution of systems with triangular matrices; both operands get one dtype and one batch."""
    kind = jnp.result_type(a, b)
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, batch + x.shape[-2:]).astype(kind) for x in (a, b))
    options = {"lower": lower, "transpose_a": form > 0, "conjugate_a": form == 2, "unit_diagonal": unit}
    return triangular_solve(a, b, left_side=True, **options)
