"""Decompositions and eigenvalues: which triangle of a matrix is read, NumPy's named tuples and phases."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.errors import RefusedError
from bridge.xla.lowering.calls import known
from bridge.xla.lowering.register import entry


@cache
def container(name: str) -> Any:
    """NumPy's named tuple of a decomposition."""
    return type(getattr(np.linalg, name)(np.eye(1)))


def of_triangle(a: Any, lower: bool) -> Any:
    """Return the Hermitian matrix that one triangle of `a` represents; the other triangle gets no cotangent."""
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
    """Factor the Hermitian matrix that one triangle of `a` represents."""
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
    """Return Q and R in NumPy's named tuple."""
    found = jnp.linalg.qr(a, mode)
    return found if mode == "r" else container("qr")(*found)


@entry("bridge.rules.decompositions.factor_solved")
def factor_solved(a: Any, b: Any, upper: bool) -> Any:
    """The solution of systems with a triangular factor."""
    return jax.lax.linalg.triangular_solve(a, b, left_side=True, lower=not upper)


def _eigenvectors(found: Any, out: Any) -> Any:
    return found[0], found[1] * phase(found[1], out[1], -2).astype(found[1].dtype)


@entry("np.linalg.eigh", gauge=_eigenvectors)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return eigenvalues and eigenvectors of the Hermitian matrix that one triangle of `a` represents."""
    values, vectors = jnp.linalg.eigh(of_triangle(a, UPLO.upper() == "L"), symmetrize_input=False)
    return container("eigh")(values, vectors)


@entry("np.linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues of `eigh`."""
    return eigh(a, UPLO)[0]


# Since NumPy 2.5. Before, those of a real matrix are real numbers if all of their imaginary parts are 0.
ALWAYS_COMPLEX = np.linalg.eigvals(np.eye(1)).dtype.kind == "c"


def _is_real_in_numpy(values: Any, name: str, a: Any) -> bool:
    """Whether the eigenvalues of a matrix are real numbers in NumPy."""
    if ALWAYS_COMPLEX or a.dtype.kind == "c":
        return False
    if known(values) is None:
        raise RefusedError(
            f"whether {name} of a real matrix is real or complex depends on values that are not known when XLA "
            "compiles it",
            remedy="make the matrix complex (a + 0j), or use np.linalg.eigh of a symmetric one",
        )
    return bool(jnp.all(jnp.imag(values) == 0))


def _eig(a: Any) -> Any:
    """Return eigenvectors of length 1, also under differentiation; their phases are a convention."""
    named = inspect.signature(jax.lax.linalg.eig).parameters
    derived: dict[str, Any] = {"enable_eigvec_derivs": True} if "enable_eigvec_derivs" in named else {}
    values, vectors = jax.lax.linalg.eig(a, compute_left_eigenvectors=False, **derived)
    return values, vectors / jnp.sqrt(jnp.sum(jnp.real(vectors * jnp.conj(vectors)), -2, keepdims=True))


@entry("np.linalg.eig", gauge=_eigenvectors, in_complex=True)
def eig(a: Any) -> Any:
    """Return eigenvalues and eigenvectors in NumPy's dtype; where it depends on values, these must be known."""
    values, vectors = _eig(a)
    if _is_real_in_numpy(values, "np.linalg.eig", a):
        values, vectors = jnp.real(values), jnp.real(vectors)
    return container("eig")(values, vectors)


@entry("np.linalg.eigvals", in_complex=True)
def eigvals(a: Any) -> Any:
    """Return the eigenvalues of `eig`."""
    values = jnp.linalg.eigvals(a)
    return jnp.real(values) if _is_real_in_numpy(values, "np.linalg.eigvals", a) else values


def _singular(found: Any, out: Any) -> Any:
    if not isinstance(found, tuple):
        return found
    u, s, vh = found
    turn = phase(u, out[0], -2).astype(u.dtype)
    rank = min(vh.shape[-2], turn.shape[-1])
    rows = jnp.swapaxes(jnp.conj(turn), -1, -2)[..., :rank, :]
    turned = jnp.concatenate([vh[..., :rank, :] * rows, vh[..., rank:, :]], axis=-2)
    return u * turn, s, turned


@entry("np.linalg.svd", gauge=_singular)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Return the singular value decomposition; without vectors, by the reduced form, whose derivative JAX has."""
    if hermitian:
        a = of_triangle(a, True)
    found = jnp.linalg.svd(a, full_matrices and compute_uv, compute_uv, hermitian)
    return container("svd")(*found) if compute_uv else found
