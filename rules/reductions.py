"""Reductions: sums, means, products, extrema, variances.

Every pull spreads the cotangent of the result over the elements that were reduced. Ties of `max` and
`min` share equally, the standard deviation has derivative zero where it is zero, and products are taken
over the other elements without dividing, so that zeros in the data are no special case.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, composed, conj, nondifferentiable, rule, sum_to_shape
from bridge.rules.contractions import as_operand

_SHORT = 1 << 10


def _kept(ct, a, axis, keepdims):
    """A reduction's result in a shape that broadcasts against `a`."""
    return ct if axis is None or keepdims or a.ndim == 0 else np.expand_dims(ct, axis)


def _real_if(operand, cotangent):
    """The real part where a real operand met complex ones (`dtype=`, a complex mean)."""
    return np.real(cotangent) if cotangent.dtype.kind == "c" and operand.dtype.kind != "c" else cotangent


def _fitted(cotangent, a):
    """A cotangent of `a`, broadcast to its shape."""
    cotangent = _real_if(a, cotangent)
    if cotangent.shape == a.shape:
        return cotangent
    # A short vector is made sooner than a view. Of more axes it would decide in which order others lie.
    is_short = isinstance(cotangent, np.generic) and len(a.shape) == 1 and a.shape[0] < _SHORT
    return np.full(a.shape, cotangent) if is_short else np.broadcast_to(cotangent, a.shape)


def _masked(value, where):
    return value if where is True else np.where(where, value, 0)


def _axes(axis, ndim):
    """The reduced axes, counted from the front."""
    if axis is None or ndim == 0:
        return tuple(range(ndim))
    return tuple(k % ndim for k in (axis if isinstance(axis, tuple) else (axis,)))


def _count(a, axis, where, dtype):
    """How many elements were reduced into each result, as `dtype`; an array with the axes kept under `where`."""
    if where is not True:
        return np.sum(np.broadcast_to(where, a.shape), axis=axis, keepdims=True, dtype=dtype)
    count = 1
    for k in _axes(axis, a.ndim):
        count *= a.shape[k]
    return dtype.type(count)


@rule(np.sum, reads=("where",), linear=True, facts=Facts(reduces=np.add, offsets=("initial",)))
def sum_(ct, out, a, axis=None, dtype=None, _out=None, keepdims=False, initial=0, where=True):
    spread = _fitted(_masked(_kept(ct, a, axis, keepdims), where), a)
    return spread, None, None, None, None, np.sum(ct) if hasattr(initial, "dtype") else None


@rule(np.mean, reads=("where",), linear=True, facts=Facts(precision="inexact"))
def mean(ct, out, a, axis=None, dtype=None, _out=None, keepdims=False, *, where=True):
    count = np.maximum(_count(a, axis, where, ct.real.dtype), 1)
    return _fitted(_masked(_kept(ct, a, axis, keepdims) / count, where), a)


@composed(np.average, facts=Facts(promotes=("a", "weights"), precision="inexact", weights=("weights",)))
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    a = as_operand(a)
    if weights is None:
        mean = np.mean(a, axis=axis, keepdims=keepdims)
        return (mean, np.full_like(mean, a.size / np.size(mean))) if returned else mean
    if np.shape(weights) != a.shape:
        named = tuple(k % a.ndim for k in (axis if isinstance(axis, tuple) else (axis,)))
        in_order = np.transpose(weights, sorted(range(len(named)), key=lambda k: named[k]))
        weights = np.reshape(in_order, tuple(n if k in named else 1 for k, n in enumerate(a.shape)))
    total = np.sum(weights, axis=axis, keepdims=keepdims)
    mean = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return (mean, total + np.zeros_like(mean)) if returned else mean


def _reduced_last(a, axis):
    """`a` with the reduced axes flattened into the last one, the order of its axes, and the shape before flattening."""
    reduced = _axes(axis, a.ndim)
    order = tuple(k for k in range(a.ndim) if k not in reduced) + reduced
    moved = np.transpose(a, order)
    length = 1
    for k in reduced:
        length *= a.shape[k]
    return np.reshape(moved, (*moved.shape[: a.ndim - len(reduced)], length)), order, moved.shape


def _products_of_others(x):
    """For each element along the last axis, the product of all the others.

    Products from the left times products from the right: a polynomial, so right at zeros, to every order.
    """
    one = np.ones_like(x[..., :1])
    left = np.concatenate([one, np.cumprod(x[..., :-1], axis=-1)], axis=-1)
    right = np.concatenate([one, np.cumprod(x[..., :0:-1], axis=-1)], axis=-1)
    return left * right[..., ::-1]


@rule(np.prod, facts=Facts(reduces=np.multiply))
def prod(ct, out, a, axis=None, dtype=None, _out=None, keepdims=False, initial=1, where=True):
    share = _kept(ct if initial is None else ct * conj(initial), a, axis, keepdims)
    by_initial = None
    if hasattr(initial, "dtype"):
        by_initial = np.sum(ct * conj(np.prod(a, axis=axis, keepdims=keepdims, where=where)))
    if a.size:
        factors, order, shape = _reduced_last(a if where is True else np.where(where, a, 1), axis)
        others = np.reshape(_products_of_others(factors), shape)
        share = share * conj(np.transpose(others, sorted(range(a.ndim), key=lambda k: order[k])))
    return _fitted(_masked(share, where), a), None, None, None, None, by_initial


def _shared(ct, out, a, axis, keepdims, initial, where, nan_wins):
    """Winners share equally; where a NaN among the data wins, the result is NaN."""
    extremum = _kept(out, a, axis, keepdims)
    won = (a == extremum) | (a != a) if nan_wins else a == extremum
    if where is not True:
        won = won & where
    winners = np.sum(won, axis=axis, keepdims=True, dtype=ct.real.dtype)
    share = _kept(ct, a, axis, keepdims) / np.maximum(winners, 1)
    if initial is None:
        return np.where(won, share, 0)
    initial_won = initial == extremum
    share = _kept(ct, a, axis, keepdims) / np.maximum(winners + initial_won, 1)
    return np.where(won, share, 0), None, None, None, np.sum(np.where(initial_won, share, 0))


def _extremum(ct, out, a, axis=None, _out=None, keepdims=False, initial=None, where=True):
    return _shared(ct, out, a, axis, keepdims, initial, where, nan_wins=True)


def _nan_extremum(ct, out, a, axis=None, _out=None, keepdims=False, initial=None, where=True):
    return _shared(ct, out, a, axis, keepdims, initial, where, nan_wins=False)


for _function in (np.max, np.amax):
    rule(_function, structure="linear", facts=Facts(reduces=np.maximum))(_extremum)
for _function in (np.min, np.amin):
    rule(_function, structure="linear", facts=Facts(reduces=np.minimum))(_extremum)
for _function in (np.nanmax, np.nanmin):
    rule(_function, structure="linear", facts=Facts(nan_aware=True))(_nan_extremum)


@composed(np.ptp)
def ptp(a, axis=None, _out=None, keepdims=False):
    return np.max(a, axis=axis, keepdims=keepdims) - np.min(a, axis=axis, keepdims=keepdims)


def _of_squares(ct, a, axis, ddof, keepdims, where, mean, correction):
    """Cotangents of `a`, of what is taken off the count and of a given `mean`, through their mean square difference."""
    given = mean is not np._NoValue
    deviation = _masked(a - (mean if given else np.mean(a, axis=axis, keepdims=True, where=where)), where)
    if a.dtype.kind != "c":
        # NumPy takes (a - mean)**2 for real a, even if the mean is complex, and |a - mean|**2 for complex a.
        deviation = conj(deviation)
    removed = ddof if correction is np._NoValue else correction
    freedom = np.maximum(_count(a, axis, where, ct.real.dtype) - removed, 0).astype(ct.real.dtype)
    share = 2 * _kept(ct, a, axis, keepdims) / freedom
    by_removed = by_mean = None
    if hasattr(removed, "dtype"):
        squares = deviation * deviation if a.dtype.kind != "c" else np.abs(deviation) ** 2
        by_removed = np.sum(np.real(share * squares) / (2 * freedom))
    if given and hasattr(mean, "dtype"):
        by_mean = sum_to_shape(_real_if(mean, -share * deviation), mean.shape)
    return _fitted(share * deviation, a), None, None, None, by_removed, None, None, by_mean, by_removed


@rule(np.var, facts=Facts(precision="inexact"))
def var(
    ct, out, a, axis=None, dtype=None, _out=None, ddof=0, keepdims=False,
    *, where=True, mean=np._NoValue, correction=np._NoValue,
):  # fmt: skip
    return _of_squares(ct, a, axis, ddof, keepdims, where, mean, correction)


@rule(np.std, facts=Facts(precision="inexact"))
def std(
    ct, out, a, axis=None, dtype=None, _out=None, ddof=0, keepdims=False,
    *, where=True, mean=np._NoValue, correction=np._NoValue,
):  # fmt: skip
    at_zero = out == 0
    through_root = np.where(at_zero, 0, ct) / np.where(at_zero, 1, 2 * conj(out))
    return _of_squares(through_root, a, axis, ddof, keepdims, where, mean, correction)


nondifferentiable(np.count_nonzero, np.argmax, np.argmin)
nondifferentiable(np.nanargmax, np.nanargmin, facts=Facts(nan_aware=True))
nondifferentiable(np.any, facts=Facts(reduces=np.logical_or))
nondifferentiable(np.all, facts=Facts(reduces=np.logical_and))


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    z = x + 1j * rng.normal(size=(3, 4))
    cube = rng.normal(size=(2, 3, 4))
    chosen = rng.random((3, 4)) < 0.7
    chosen[:, 0] = True
    weights = rng.random((3, 4)) + 0.5
    zeros = np.array([[0.0, 2.0, -1.5], [0.0, 3.0, 0.0], [1.0, 2.0, 0.5]])
    for function in (np.sum, np.mean, np.prod, np.max, np.min, np.amax, np.amin, np.ptp, np.var, np.std):
        yield Case(function, (x,))
        yield Case(function, (x,), {"axis": 0})
        yield Case(function, (x.T,), {"axis": -1, "keepdims": True})
        yield Case(function, (cube,), {"axis": (0, -1)})
        yield Case(function, (cube[:, ::2],), {"axis": (2, 1), "keepdims": True})
        yield Case(function, (x.astype(np.float32), 1), tolerance=2e-2)
    for function in (np.sum, np.mean, np.prod, np.var, np.std):
        yield Case(function, (x,), {"where": chosen, "axis": 1})
        yield Case(function, (x,), {"where": chosen[0]})
        yield Case(function, (z,), {"axis": 0})
        yield Case(function, (z[:, ::2],))
    for function in (np.sum, np.prod, np.max, np.min):
        yield Case(function, (x,), {"initial": 0.3, "where": chosen, "axis": 0})
        yield Case(function, (x[0, 0],))
        yield Case(function, (x[:0],), {"initial": 2.0, "axis": 0})
    for function in (np.nanmax, np.nanmin):
        yield Case(function, (x,))
        yield Case(function, (x.T,), {"axis": (1,), "keepdims": True})
        yield Case(function, (x,), {"axis": 0, "where": chosen, "initial": 0.1})
        yield Case(function, (x,), {"axis": 1, "initial": None})
    yield Case(np.sum, (np.float64(1.5),), {"axis": 0})
    yield Case(np.sum, (x, 0, None, None, True))
    yield Case(np.sum, (x,), {"dtype": complex, "axis": 1})
    yield Case(np.sum, (x[:0],))
    yield Case(np.prod, (zeros,), {"axis": 1})
    yield Case(np.prod, (zeros,), {"axis": 0})
    yield Case(np.prod, (zeros[0],))
    for function in (np.var, np.std):
        yield Case(function, (x,), {"ddof": 1, "axis": 0})
        yield Case(function, (x,), {"correction": 1.5})
        yield Case(function, (x, 1, None, None, np.float64(0.7)))
        yield Case(function, (z, None, None, None, np.float64(0.7)))
        yield Case(function, (x,), {"axis": 1, "mean": rng.normal(size=(3, 1))})
        yield Case(function, (x,), {"mean": 0.25})
    for extra in ({}, {"returned": True}, {"axis": 1, "keepdims": True}):
        yield Case(np.average, (x,), extra)
        yield Case(np.average, (x,), {"weights": weights, **extra})
    yield Case(np.average, (z, 0, weights))
    yield Case(np.average, (x, 1, weights[0]))
    yield Case(np.average, (cube, (2, 0), weights[:2].T), {"returned": True})
