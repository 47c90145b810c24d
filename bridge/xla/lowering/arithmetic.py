"""Arithmetic whose derivatives at kinks and singular points are those of docs/conventions.md, not JAX's."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.errors import RefusedError
from bridge.xla.lowering.calls import operand, weak_dtype
from bridge.xla.lowering.register import TABLE, entry, known


@entry("np.real_if_close")
def real_if_close(a: Any, tol: float = 100) -> Any:
    """Complex numbers stay complex unless their values are known: the dtype of the result depends on them."""
    a = jnp.asarray(a)
    if a.dtype.kind != "c":
        return a
    if known(a) is None:
        raise RefusedError(
            "the dtype of np.real_if_close depends on values that are not known when XLA compiles it",
            remedy="use np.real",
        )
    limit = tol * np.finfo(a.dtype).eps if tol > 1 else tol
    return jnp.real(a) if bool(jnp.all(jnp.abs(jnp.imag(a)) < limit)) else a


@entry("np.corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
    """Without the rounding beyond 1."""
    if not rowvar:
        x, y = jnp.transpose(x), None if y is None else jnp.transpose(y)
    covariance = jnp.cov(x, y)
    if not covariance.ndim:
        return covariance / covariance
    deviation = jnp.sqrt(jnp.real(jnp.diagonal(covariance)))
    found = covariance / deviation[:, None] / deviation
    if found.dtype.kind == "c":
        return jnp.clip(jnp.real(found), -1, 1) + 1j * jnp.clip(jnp.imag(found), -1, 1)
    return jnp.clip(found, -1, 1)


@entry("np.gradient")
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Also at uneven spacings, which jax.numpy lacks: differences weighted by the spacings on both sides."""
    axes = tuple(range(f.ndim)) if axis is None else tuple(np.atleast_1d(axis) % f.ndim)
    steps = [1.0] * len(axes) if not varargs else list(varargs) * (len(axes) if len(varargs) == 1 else 1)
    found = tuple(_slope(f, operand(step), k, edge_order) for step, k in zip(steps, axes, strict=True))
    return found[0] if len(axes) == 1 else found


def _slope(f: Any, step: Any, axis: int, edge_order: int) -> Any:
    n = f.shape[axis]
    f = jnp.moveaxis(f, axis, 0)
    h = jnp.diff(jnp.asarray(step)) if jnp.ndim(step) else jnp.full(n - 1, step)
    h = jnp.reshape(h, (n - 1,) + (1,) * (f.ndim - 1)).astype(jnp.real(f).dtype)
    rise = jnp.diff(f, axis=0) / h
    left, right = h[:-1], h[1:]
    middle = (right * rise[:-1] + left * rise[1:]) / (left + right)
    if edge_order == 1:
        first, last = rise[:1], rise[-1:]
    else:
        first = rise[:1] - h[:1] * (rise[1:2] - rise[:1]) / (h[:1] + h[1:2])
        last = rise[-1:] + h[-1:] * (rise[-1:] - rise[-2:-1]) / (h[-1:] + h[-2:-1])
    return jnp.moveaxis(jnp.concatenate([first, middle, last]), 0, axis)


@entry("np.power", "np.float_power")
def power(x: Any, y: Any) -> Any:
    """Known integer exponents are products; `0**y` with `y >= 0` depends on nothing, also where inf arrives."""
    if type(y) is int:
        return jax.lax.integer_pow(x, y)
    if x.dtype.kind not in "fc":
        return jnp.power(x, y)
    constant = (x == 0) & (jnp.real(y) >= 0)
    exponent = jnp.where(constant, jax.lax.stop_gradient(y), y)
    return jnp.power(jnp.where(constant & (y == 0), jax.lax.stop_gradient(x), x), exponent)


power.keeps_integers = True


@entry("np.absolute", "np.fabs")
def absolute(x: Any) -> Any:
    """Its derivative at 0 is 0, also of complex numbers."""
    if x.dtype.kind == "f":
        return x * jax.lax.stop_gradient(jnp.sign(x))
    if x.dtype.kind != "c":
        return jnp.abs(x)
    away = x != 0
    return jnp.where(away, jnp.abs(jnp.where(away, x, 1)), 0)


@jax.custom_jvp
def _hypot(x: Any, y: Any) -> Any:
    return jnp.hypot(x, y)


@_hypot.defjvp
def _hypot_moves(primals: Any, tangents: Any) -> Any:
    """Also near the ends of the range; 0 at the origin."""
    out = _hypot(*primals)
    safe = jnp.where(out == 0, 1, out)
    x, y = primals
    return out, x / safe * tangents[0] + y / safe * tangents[1]


TABLE["np.hypot"] = _hypot


@jax.custom_jvp
def _nextafter(x: Any, y: Any) -> Any:
    return jnp.nextafter(x, y)


@_nextafter.defjvp
def _nextafter_moves_with_x(primals: Any, tangents: Any) -> Any:
    out = _nextafter(*primals)
    return out, jnp.broadcast_to(tangents[0], out.shape)


TABLE["np.nextafter"] = _nextafter


@entry("np.einsum")
def einsum(*operands: Any, dtype: Any = None) -> Any:
    """In both spellings: by letters, and by lists of axes after each array."""
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


TABLE["np.fix"] = jnp.trunc
