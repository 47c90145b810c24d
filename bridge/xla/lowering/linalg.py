"""Products, norms, determinants, pseudo-inverses and least squares as NumPy returns them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.arithmetic import absolute
from bridge.xla.lowering.calls import known, operand, weak_dtype
from bridge.xla.lowering.decompositions import container, of_triangle
from bridge.xla.lowering.register import entry


@entry("np.einsum", raw=True)
def einsum(*operands: Any, dtype: Any = None, **neutral: Any) -> Any:
    """Sum products over axes, named by letters or by lists of axes after each array."""
    letters: tuple[str, ...]
    axes: list[Any]
    if isinstance(operands[0], str):
        letters, axes = operands[:1], []
        arrays = [operand(x) for x in operands[1:]]
    else:
        count = len(operands) // 2
        letters, axes = (), [list(x) for x in (*operands[1 : 2 * count : 2], *operands[2 * count :])]
        arrays = [operand(x) for x in operands[: 2 * count : 2]]
    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in arrays)) if dtype is None else np.dtype(dtype)
    arrays = [jnp.asarray(x, kind) for x in arrays]
    if letters:
        return jnp.einsum(*letters, *arrays)
    pairs: list[Any] = [part for array, names in zip(arrays, axes, strict=False) for part in (array, names)]
    return jnp.einsum(*pairs, *axes[len(arrays) :])


def _root(squares: Any) -> Any:
    """The square root, with derivative 0 at 0."""
    away = squares != 0
    return jnp.where(away, jnp.sqrt(jnp.where(away, squares, 1)), 0)


def _length(x: Any, axis: Any, keepdims: bool) -> Any:
    return _root(jnp.sum(jnp.real(x * jnp.conj(x)), axis, keepdims=keepdims))


@entry("np.linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Return a norm; a root of a sum of squares has derivative 0 at 0."""
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


@entry("np.linalg.vector_norm")
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """Return the norm of vectors, with the derivative of `norm` at 0."""
    if ord == 2:
        return _length(x, axis, keepdims)
    return jnp.linalg.vector_norm(absolute(x), axis=axis, keepdims=keepdims, ord=ord)


@entry("np.linalg.matrix_norm")
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """Return the norm of matrices, with the derivative of `norm` at 0."""
    return norm(x, ord, (-2, -1), keepdims)


@entry("np.linalg.slogdet")
def slogdet(a: Any) -> Any:
    """Return sign and logarithm of a determinant in NumPy's named tuple."""
    return container("slogdet")(*jnp.linalg.slogdet(a))


@entry("np.linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    """Return the pseudo-inverse with NumPy's cut-off, 1e-15 of the largest singular value."""
    cut = 1e-15 if rcond is None and rtol is None else rcond if rtol is None else rtol
    return jnp.linalg.pinv(of_triangle(a, True) if hermitian else a, rtol=cut)


@entry("np.linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: Any = None) -> tuple[Any, Any, Any, Any]:
    """Solve least squares; residuals that NumPy leaves out without full rank are NaN if the rank is not known."""
    rows, columns = a.shape
    x, _, rank, s = jnp.linalg.lstsq(a, b, rcond)
    residuals = jnp.atleast_1d(jnp.sum(jnp.abs(b - a @ x) ** 2, axis=0))
    values = known(rank)
    if rows <= columns or (values is not None and int(values) < columns):
        residuals = residuals[:0]
    else:
        residuals = jnp.where(rank < columns, jnp.nan, residuals)
    return x, residuals, rank.astype(np.int32), s
