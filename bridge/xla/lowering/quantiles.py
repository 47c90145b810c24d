"""Quantiles by every method of NumPy's, of which jax.numpy has some: positions between the sorted values."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import weak_dtype, weak_for_result_type
from bridge.xla.lowering.register import entry

# Hyndman and Fan, "Sample quantiles in statistical packages" (1996): the place is n*q + alpha + q*(1-alpha-beta) - 1.
_CONTINUOUS = {
    "interpolated_inverted_cdf": (0.0, 1.0), "hazen": (0.5, 0.5), "weibull": (0.0, 0.0), "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3, 1 / 3), "normal_unbiased": (3 / 8, 3 / 8),
}  # fmt: skip

# Methods that choose one of the values, and do not compute between two.
_CHOOSING = frozenset({"inverted_cdf", "closest_observation", "lower", "higher", "nearest"})


def _in_common_dtype(a: Any, q: Any, method: str) -> Any:
    """The array in its common dtype with `q`, of which a Python number is weak."""
    kind = np.dtype(weak_dtype(a))
    kind = kind if method in _CHOOSING else np.result_type(kind, weak_for_result_type(q))
    return jnp.asarray(a, kind if kind.kind in "fc" else np.float64)


def _position(q: Any, n: Any, method: str) -> tuple[Any, Any, Any]:
    """The sorted places below and above the quantile, and the part of the way between them."""
    if method in _CONTINUOUS:
        alpha, beta = _CONTINUOUS[method]
        virtual = n * q + (alpha + q * (1 - alpha - beta)) - 1
        low = jnp.floor(virtual)
        return low, low + 1, virtual - low
    virtual = (n - 1) * q
    if method == "median":
        return jnp.floor(virtual), jnp.ceil(virtual), 0.5
    if method == "midpoint":
        virtual = 0.5 * (jnp.floor(virtual) + jnp.ceil(virtual))
        low = jnp.floor(virtual)
        return low, low + 1, jnp.where(virtual == low, 0.0, 0.5)
    if method == "averaged_inverted_cdf":
        whole = jnp.floor(n * q)
        return whole - 1, whole, jnp.where(n * q == whole, 0.5, 1.0)
    place = _place(virtual, n * q - 1, method)
    return place, place, 0.0


def _place(virtual: Any, step: Any, method: str) -> Any:
    """The sorted place of a quantile that is one of the values."""
    if method in ("lower", "higher", "nearest"):
        return {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}[method](virtual)
    step = step - 0.5 if method == "closest_observation" else step
    low = jnp.floor(step)
    is_low = step == low
    if method == "closest_observation":
        is_low = is_low & (jnp.mod(low, 2) == 1)
    elif method != "inverted_cdf":
        raise NotImplementedError(f"method={method!r}")
    return jnp.where(is_low, low, low + 1)


def _between(below: Any, above: Any, part: Any, method: str) -> Any:
    """A part of the way between two values, computed as NumPy does it: beside an infinity its NaNs are NumPy's."""
    if method in _CHOOSING:
        return below
    if method == "median":
        return 0.5 * (below + above)
    way = above - below
    return jnp.where(part >= 0.5, above - way * (1 - part), below + way * part)


def _quantile(a: Any, q: Any, axis: Any, method: str, keepdims: bool, skips: bool) -> Any:
    dims = tuple(range(a.ndim)) if axis is None else tuple(k % a.ndim for k in np.atleast_1d(axis).tolist())
    rest = tuple(k for k in range(a.ndim) if k not in dims)
    kept = tuple(a.shape[k] for k in rest)
    shape = tuple(1 if k in dims else n for k, n in enumerate(a.shape)) if keepdims else kept
    rows = (
        jnp.reshape(jnp.transpose(a, (*dims, *rest)), (-1, *kept)) if a.size else jnp.full((1, *kept), jnp.nan, a.dtype)
    )
    ordered = jnp.sort(rows, axis=0)
    count = rows.shape[0]
    broken = jnp.isnan(ordered[-1])
    n = jnp.sum(~jnp.isnan(rows), axis=0) if skips else count
    q = jnp.asarray(q, a.dtype)
    spread = jnp.reshape(q, q.shape + (1,) * len(kept))
    low, high, part = _position(spread, n, method)
    last = jnp.maximum(n - 1, 0)

    def at(place: Any) -> Any:
        index = jnp.clip(place, 0, last).astype(np.intp)
        index = jnp.broadcast_to(index, q.shape + kept).reshape((-1, *kept))
        return jnp.take_along_axis(ordered, index, axis=0).reshape(q.shape + kept)

    below, above = at(low), at(high)
    found = _between(below, above, part, method)
    if method == "median":
        found = jnp.where(low == high, below, found)
    bad = n == 0 if skips else broken
    return jnp.reshape(jnp.where(bad, jnp.nan, found), q.shape + shape)


def _register(name: str, skips: bool, percent: bool) -> None:
    @entry(name)
    def quantile(a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
        a = _in_common_dtype(a, q, method)
        return _quantile(a, jnp.asarray(q, a.dtype) / 100 if percent else q, axis, method, keepdims, skips)


for _name, _skips, _percent in (
    ("np.quantile", False, False), ("np.percentile", False, True),
    ("np.nanquantile", True, False), ("np.nanpercentile", True, True),
):  # fmt: skip
    _register(_name, _skips, _percent)


@entry("np.median")
def median(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean of the two middle values: at a tie of their places the place itself."""
    return _median(a, axis, keepdims, False)


@entry("np.nanmedian")
def nanmedian(a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """The median of what is no NaN."""
    return _median(a, axis, keepdims, True)


def _median(a: Any, axis: Any, keepdims: bool, skips: bool) -> Any:
    return _quantile(a, 0.5, axis, "median", keepdims, skips)
