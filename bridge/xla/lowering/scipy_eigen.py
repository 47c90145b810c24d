"""Eigenvalues of Hermitian matrices, as XLA computes them: see `rules/scipy_eigen.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from bridge.xla.lowering.register import entry


@entry("bridge.rules.scipy_eigen.hermitian_eigen")
def hermitian_eigen(a: Any, lower: bool, driver: Any) -> Any:
    """Eigenvalues and eigenvectors of the matrix of which a triangle is given."""
    return tuple(jnp.linalg.eigh(a, UPLO="L" if lower else "U", symmetrize_input=False))
