"""Functions that mean or are spelled something else in jax.numpy than in NumPy, by the names that messages have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bridge.errors import NoRuleError, RefusedError
from bridge.xla.lowering_calls import operand, weak_dtype, weak_for_result_type

TABLE: dict[str, Callable[..., Any]] = {}


def entry(*names: str, into: dict[str, Callable[..., Any]] = TABLE) -> Callable[[Callable[..., Any]], Any]:
    """Make the decorated function the lowering of the NumPy functions of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        into.update(dict.fromkeys(names, function))
        return function

    return register


def common(*operands: Any) -> np.dtype[Any]:
    """NumPy's dtype of several operands together; Python numbers are weak."""
    return np.result_type(*map(weak_for_result_type, operands))


def known(x: Any) -> np.ndarray | None:
    """The values of an array, if they are known while JAX traces; also those of one that is differentiated."""
    if not isinstance(x, jax.core.Tracer):
        return np.asarray(x)
    try:
        return np.asarray(jax.lax.stop_gradient(x))
    except jax.errors.TracerArrayConversionError:
        return None


@entry("np.where")
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return jnp.nonzero(condition)
    x, y = operand(x), operand(y)
    kind = common(x, y)
    return jnp.where(jnp.asarray(condition, bool), jnp.asarray(x, kind), jnp.asarray(y, kind))


@entry("np.clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = a_min if min is None else min, a_max if max is None else max
    bounds = [x for x in (low, high) if x is not None]
    kind = common(a, *bounds)
    a = jnp.asarray(a, kind)
    if low is not None:
        a = jnp.maximum(a, jnp.asarray(low, kind))
    return a if high is None else jnp.minimum(a, jnp.asarray(high, kind))


@entry("np.copy")
def copy(a: Any) -> Any:
    return jnp.asarray(a)


@entry("np.astype")
def astype(x: Any, dtype: Any) -> Any:
    x = jnp.asarray(x)
    return (jnp.real(x) if x.dtype.kind == "c" and np.dtype(dtype).kind not in "cb" else x).astype(dtype)


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


@entry("np.take")
def take(a: Any, indices: Any, axis: int | None = None, mode: str = "raise") -> Any:
    """An index out of range in mode "raise" gives NaN: raising is the caller's."""
    return jnp.take(a, jnp.asarray(indices, np.intp), axis, mode=None if mode == "raise" else mode)


@entry("np.take_along_axis")
def take_along_axis(arr: Any, indices: Any, axis: int | None = -1) -> Any:
    return jnp.take_along_axis(jnp.asarray(arr), jnp.asarray(indices), axis)


@entry("np.choose")
def choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    """An index out of range in mode "raise" gives NaN; integers have none, so that their mode must be another."""
    parts = list(choices)
    kind = common(*parts)
    parts = [jnp.asarray(part, kind) for part in parts]
    a = jnp.asarray(a)
    if mode != "raise":
        return jnp.choose(a, parts, mode=mode)
    chosen = jnp.choose(a, parts, mode="clip")
    if kind.kind in "fc":
        return jnp.where((a >= 0) & (a < len(parts)), chosen, jnp.nan)
    if known(a) is None:
        raise RefusedError(
            "np.choose of integers cannot raise for an index out of range once it is compiled",
            remedy='give mode="clip" or mode="wrap"',
        )
    return jnp.choose(a, parts, mode="raise")


@entry("np.compress")
def compress(condition: Any, a: Any, axis: int | None = None) -> Any:
    chosen = known(condition)
    if chosen is None:
        return jnp.compress(condition, a, axis=axis)
    return jnp.take(jnp.asarray(a), np.flatnonzero(chosen), axis)


@entry("np.extract")
def extract(condition: Any, arr: Any) -> Any:
    chosen = known(condition)
    if chosen is None:
        return jnp.extract(condition, arr)
    return jnp.take(jnp.ravel(arr), np.flatnonzero(chosen))


@entry("np.bincount")
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    places = known(x)
    if places is None:
        return jnp.bincount(x, weights, minlength)
    length = max(int(places.max(initial=-1)) + 1, minlength)
    if weights is None:
        return jnp.bincount(x, length=length)
    return jnp.zeros(length, np.float64).at[places].add(jnp.asarray(weights, np.float64))


@entry("np.piecewise")
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function is computed everywhere; where several conditions hold, the last one counts."""
    if not isinstance(condlist, (list, tuple)) or not condlist or not jnp.ndim(condlist[0]) and jnp.ndim(x):
        condlist = [condlist] if jnp.ndim(condlist) <= jnp.ndim(x) else list(condlist)
    conditions = [jnp.asarray(operand(c), bool) for c in condlist]
    if len(funclist) == len(conditions) + 1:
        conditions.append(~sum(conditions[1:], conditions[0]))
    x = jnp.asarray(x)
    result = jnp.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        value = _lowered(function)(x, *args, **kw) if callable(function) else function
        result = jnp.where(condition, jnp.asarray(value, x.dtype), result)
    return result


@entry("np.corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True) -> Any:
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


@entry("np.select")
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """The first choice whose condition holds."""
    kind = common(*choicelist, default)
    result = jnp.asarray(default, kind)
    for condition, choice in reversed(list(zip(condlist, choicelist, strict=True))):
        result = jnp.where(condition, jnp.asarray(choice, kind), result)
    shape = jnp.broadcast_shapes(*(jnp.shape(x) for x in (*condlist, *choicelist)), jnp.shape(default))
    return jnp.broadcast_to(result, shape)


@entry("np.broadcast_arrays")
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    return tuple(jnp.broadcast_arrays(*map(jnp.asarray, map(operand, args))))


@entry("np.meshgrid")
def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy", copy: bool = True) -> Any:
    found = jnp.meshgrid(*(jnp.ravel(operand(x)) for x in xi), sparse=sparse, indexing=indexing)
    return list(found) if sparse and not copy else tuple(found)


@entry("np.unstack")
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    return tuple(jnp.unstack(jnp.asarray(x), axis=axis))


def _at_least(function: Callable[..., Any]) -> Callable[..., Any]:
    def each(*arys: Any) -> Any:
        parts = tuple(function(operand(x)) for x in arys)
        return parts[0] if len(parts) == 1 else parts

    return each


TABLE |= {f"np.atleast_{n}d": _at_least(getattr(jnp, f"atleast_{n}d")) for n in (1, 2, 3)}


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
    """Integer exponents that are known are products; `0**y` with `y >= 0` depends on nothing, also where inf arrives."""
    if type(y) is int:
        return jax.lax.integer_pow(x, y)
    if x.dtype.kind not in "fc":
        return jnp.power(x, y)
    constant = (x == 0) & (jnp.real(y) >= 0)
    exponent = jnp.where(constant, jax.lax.stop_gradient(y), y)
    return jnp.power(jnp.where(constant & (y == 0), jax.lax.stop_gradient(x), x), exponent)


power.keeps_integers = True  # type: ignore[attr-defined]


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


@entry("np.tril")
def tril(m: Any, k: int = 0) -> Any:
    """Of a vector too, as NumPy: it stands for a matrix whose rows are equal."""
    return jnp.tril(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)


@entry("np.triu")
def triu(m: Any, k: int = 0) -> Any:
    return jnp.triu(m if m.ndim > 1 else jnp.broadcast_to(m, m.shape * 2), k)


@entry("np.partition")
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """The sorted array is partitioned at every `kth`; NumPy's order elsewhere is unspecified, and another one."""
    return jnp.sort(a, axis=axis)


@entry("np.block")
def block(arrays: Any) -> Any:
    def leaves(x: Any) -> list[Any]:
        return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list) else [x]

    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in leaves(arrays)))

    def converted(x: Any) -> Any:
        return [converted(part) for part in x] if isinstance(x, list) else jnp.asarray(x, kind)

    return jnp.block(converted(arrays))


@entry("np.einsum")
def einsum(*operands: Any, dtype: Any = None) -> Any:
    """In both spellings: by letters, and by lists of axes after each array."""
    if isinstance(operands[0], str):
        letters, axes = operands[:1], ()
        arrays = [operand(x) for x in operands[1:]]
    else:
        count = len(operands) // 2
        letters, axes = (), [list(x) for x in (*operands[1 : 2 * count : 2], *operands[2 * count :])]
        arrays = [operand(x) for x in operands[: 2 * count : 2]]
    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in arrays)) if dtype is None else np.dtype(dtype)
    arrays = [jnp.asarray(x, kind) for x in arrays]
    if letters:
        return jnp.einsum(*letters, *arrays)
    pairs = [part for pair in zip(arrays, axes, strict=False) for part in pair]
    return jnp.einsum(*pairs, *axes[len(arrays) :])


@entry("np.pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - array.ndim, 0)) for k in range(array.ndim)]
        pad_width = [(w, w) if np.ndim(w) == 0 else tuple(w) for w in pad_width]
    widths = _tuples(np.asarray(pad_width).astype(int).tolist())
    return jnp.pad(jnp.asarray(array), widths, mode, **{key: _tuples(operand(x)) for key, x in kwargs.items()})


def _tuples(x: Any) -> Any:
    """Nested sequences as tuples, which JAX can use as keys."""
    x = x.tolist() if isinstance(x, np.ndarray) else x
    return tuple(map(_tuples, x)) if isinstance(x, (list, tuple)) else x


TABLE["np.fix"] = jnp.trunc


@entry("np.apply_along_axis")
def apply_along_axis(func1d: Any, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    return jnp.apply_along_axis(_lowered(func1d), axis, jnp.asarray(arr), *args, **kwargs)


@entry("np.apply_over_axes")
def apply_over_axes(func: Any, a: Any, axes: Any) -> Any:
    return jnp.apply_over_axes(_lowered(func), jnp.asarray(a), [int(k) for k in np.atleast_1d(axes)])


def _lowered(function: Any) -> Any:
    """A function that the user hands over, computed by JAX; one that is not NumPy's cannot be."""
    from bridge.xla.lowering import has, lower

    if not has(function):
        raise NoRuleError(
            f"JAX cannot run {getattr(function, '__name__', function)}, which was handed to a NumPy function",
            remedy='write it as a loop over slices, or use engine="native"',
        )
    return lambda *args, **kwargs: lower(function, args, kwargs)
