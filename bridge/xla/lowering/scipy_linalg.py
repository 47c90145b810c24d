"""Matrix functions that the rules of `scipy.linalg` and of sparse factors call: see `rules/scipy_*.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.lax.linalg import triangular_solve
from jax.scipy import linalg

from bridge.errors import NoRuleError
from bridge.xla.lowering.register import called, entry


@entry("bridge.rules.scipy_factors.householder")
def householder(a: Any, complete: bool) -> Any:
    """Return the factors Q and R."""
    return tuple(jnp.linalg.qr(a, mode="complete" if complete else "reduced"))


@entry("bridge.rules.scipy_factors.singular")
def singular(a: Any, full_matrices: bool, compute_uv: bool, driver: str) -> Any:
    """Return the singular value decomposition, or the values alone."""
    found = jnp.linalg.svd(a, full_matrices=full_matrices, compute_uv=compute_uv)
    return tuple(found) if compute_uv else found


@entry("bridge.rules.scipy_eigen.hermitian_eigen")
def hermitian_eigen(a: Any, lower: bool, driver: Any) -> Any:
    """Return eigenvalues and eigenvectors of a matrix of which one triangle is given."""
    return tuple(jnp.linalg.eigh(a, UPLO="L" if lower else "U", symmetrize_input=False))


@entry("bridge.rules.scipy_systems.triangular")
def triangular(a: Any, b: Any, lower: bool, form: int, unit: bool) -> Any:
    """Solve systems with triangular matrices; both operands get one dtype and one batch."""
    kind = jnp.result_type(a, b)
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (jnp.broadcast_to(x, batch + x.shape[-2:]).astype(kind) for x in (a, b))
    options = {"lower": lower, "transpose_a": form > 0, "conjugate_a": form == 2, "unit_diagonal": unit}
    return triangular_solve(a, b, left_side=True, **options)


_NAME = "bridge.rules.factorizations.lu_solved"
_LARGEST = 4096
"""Unknowns of the largest system: a compiled program holds its factors as full matrices."""


@entry(_NAME)
def lu_solved(factors: Any, b: Any, trans: str) -> Any:
    """Solve by SuperLU's factors: the matrix with its rows and columns permuted is L U."""
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


@entry("bridge.rules.scipy_matrix_functions.expm")
def expm(a: Any) -> Any:
    """Return the exponential of one matrix or several."""
    return linalg.expm(a)
