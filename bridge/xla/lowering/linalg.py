"""Determinants, pseudo-inverses and least squares as NumPy returns them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import known
from bridge.xla.lowering.decompositions import container, of_triangle
from bridge.xla.lowering.register import entry


@entry("np.linalg.slogdet")
def slogdet(a: Any) -> Any:
    """In NumPy's named tuple."""
    return container("slogdet")(*jnp.linalg.slogdet(a))


@entry("np.linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """With NumPy's cut-off, 1e-15 of the largest singular value."""
    cut = 1e-15 if rcond is None and rtol is None else rcond if rtol is None else rtol
    return jnp.linalg.pinv(of_triangle(a, True) if hermitian else a, rtol=cut)


@entry("np.linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """Residuals of matrices without full rank, which NumPy leaves out, are NaN if the rank is not known."""
    rows, columns = a.shape
    x, _, rank, s = jnp.linalg.lstsq(a, b, rcond)
    residuals = jnp.atleast_1d(jnp.sum(jnp.abs(b - a @ x) ** 2, axis=0))
    values = known(rank)
    if rows <= columns or (values is not None and int(values) < columns):
        residuals = residuals[:0]
    else:
        residuals = jnp.where(rank < columns, jnp.nan, residuals)
    return x, residuals, rank.astype(np.int32), s
