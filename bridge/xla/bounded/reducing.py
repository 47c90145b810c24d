"""Reductions: what is not there is the neutral element, chosen by a mask and never multiplied away."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from bridge.rulebook.facts import facts_of, parameters_of
from bridge.signatures import operation_name
from bridge.xla.bounded.bounded import BY_FACTS, Bounded, knows, shown, unknown
from bridge.xla.bounded.elementwise import stored
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import number, product
from bridge.xla.bounded.masks import dense, masked
from bridge.xla.regions.affine import Affine

_ABSENT = np._NoValue


def _axes(x: Bounded, axis: Any) -> tuple[int, ...]:
    """The axes that are reduced, counted from the first."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise np.exceptions.AxisError(one, x.ndim)
    return tuple(one % x.ndim for one in axes)


def _reduced(function: Any, x: Any, value: Any, axis: Any, keepdims: Any, out: Any = None, **kwargs: Any) -> Any:
    """A reduction of an array with a number in the places that are not there."""
    axes = _axes(x, axis)
    keeps = keepdims is not _ABSENT and bool(keepdims)
    found = function(masked(x, value), axis=axes, keepdims=keeps, **kwargs)
    extents = [None if k in axes else one for k, one in enumerate(x.extents) if keeps or k not in axes]
    found = shown(found, tuple(extents))
    if isinstance(out, tuple):
        (out,) = out
    if out is None:
        return found
    stored(function, out, found)
    return out


def _only(function: Any, **given: Any) -> None:
    """Raise for arguments that are not known."""
    for name, value in given.items():
        if value is not _ABSENT and value is not None and value is not True:
            raise unknown(f"{operation_name(function)} with {name}=")


def _chosen(a: Any, where: Any, value: Any) -> Any:
    """An array with a neutral element in the places that `where=` leaves out."""
    if where is _ABSENT or where is True:
        return a
    return np.where(where, a, np.asarray(value).astype(a.dtype)[()])


def reduction(function: Any) -> Any:
    """The implementation of the reduction of a ufunc, by the facts of its rule; None for other functions."""
    ufunc = facts_of(function).reduces
    if ufunc is None or (ufunc.identity is None and ufunc not in _EXTREMES):
        return None
    return partial(_by_ufunc, function, ufunc)


def _by_ufunc(function: Any, ufunc: np.ufunc, *args: Any, **kwargs: Any) -> Any:
    """A reduction. As in NumPy, `max` and `min` of an empty array are errors."""
    names = parameters_of(function)
    given = dict(zip(names, args, strict=False)) | kwargs
    a, where = given.pop(names[0]), given.pop("where", _ABSENT)
    axis, keepdims, out = given.pop("axis", None), given.pop("keepdims", _ABSENT), given.pop("out", None)
    dtype = {"dtype": given.pop("dtype")} if given.get("dtype") is not None else {}
    given.pop("dtype", None)
    if ufunc.identity is None:
        _only(function, where=where)
    _only(function, **given)
    if ufunc.identity is not None:
        a = _chosen(a, where, ufunc.identity)
    a = dense(a)
    if ufunc.identity is None:
        _check_not_empty(function, a, _axes(a, axis))
    return _reduced(function, a, _neutral(ufunc, a.dtype), axis, keepdims, out, **dtype)


def _neutral(ufunc: np.ufunc, dtype: Any) -> Any:
    """The neutral element of a reduction; for `maximum` and `minimum` the least and the greatest number."""
    return _EXTREMES[ufunc](dtype) if ufunc.identity is None else ufunc.identity


@knows(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """`np.count_nonzero`."""
    return _reduced(np.sum, dense(a) != 0, False, axis, keepdims)


def _check_not_empty(function: Any, x: Bounded, axes: tuple[int, ...]) -> None:
    for axis in axes:
        length = x.lengths[axis]
        low = length.bounds()[0]
        if not (low is not None and low > 0):
            x.trace.faults.check_empty(length, function)


def _lowest(dtype: Any) -> Any:
    if dtype.kind == "b":
        return False
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _highest(dtype: Any) -> Any:
    if dtype.kind == "b":
        return True
    return np.iinfo(dtype).max if dtype.kind in "iu" else np.inf


_EXTREMES: dict[np.ufunc, Callable[[Any], Any]] = {np.maximum: _lowest, np.minimum: _highest}
"""Ufuncs without an identity that have a neutral element in each dtype."""


@knows(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = _ABSENT) -> Any:
    """`np.ptp`."""
    _only(np.ptp, out=out)
    return np.max(a, axis, keepdims=keepdims) - np.min(a, axis, keepdims=keepdims)


def _arg(function: Any, extreme: Any, worst: Callable[[Any], Any]) -> None:
    def search(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = _ABSENT) -> Any:
        _only(function, out=out)
        a = dense(a)
        if axis is None:
            if a.ndim > 1:
                raise unknown(f"{operation_name(function)} of several axes", "give an axis")
            axis = 0
        (k,) = _axes(a, axis)
        _check_not_empty(function, a, (k,))
        keeps = keepdims is not _ABSENT and bool(keepdims)
        found = function(masked(a, worst(a.dtype)), axis=k, keepdims=keeps)
        one = a.extents[k]
        if one is not None:
            # Where all that is there is as bad as what is not, the first place of all was found.
            found = np.maximum(found - number(a.trace, one.first), 0)
        return shown(found, tuple(None if j == k else e for j, e in enumerate(a.extents) if keeps or j != k))

    knows(function)(search)


_arg(np.argmax, np.max, _lowest)
_arg(np.argmin, np.min, _highest)


def _count(x: Bounded, axes: tuple[int, ...]) -> Any:
    """How many elements a reduction has."""
    return number(x.trace, product(x.trace, [x.lengths[k] for k in axes]))


def _as_divisor(count: Any, total: Any) -> Any:
    """A count by which a sum is divided without being widened."""
    return count if isinstance(count, int) else count.astype(np.finfo(total.dtype).dtype)


@knows(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = _ABSENT, *, where: Any = _ABSENT
) -> Any:
    """`np.mean`."""
    _only(np.mean, where=where)
    a = dense(a)
    if a.dtype == np.float16 and dtype is None and out is None:
        return np.mean(a, axis, np.float32, keepdims=keepdims).astype(np.float16)
    if dtype is None and a.dtype.kind in "iub":
        dtype = np.float64
    total = np.sum(a, axis, dtype, keepdims=keepdims)
    found = np.true_divide(total, _as_divisor(_count(a, _axes(a, axis)), total))
    if out is not None:
        stored(np.mean, out, found)
        return out
    return found


@knows(np.average)
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = _ABSENT) -> Any:
    """`np.average`."""
    _only(np.average, returned=returned or None)
    if weights is None:
        return np.mean(a, axis, keepdims=keepdims)
    if len(a.shape) != len(np.shape(weights)):
        raise unknown("np.average with weights of another number of axes")
    return np.sum(a * weights, axis, keepdims=keepdims) / np.sum(weights, axis, keepdims=keepdims)


@knows(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = _ABSENT, *,
    where: Any = _ABSENT, mean: Any = _ABSENT, correction: Any = _ABSENT,
) -> Any:  # fmt: skip
    """`np.var`."""
    _only(np.var, where=where, mean=mean, dtype=dtype, out=out)
    ddof = ddof if correction is _ABSENT else correction
    a = dense(a)
    away = a - np.mean(a, axis, keepdims=True)
    squares = np.real(away) ** 2 + np.imag(away) ** 2 if away.dtype.kind == "c" else away * away
    return np.sum(squares, axis, keepdims=keepdims) / _as_divisor(np.maximum(_count(a, _axes(a, axis)) - ddof, 0), away)


@knows(np.std)
def std(a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, **kwargs: Any) -> Any:
    """`np.std`."""
    square = np.var(a, axis, dtype, out, ddof, **kwargs)
    # Of numbers that are all alike the derivative is taken to be zero, as the rule of np.std has it.
    alike = square == 0
    return np.where(alike, square, np.sqrt(np.where(alike, np.ones((), square.dtype)[()], square)))


@knows(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """`np.linalg.norm`: zeros change no norm, but of a negative order."""
    if ord is not None and not (ord in ("fro", "nuc") or (isinstance(ord, (int, float)) and ord >= 0)):
        raise unknown(f"np.linalg.norm with ord={ord!r}")
    x = dense(x)
    axes = _axes(x, axis)
    found = np.linalg.norm(masked(x, 0), ord, axis, keepdims)
    return shown(found, tuple(None if k in axes else e for k, e in enumerate(x.extents) if keepdims or k not in axes))


def accumulation(function: Any) -> Any:
    """The implementation of the accumulation of a ufunc, by the facts of its rule; None for other functions."""
    ufunc = facts_of(function).accumulates
    return None if ufunc is None else partial(_running, function, ufunc)


def _running(function: Any, ufunc: np.ufunc, a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    """`cumsum` and `cumprod`."""
    _only(function, out=out)
    a = dense(a)
    if axis is None:
        if a.ndim > 1:
            raise unknown(f"{operation_name(function)} of several axes", "give an axis")
        axis = 0
    (k,) = _axes(a, axis)
    found = function(masked(a, ufunc.identity), axis=k, **({} if dtype is None else {"dtype": dtype}))
    return shown(found, a.extents)


BY_FACTS.extend([reduction, accumulation])


@knows(np.median)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: bool = False) -> Any:
    """`np.median` of an array of one axis."""
    if a.ndim != 1 or out is not None or overwrite_input or keepdims:
        raise unknown("np.median of several axes, or with out=, overwrite_input= or keepdims=")
    _check_not_empty(np.median, a, (0,))
    ordered, count = np.sort(a), a.shape[0]
    middle = (ordered[(count - 1) // 2] + ordered[count // 2]) / 2
    # A NaN comes last in order, and is the median wherever it is.
    last = ordered[-1]
    return np.where(np.isnan(last), last, middle)[()] if a.dtype.kind == "f" else middle


@knows(np.trapezoid)
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """`np.trapezoid` of an array of one axis."""
    if len(np.shape(y)) != 1:
        raise unknown("np.trapezoid of several axes")
    steps = dx if x is None else np.diff(x)
    return np.sum(steps * (y[1:] + y[:-1]) / 2.0)


@knows(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, **how: Any) -> Any:
    """`np.sort`: what is not there comes last, beside NaNs."""
    _only(np.sort, order=order)
    if how.pop("stable", None) is not None or any(how.values()):
        _only(np.sort, **{name: name for name in how})
    a = dense(a)
    if axis is None or a.dtype.kind == "c":
        raise unknown("np.sort of complex numbers, or with axis=None")
    (k,) = _axes(a, axis)
    found = np.sort(masked(a, np.nan if a.dtype.kind == "f" else _highest(a.dtype)), axis=k)
    one = a.extents[k]
    own = None if one is None else Extent(Affine.of(0), one.length)
    return shown(found, tuple(own if j == k else e for j, e in enumerate(a.extents)))
