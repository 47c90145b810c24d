"""Linear algebra where jax.numpy differs: which triangle of a matrix is read, norms at 0, NumPy's named tuples."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.errors import RefusedError
from bridge.xla.lowering.arithmetic import absolute
from bridge.xla.lowering.register import entry, known

LINALG: dict[str, Callable[..., Any]] = {}


@cache
def _container(name: str) -> Any:
    """NumPy's named tuple of a decomposition."""
    return type(getattr(np.linalg, name)(np.eye(1)))


def _hermitian(a: Any, lower: bool) -> Any:
    """The Hermitian matrix for which one triangle of `a` stands: the other one is not read, and gets no cotangent."""
    strict = jnp.tril(a, -1) if lower else jnp.triu(a, 1)
    diagonal = jnp.real(jnp.diagonal(a, axis1=-2, axis2=-1)).astype(a.dtype)
    return strict + jnp.conj(jnp.swapaxes(strict, -1, -2)) + diagonal[..., None] * jnp.eye(a.shape[-1], dtype=a.dtype)


@entry("np.linalg.cholesky", into=LINALG)
def cholesky(a: Any, *, upper: bool = False) -> Any:
    """Of the Hermitian matrix that the triangle stands for."""
    factor = jax.lax.linalg.cholesky(_hermitian(a, not upper), symmetrize_input=False)
    return jnp.conj(jnp.swapaxes(factor, -1, -2)) if upper else factor


@entry("np.linalg.eigh", into=LINALG)
def eigh(a: Any, UPLO: str = "L") -> Any:
    """Of the Hermitian matrix that the triangle stands for."""
    values, vectors = jnp.linalg.eigh(_hermitian(a, UPLO.upper() == "L"), symmetrize_input=False)
    return _container("eigh")(values, vectors)


@entry("np.linalg.eigvalsh", into=LINALG)
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    """Likewise."""
    return eigh(a, UPLO)[0]


def _as_numpy_has_it(values: Any, name: str, a: Any) -> bool:
    """Whether the eigenvalues of a real matrix are real numbers in NumPy: if all of their imaginary parts are 0."""
    if a.dtype.kind == "c":
        return False
    if known(values) is None:
        raise RefusedError(
            f"whether {name} of a real matrix is real or complex depends on values that are not known when XLA "
            "compiles it",
            remedy="make the matrix complex (a + 0j), or use np.linalg.eigh of a symmetric one",
        )
    return bool(jnp.all(jnp.imag(values) == 0))


def _eig(a: Any) -> Any:
    """With vectors of length 1 also under differentiation; their phases are a convention."""
    named = inspect.signature(jax.lax.linalg.eig).parameters
    derived: dict[str, Any] = {"enable_eigvec_derivs": True} if "enable_eigvec_derivs" in named else {}
    values, vectors = jax.lax.linalg.eig(a, compute_left_eigenvectors=False, **derived)
    return values, vectors / jnp.sqrt(jnp.sum(jnp.real(vectors * jnp.conj(vectors)), -2, keepdims=True))


@entry("np.linalg.eig", into=LINALG)
def eig(a: Any) -> Any:
    """Real if every imaginary part is 0, as in NumPy: that must be known."""
    values, vectors = _eig(a)
    if _as_numpy_has_it(values, "np.linalg.eig", a):
        values, vectors = jnp.real(values), jnp.real(vectors)
    return _container("eig")(values, vectors)


@entry("np.linalg.eigvals", into=LINALG)
def eigvals(a: Any) -> Any:
    """Likewise."""
    values = jnp.linalg.eigvals(a)
    return jnp.real(values) if _as_numpy_has_it(values, "np.linalg.eigvals", a) else values


@entry("np.linalg.slogdet", into=LINALG)
def slogdet(a: Any) -> Any:
    """In NumPy's named tuple."""
    return _container("slogdet")(*jnp.linalg.slogdet(a))


@entry("np.linalg.qr", into=LINALG)
def qr(a: Any, mode: str = "reduced") -> Any:
    """In NumPy's named tuple."""
    found = jnp.linalg.qr(a, mode)
    return found if mode == "r" else _container("qr")(*found)


@entry("np.linalg.svd", into=LINALG)
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Without vectors, by the reduced form, whose derivative JAX has."""
    if hermitian:
        a = _hermitian(a, True)
    found = jnp.linalg.svd(a, full_matrices and compute_uv, compute_uv, hermitian)
    return _container("svd")(*found) if compute_uv else found


@entry("np.linalg.pinv", into=LINALG)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """With NumPy's cut-off, 1e-15 of the largest singular value."""
    cut = 1e-15 if rcond is None and rtol is None else rcond if rtol is None else rtol
    return jnp.linalg.pinv(_hermitian(a, True) if hermitian else a, rtol=cut)


@entry("np.linalg.lstsq", into=LINALG)
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


def _root(squares: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    away = squares != 0
    return jnp.where(away, jnp.sqrt(jnp.where(away, squares, 1)), 0)


def _length(x: Any, axis: Any, keepdims: bool) -> Any:
    return _root(jnp.sum(jnp.real(x * jnp.conj(x)), axis, keepdims=keepdims))


@entry("np.linalg.norm", into=LINALG)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Norms that are roots of sums of squares have derivative 0 at 0."""
    axes = 1 if isinstance(axis, (int, np.integer)) else x.ndim if axis is None else len(axis)
    if (ord is None and (axis is None or axes <= 2)) or (ord == 2 and axes == 1) or (ord == "fro" and axes == 2):
        return _length(x, axis, keepdims)
    if axes == 2 and ord in (2, -2, "nuc"):
        return jnp.linalg.norm(x, ord, axis, keepdims)
    x = absolute(x)
    if axes == 1 and isinstance(ord, (int, float)) and not np.isinf(ord) and ord not in (0, 1):
        return _power_mean(x, ord, axis, keepdims)
    return jnp.linalg.norm(x, ord, axis, keepdims)


def _power_mean(x: Any, ord: float, axis: Any, keepdims: bool) -> Any:
    total = jnp.sum(x**ord, axis, keepdims=keepdims)
    away = total != 0
    return jnp.where(away, jnp.where(away, total, 1) ** (1.0 / ord), 0 if ord > 0 else jnp.inf)


@entry("np.linalg.vector_norm", into=LINALG)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """As `norm` at 0."""
    if ord == 2:
        return _length(x, axis, keepdims)
    return jnp.linalg.vector_norm(absolute(x), axis=axis, keepdims=keepdims, ord=ord)


@entry("np.linalg.matrix_norm", into=LINALG)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """As `norm`."""
    return norm(x, ord, (-2, -1), keepdims)
