"""Systems solved by plain sparse factors, as XLA solves them: see `rules/factorizations.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import triangular_solve

from bridge.errors import NoRuleError
from bridge.xla.lowering.register import called, entry

_NAME = "bridge.rules.factorizations.lu_solved"
_LARGEST = 4096
"""Unknowns of the largest system: a compiled program holds its factors as full matrices."""


@entry(_NAME)
def lu_solved(factors: Any, b: Any, trans: str) -> Any:
    """The solution by SuperLU's factors, where the matrix with its rows and columns permuted is L U."""
    size = factors.shape[0]
    if size > _LARGEST:
        raise NoRuleError(
            f"{called(_NAME)}: a compiled program solves such sparse systems of at most {_LARGEST} "
            f"unknowns, this one has {size}",
            remedy='use engine="native"',
        )
    lower, upper = (jnp.asarray(part.toarray(order="C")) for part in (factors.L, factors.U))
    kind = jnp.result_type(b, lower.dtype)
    x = jnp.reshape(b, (size, -1)).astype(kind)
    steps: list[tuple[Any, bool]] = [(lower, True), (upper, False)]
    before, after = np.argsort(factors.perm_r), factors.perm_c
    if trans != "N":
        steps.reverse()
        before, after = np.argsort(factors.perm_c), factors.perm_r
    x = x[before]
    for matrix, is_lower in steps:
        options = {"transpose_a": trans != "N", "conjugate_a": trans == "H", "lower": is_lower}
        x = triangular_solve(matrix.astype(kind), x, left_side=True, **options)
    return jnp.reshape(x[after], b.shape)
