"""What methods of ufuncs do step by step, and their derivatives without a step for each element.

A ufunc that goes along an axis is a recurrence, `out[k] = f(out[k - 1], x[k])`. Its partial derivatives are taken for
all steps at once, and what is left, a linear recurrence backwards, by doubling. Segments (`reduceat`, `at` with indices
that are named often) are rows of matrices, one for each power of two of their lengths, along which the ufunc goes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.rule_book import ZERO_PULL, find


def has_partials(ufunc: np.ufunc) -> bool:
    """Whether the derivatives of a ufunc are known apart from an engine's."""
    return ufunc in ZERO_PULL or find(ufunc) is not None


def accumulated_back(ufunc: np.ufunc, ct: Any, out: Any, x: Any) -> Any:
    """The cotangent of `x`, where `out` is `ufunc.accumulate(x)` along the first axis and `ct` its cotangent."""
    if ct.shape[0] < 2:
        return ct
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        before, own = _partials(ufunc, out[:-1], x[1:], out[1:])
        arrived = _recurred_back(before, ct)
        return np.concatenate([arrived[:1], _times(own, arrived[1:])])


def _partials(ufunc: np.ufunc, before: Any, own: Any, out: Any) -> tuple[Any, Any]:
    rule = find(ufunc)
    nothing = np.zeros(out.shape, out.dtype)
    if rule is None:
        return nothing, nothing
    found = dict(rule.pull(np.ones(out.shape, out.dtype), out, (before, own), {}, (0, 1)))
    first, second = (nothing if found.get(k) is None else found[k] for k in (0, 1))
    return first, second


def _recurred_back(factors: Any, ct: Any) -> Any:
    """What solves `g[k] = ct[k] + factors[k] * g[k + 1]`."""
    found, count, distance = ct, ct.shape[0], 1
    while distance < count:
        rest = count - distance
        found = np.concatenate([found[:rest] + _times(factors, found[distance:]), found[rest:]])
        if 2 * distance < count:
            factors = factors[: count - 2 * distance] * factors[distance:]
        distance *= 2
    return found


def _times(factor: Any, ct: Any) -> Any:
    """A product in which nothing passes where the factor is zero; linear in `ct`, as forward mode needs it."""
    return factor * np.where(factor == 0, 0, ct)


def in_segments(ufunc: np.ufunc, x: Any, at: np.ndarray, starts: np.ndarray) -> Any:
    """For each segment the ufunc along it: the elements `x[at[starts[s] : starts[s + 1]]]` of the first axis of `x`.

    No segment is empty.
    """
    lengths = np.diff(np.append(starts, at.size))
    kinds = np.ceil(np.log2(lengths)).astype(int)
    rows, order = [], []
    for kind in np.unique(kinds):
        (chosen,) = np.nonzero(kinds == kind)
        last = lengths[chosen] - 1
        # What is beyond the end of a row is its last element again, and nobody looks at what comes of it.
        within = np.minimum(np.arange(2**kind), last[:, None])
        matrix = np.take(x, at[starts[chosen][:, None] + within], 0)
        with np.errstate(all="ignore"):
            along = matrix if kind == 0 else ufunc.accumulate(matrix, axis=1)
        rows.append(along[np.arange(chosen.size), last])
        order.append(chosen)
    return np.take(np.concatenate(rows), np.argsort(np.concatenate(order)), 0)
