"""Sorting, distinct values, and lookup in sorted tables.

Equal values share what arrives at them, as ties of `max` do: the mean over all the orders in which they
could stand. That also makes the pull independent of the algorithm that sorted.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, RuleError, composed, conj, is_tracked, nondifferentiable, refused, rule, zeros


def _shared_by_ties(ct, values):
    """The mean of `ct` over each run of equal `values` along the last axis; shapes do not depend on values."""
    starts = np.concatenate([np.ones_like(values[..., :1], dtype=bool), values[..., 1:] != values[..., :-1]], axis=-1)
    run = np.reshape(np.cumsum(np.reshape(starts, -1)) - 1, values.shape)
    total, count = zeros(ct.size, like=ct), zeros(ct.size, like=ct)
    np.add.at(total, run, ct)
    np.add.at(count, run, 1)
    return total[run] / count[run]


def _put_back(shared, a, **order):
    """Values along the last axis, in the order of `a` sorted, to where those elements of `a` stand."""
    result = zeros(shared.shape, like=shared if is_tracked(shared) else a, dtype=shared.dtype)
    np.put_along_axis(result, np.argsort(a, axis=-1, **order), shared, axis=-1)
    return result


def _from_sorted(ct, out, a):
    return _put_back(_shared_by_ties(ct, out), a)


def _from_descending(ct, out, a):
    return _put_back(_shared_by_ties(ct, out), a, descending=True)


def _from_reordered(ct, out, a):
    order = np.argsort(out, axis=-1)
    ordered = (np.take_along_axis(array, order, axis=-1) for array in (ct, out))
    return _put_back(_shared_by_ties(*ordered), a)


def _along(axis, pull, ct, out, a):
    """`pull`, which works along the last axis, along any; None is the flattened array."""
    if a.size == 0:
        return np.zeros_like(a)
    if axis is None:
        return np.reshape(pull(ct, out, np.reshape(a, -1)), a.shape)
    return np.moveaxis(pull(*(np.moveaxis(array, axis, -1) for array in (ct, out, a))), -1, axis)


@rule(np.sort, structure="linear")
def sort(ct, out, a, axis=-1, kind=None, order=None, *, stable=None, descending=None):
    # `descending` is one of NumPy's since 2.5.
    return _along(axis, _from_descending if descending else _from_sorted, ct, out, a)


@rule(np.partition, structure="linear", facts=Facts(static=("kth",), traced=("kth",)))
def partition(ct, out, a, kth, axis=-1, kind="introselect", order=None):
    return _along(axis, _from_reordered, ct, out, a)


def _shared_by_duplicates(ct, values, a):
    """Cotangent of `a`, whose distinct values are `values`: the duplicates of a value share its cotangent."""
    if ct is None:
        return np.zeros_like(a)
    flat = np.reshape(a, -1)
    order = np.argsort(flat)
    ordered = flat[order]
    # All NaNs are one value.
    other = (ordered[1:] != ordered[:-1]) & ((ordered[1:] == ordered[1:]) | (ordered[:-1] == ordered[:-1]))
    run = np.concatenate([np.zeros(min(1, flat.size), int), np.cumsum(other)])
    count = zeros(ct.shape, like=ct)
    np.add.at(count, run, 1)
    shared = (ct[np.argsort(values)] / count)[run]
    result = zeros(shared.shape, like=shared if is_tracked(shared) else a, dtype=shared.dtype)
    result[order] = shared
    return np.reshape(result, a.shape)


@rule(np.unique, structure="linear")
def unique(
    ct, out, ar, return_index=False, return_inverse=False, return_counts=False, axis=None,
    *, equal_nan=True, sorted=True,
):  # fmt: skip
    if axis is not None or not equal_nan:
        raise RuleError(
            "np.unique has a rule for single values only, not with axis= or equal_nan=False",
            remedy="take the indices from np.unique(bridge.detach(x), return_index=True, ...) and index x with them",
        )
    several = return_index or return_inverse or return_counts
    return _shared_by_duplicates(*((ct[0], out[0]) if several else (ct, out)), ar)


@rule(np.unique_values, structure="linear")
def unique_values(ct, out, x):
    return _shared_by_duplicates(ct, out, x)


def _unique_first(ct, out, x):
    return _shared_by_duplicates(ct[0], out[0], x)


for _function in (np.unique_all, np.unique_counts, np.unique_inverse):
    rule(_function, structure="linear")(_unique_first)


@composed(np.union1d, facts=Facts(promotes=("ar1", "ar2")))
def union1d(ar1, ar2):
    return np.unique(np.concatenate([np.reshape(ar1, -1), np.reshape(ar2, -1)]))


nondifferentiable(np.argsort, np.lexsort, np.digitize)
nondifferentiable(np.argpartition, facts=Facts(static=("kth",), traced=("kth",)))
nondifferentiable(np.searchsorted, facts=Facts(promotes=("a", "v")))
refused(
    "which elements it keeps depends on comparing two sets; choose them with a mask, x[np.isin(x, y)], and sort",
    np.intersect1d,
    np.setdiff1d,
    np.setxor1d,
)
refused("it turns real numbers into complex ones; write np.sort(x + 0j)", np.sort_complex)


def _array(values):
    return np.asarray(values) if isinstance(values, (list, tuple)) else values


def _gap(x, xp, fp, side):
    """The knots around `x`, the weight of the one above, and the slope; `side` says which gap counts at a knot."""
    last = xp.shape[0] - 1
    above = np.clip(np.searchsorted(xp, x, side=side), min(1, last), last)
    below = np.maximum(above - 1, 0)
    low, high = (x <= xp[0], x > xp[last]) if side == "left" else (x < xp[0], x >= xp[last])
    inside = ~(low | high)
    width = np.where(inside, _at(xp, above) - _at(xp, below), 1)
    slope = np.where(inside, _at(fp, above) - _at(fp, below), 0) / width
    return below, above, np.where(inside, (x - _at(xp, below)) / width, high), slope


def _at(table, places):
    """`table[places]`, of which either may be plain: a plain array would ask a traced index for its value."""
    return np.reshape(np.take_along_axis(table, np.reshape(places, -1), 0), np.shape(places))


def _scattered(count, *parts):
    """Values added up at their places, in an array of length `count`."""
    result = zeros(count, like=parts[0][1])
    for places, values in parts:
        np.add.at(result, places, values)
    return result


def _through_table(ct, x, xp, fp, left, right):
    """Cotangents of `(x, xp, fp)`; at a knot, that of `x` goes through the mean of the slopes on its two sides."""
    by_x, by_xp = 0, 0
    for side in ("left", "right"):
        below, above, weight, slope = _gap(x, xp, fp, side)
        half = np.real(ct * conj(slope)) / 2
        by_x = by_x + half
        by_xp = by_xp + _scattered(xp.shape[0], (below, half * (weight - 1)), (above, -half * weight))
    if left is not None:
        ct = np.where(x < xp[0], 0, ct)
    if right is not None:
        ct = np.where(x > xp[-1], 0, ct)
    ct = ct if fp.dtype.kind == "c" else np.real(ct)
    return by_x, by_xp, _scattered(fp.shape[0], (below, ct * (1 - weight)), (above, ct * weight))


def _constant(ct, given):
    """Cotangent of a `left` or `right`."""
    if not hasattr(given, "dtype"):
        return None
    return np.sum(ct if given.dtype.kind == "c" else np.real(ct))


@rule(np.interp, facts=Facts(precision="double"))
def interp(ct, out, x, xp, fp, left=None, right=None, period=None):
    x, xp, fp = np.real(x), np.real(_array(xp)), _array(fp)
    if xp.size == 0:  # there is nothing to interpolate then
        return np.zeros(x.shape), np.zeros(0), np.zeros(0, fp.dtype), _constant(ct, left), _constant(ct, right)
    if period is None:
        by_left, by_right = _constant(np.where(x < xp[0], ct, 0), left), _constant(np.where(x > xp[-1], ct, 0), right)
        return *_through_table(ct, x, xp, fp, left, right), by_left, by_right
    period = abs(period)
    order = np.argsort(xp % period)
    knots, values = (xp % period)[order], fp[order]
    knots = np.concatenate([knots[-1:] - period, knots, knots[:1] + period])
    values = np.concatenate([values[-1:], values, values[:1]])
    by_x, *by_wrapped = _through_table(ct, x % period, knots, values, None, None)
    back = np.argsort(order)
    return by_x, *(_folded(wrapped)[back] for wrapped in by_wrapped)


def _folded(wrapped):
    """One period of a cotangent whose first and last entries repeat the other end."""
    inner = wrapped[1:-1]
    inner[-1:] += wrapped[:1]
    inner[:1] += wrapped[-1:]
    return inner


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.permutation(12).reshape(3, 4) + 0.3 * rng.random((3, 4))
    z = x + 1j * rng.normal(size=(3, 4))
    for array in (x, x.T, z, x[::2, ::2], x[:0]):
        yield Case(np.sort, (array,))
        yield Case(np.sort, (array,), {"axis": 0, "kind": "stable"})
        yield Case(np.sort, (array, None))
        yield Case(np.unique, (array,))
        if "descending" in inspect.signature(np.sort).parameters:  # NumPy 2.5
            yield Case(np.sort, (array,), {"descending": True})
            yield Case(np.sort, (array, None), {"descending": True})
    yield Case(np.sort, (x.astype(np.float32),), tolerance=2e-2)
    yield Case(np.partition, (x, 2))
    yield Case(np.partition, (x.T, (0, 2)), {"axis": 0})
    yield Case(np.partition, (z, 5), {"axis": None})
    yield Case(np.unique, (x,), {"return_index": True, "return_counts": True})
    for function in (np.unique_values, np.unique_all, np.unique_counts, np.unique_inverse):
        yield Case(function, (x,))
    yield Case(np.union1d, (x[0], x[1:]))
    knots = np.cumsum(rng.random(5) + 0.5)
    table, places = rng.normal(size=5), np.array([[-1.0, 1.1, 1.3], [2.6, 1.9, 9.0]])
    yield Case(np.interp, (places, knots, table))
    yield Case(np.interp, (places.T[::2], knots, table + 1j * rng.normal(size=5)))
    yield Case(np.interp, (places, knots, table), {"left": 0.5, "right": np.float64(2.0)})
    yield Case(np.interp, (places, rng.permutation(knots), table), {"period": 1.7})
    yield Case(np.interp, (np.float64(1.4), [0.0, 1.0, 2.0], table[:3]))
    yield Case(np.interp, (places, knots[:1], table[:1]))
