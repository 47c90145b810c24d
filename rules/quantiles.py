"""Medians and quantiles: interpolation between two of the sorted values.

The pulls come from the pull of `np.sort`, so equal values share what arrives at them. The quantile `q`
is differentiated too, as the piecewise linear function of `q` that the interpolation is.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, RuleError, composed
from bridge.rules.contractions import as_operand

# Plotting positions (alpha, beta) of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996.
POSITIONS = {
    "interpolated_inverted_cdf": (0, 1),
    "hazen": (0.5, 0.5),
    "weibull": (0, 0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
}


def _neighbours(n, q, method):
    """The index at or below the quantile `q` of `n` sorted values, and the weight of the next one."""
    span = (n - 1) * q
    if method == "linear":
        lower = np.floor(span)
        return lower, span - lower
    if method in POSITIONS:
        alpha, beta = POSITIONS[method]
        place = n * q + (alpha + q * (1 - alpha - beta)) - 1
        lower = np.floor(place)
        return lower, place - lower
    if method == "averaged_inverted_cdf":
        lower = np.floor(n * q - 1)
        return lower, np.where(n * q - 1 == lower, 0.5, 1.0)
    if method == "midpoint":
        return np.floor(span), np.where(np.floor(span) == np.ceil(span), 0.0, 0.5)
    if method == "closest_observation":
        lower = np.floor(n * q - 1.5)
        chosen = np.where((n * q - 1.5 == lower) & (lower % 2 == 1), lower, lower + 1)
    else:
        rounding = {"inverted_cdf": np.ceil, "lower": np.floor, "higher": np.ceil, "nearest": np.around}[method]
        chosen = rounding(n * q - 1 if method == "inverted_cdf" else span)
    return chosen, np.zeros_like(chosen)


def _sorted_first(a, axis):
    """`a` sorted along a new first axis into which the reduced axes were flattened, and the shape with them kept."""
    reduced = range(a.ndim) if axis is None else [k % a.ndim for k in (axis if isinstance(axis, tuple) else (axis,))]
    rest = [k for k in range(a.ndim) if k not in reduced]
    moved = np.transpose(a, [*reduced, *rest])
    length = 1
    for k in reduced:
        length *= a.shape[k]
    flat = np.reshape(moved, (length, *(a.shape[k] for k in rest)))
    return np.sort(flat, axis=0), tuple(1 if k in reduced else a.shape[k] for k in range(a.ndim))


def _quantile(a, q, axis, method, keepdims, weights, skip_nan, fixed=False):
    if weights is not None:
        raise RuleError(
            "a quantile with weights= has no rule",
            remedy="sort the values with np.sort and pick the element by its index, or use bridge.detach",
        )
    a = as_operand(a)
    values, kept = _sorted_first(a if a.dtype.kind in "fc" else a.astype(float), axis)
    missing = np.isnan(values)
    n = values.shape[0]
    if n == 0:
        return np.full(np.shape(q) + (kept if keepdims else values.shape[1:]), np.nan)
    if skip_nan:
        n = np.sum(~missing, axis=0)
        values = np.where(missing, 0, values)
    positions = np.reshape(q, (-1,) + (1,) * (values.ndim - 1))
    below, weight = _neighbours(n, positions, method)
    full = (below.shape[0], *values.shape[1:])
    last = np.maximum(n - 1, 0)
    lower, upper = (np.broadcast_to(np.clip(k, 0, last).astype(np.intp), full) for k in (below, below + 1))
    if fixed:
        # What has no weight is not read, so that a slope there which is not finite does not matter.
        upper = np.where(weight == 0, lower, upper)
    weight = weight.astype(values.dtype)
    result = np.take_along_axis(values, lower, axis=0) * (1 - weight)
    result = result + np.take_along_axis(values, upper, axis=0) * weight
    if not skip_nan:
        result = np.where(missing[-1], values[-1], result)
    return np.reshape(result, np.shape(q) + (kept if keepdims else values.shape[1:]))


@composed(np.quantile)
def quantile(a, q, axis=None, _out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantile(a, q, axis, method, keepdims, weights, skip_nan=False)


@composed(np.nanquantile, facts=Facts(nan_aware=True))
def nanquantile(a, q, axis=None, _out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantile(a, q, axis, method, keepdims, weights, skip_nan=True)


@composed(np.percentile)
def percentile(a, q, axis=None, _out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantile(a, np.true_divide(q, 100), axis, method, keepdims, weights, skip_nan=False)


@composed(np.nanpercentile, facts=Facts(nan_aware=True))
def nanpercentile(a, q, axis=None, _out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    return _quantile(a, np.true_divide(q, 100), axis, method, keepdims, weights, skip_nan=True)


@composed(np.median, facts=Facts(precision="inexact"))
def median(a, axis=None, _out=None, overwrite_input=False, keepdims=False):
    return _quantile(a, 0.5, axis, "linear", keepdims, None, skip_nan=False, fixed=True)


@composed(np.nanmedian, facts=Facts(nan_aware=True, precision="inexact"))
def nanmedian(a, axis=None, _out=None, overwrite_input=False, keepdims=False):
    return _quantile(a, 0.5, axis, "linear", keepdims, None, skip_nan=True, fixed=True)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 5))
    cube = rng.normal(size=(2, 3, 4))
    for function in (np.median, np.nanmedian):
        yield Case(function, (x,))
        yield Case(function, (x,), {"axis": 1})
        yield Case(function, (x.T,), {"axis": -1, "keepdims": True})
        yield Case(function, (cube,), {"axis": (0, -1)})
        yield Case(function, (x[1].astype(np.float32),), tolerance=2e-2)
        yield Case(function, (x[:0],), {"axis": 0})
    for function, scale in ((np.quantile, 1), (np.nanquantile, 1), (np.percentile, 100), (np.nanpercentile, 100)):
        yield Case(function, (x, 0.3 * scale))
        yield Case(function, (x, [0.1 * scale, 0.83 * scale]), {"axis": 0})
        yield Case(function, (x[:, ::2], np.array([[0.21], [0.6]]) * scale), {"axis": 1, "keepdims": True})
        yield Case(function, (cube, 0.7 * scale), {"axis": (1, 2)})
        yield Case(function, (x[0], np.float64(0.62 * scale)))
        yield Case(function, (np.array([3, 1, 7, 2]), np.float64(0.62 * scale)))
        yield Case(function, ([3, 1, 7, 2], np.array([0.2, 0.62]) * scale))
    discrete = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation", "lower", "higher", "midpoint")
    for method in (*POSITIONS, *discrete, "nearest"):
        yield Case(np.quantile, (x, [0.0, 0.13, 0.5, 0.77, 1.0]), {"axis": 0, "method": method})
        yield Case(np.nanquantile, (x, 0.4), {"axis": 1, "method": method})
