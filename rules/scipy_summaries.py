"""Summaries of `scipy.stats` along an axis: scores, means, moments, entropies."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import as_array, needs, refuse, stand_in
from bridge.rules.scipy_arguments import inexact

stats = needs("scipy.stats")
sp = needs("scipy.special")


def _sample(name: str, a: Any, axis: Any, options: dict[str, Any]) -> tuple[Any, Any]:
    """The sample, raveled where there is no axis, and the axis; NaN is passed on."""
    if options.pop("nan_policy", "propagate") != "propagate" or any(x is not None for x in options.values()):
        given = ", ".join(options) or "nan_policy"
        refuse(f"scipy.stats.{name} with {given} of tracked numbers", "use the default, or choose the numbers before")
    a = inexact(a)
    return (np.ravel(a), 0) if axis is None else (a, axis)


def _plain(x: Any) -> Any:
    return x[()] if getattr(x, "ndim", 0) == 0 and hasattr(x, "dtype") else x


@stand_in(stats.zscore)
def zscore(a, axis=0, ddof=0, nan_policy="propagate"):
    return zmap(a, a, axis, ddof, nan_policy)


@stand_in(stats.zmap)
def zmap(scores, compare, axis=0, ddof=0, nan_policy="propagate"):
    """NaN where all numbers that are compared with are equal."""
    compare, k = _sample("zmap", compare, axis, {"nan_policy": nan_policy})
    mean = np.mean(compare, axis=k, keepdims=axis is not None)
    deviation = np.std(compare, axis=k, ddof=ddof, keepdims=axis is not None)
    first = compare[:1] if axis is None else np.take(compare, [0], axis=k)
    constant = np.all(compare == first, axis=k, keepdims=axis is not None)
    return np.where(constant, np.nan, (inexact(scores) - mean) / np.where(constant, 1, deviation))


@stand_in(stats.gmean)
def gmean(a, axis=0, dtype=None, weights=None, *, nan_policy="propagate", keepdims=False):
    a, axis = _sample("gmean", a, axis, {"nan_policy": nan_policy, "dtype": dtype})
    logarithms = np.log(a)
    if weights is None:
        return _plain(np.exp(np.mean(logarithms, axis=axis, keepdims=keepdims)))
    return _plain(np.exp(np.average(logarithms, axis=axis, weights=as_array(weights), keepdims=keepdims)))


@stand_in(stats.sem)
def sem(a, axis=0, ddof=1, nan_policy="propagate", *, keepdims=False):
    a, axis = _sample("sem", a, axis, {"nan_policy": nan_policy})
    return _plain(np.std(a, axis=axis, ddof=ddof, keepdims=keepdims) / np.sqrt(a.shape[axis]))


@stand_in(stats.moment)
def moment(a, order=1, axis=0, nan_policy="propagate", *, center=None, keepdims=False):
    a, axis = _sample("moment", a, axis, {"nan_policy": nan_policy})
    if np.ndim(order):
        refuse("scipy.stats.moment with several orders of tracked numbers", "call it for each order")
    if order == 1 and center is None:
        return _plain(np.mean(a, axis=axis, keepdims=keepdims) * 0)
    middle = np.mean(a, axis=axis, keepdims=True) if center is None else center
    return _plain(np.mean((a - middle) ** order, axis=axis, keepdims=keepdims))


def _standardized(name, order, a, axis, nan_policy, keepdims):
    """A central moment over a power of the variance; NaN for numbers that are equal up to rounding."""
    a, axis = _sample(name, a, axis, {"nan_policy": nan_policy})
    mean = np.mean(a, axis=axis, keepdims=True)
    variance = np.mean((a - mean) ** 2, axis=axis, keepdims=True)
    central = np.mean((a - mean) ** order, axis=axis, keepdims=True)
    flat = variance <= (np.finfo(a.dtype).resolution * mean) ** 2
    found = np.where(flat, np.nan, central / np.where(flat, 1, variance) ** (order / 2))
    return found if keepdims else np.squeeze(found, axis=axis), a.shape[axis]


@stand_in(stats.skew)
def skew(a, axis=0, bias=True, nan_policy="propagate", *, keepdims=False):
    found, n = _standardized("skew", 3, a, axis, nan_policy, keepdims)
    return _plain(found * (n * (n - 1)) ** 0.5 / (n - 2) if not bias and n > 2 else found)


@stand_in(stats.kurtosis)
def kurtosis(a, axis=0, fisher=True, bias=True, nan_policy="propagate", *, keepdims=False):
    found, n = _standardized("kurtosis", 4, a, axis, nan_policy, keepdims)
    if not bias and n > 3:
        found = ((n * n - 1.0) * found - 3 * (n - 1) ** 2.0) / (n - 2) / (n - 3) + 3
    return _plain(found - 3 if fisher else found)


@stand_in(stats.entropy)
def entropy(pk, qk=None, base=None, axis=0, *, nan_policy="propagate", keepdims=False):
    pk, k = _sample("entropy", pk, axis, {"nan_policy": nan_policy})
    pk = pk / np.sum(pk, axis=k, keepdims=True)
    if qk is None:
        terms = sp.entr(pk)
    else:
        qk, _ = _sample("entropy", qk, axis, {})
        terms = sp.rel_entr(pk, qk / np.sum(qk, axis=k, keepdims=True))
    found = np.sum(terms, axis=k, keepdims=keepdims)
    return _plain(found if base is None else found / np.log(base))
