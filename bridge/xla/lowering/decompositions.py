"""Decompositions with triangular factors: which triangle of a matrix is read, NumPy's named tuples."""

from __future__ import annotations

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.register import entry


@cache
def container(name: str) -> Any:
    """NumPy's named tuple of a decomposition."""
    return type(getattr(np.linalg, name)(np.eye(1)))


def of_triangle(a: Any, lower: bool) -> Any:
    """The Hermitian matrix for which one triangle of `a` stands: the other one is not read, and gets no cotangent."""
    strict = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    diagonal = jnp.real(jnp.diagonal(a, axis1=-2, axis2=-1)).astype(a.dtype)
    return strict + jnp.conj(jnp.swapaxes(strict, -1, -2)) + diagonal[..., None] * jnp.eye(a.shape[-1], dtype=a.dtype)


def phase(found: Any, wanted: Any, axis: int) -> Any:
    """What turns vectors along an axis into the ones that NumPy chose; a constant."""
    turn = jnp.sum(jnp.conj(jax.lax.stop_gradient(found)) * wanted, axis, keepdims=True)
    size = jnp.abs(turn)
    return jax.lax.stop_gradient(jnp.where(size == 0, 1, turn / jnp.where(size == 0, 1, size)))


@entry("np.linalg.cholesky")
def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Of the Hermitian matrix that the triangle stands for."""
    factor = jax.lax.linalg.cholesky(of_triangle(a, not upper), symmetrize_input=False)
    return jnp.conj(jnp.swapaxes(factor, -1, -2)) if upper else factor


def _orthogonal(found: Any, out: Any) -> Any:
    if not isinstance(found, tuple):
        return found * phase(found, out[0], -1).astype(found.dtype)
    q, r = found
    turn = phase(q, out[0], -2).astype(q.dtype)
    return q * turn, r * jnp.swapaxes(jnp.conj(turn), -1, -2)


@entry("np.linalg.qr", gauge=_orthogonal)
def qr(a: Any, mode: str = "reduced") -> Any:
    """In NumPy's named tuple."""
    found = jnp.linalg.qr(a, mode)
    return found if mode == "r" else container("qr")(*found)


@entry("bridge.rules.decompositions.factor_solved")
def factor_solved(a: Any, b: Any, upper: bool) -> Any:
    """The solution of systems with a triangular factor."""
    return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=not upper)
