"""Reductions that pass over NaN: the plain reduction of what is present.

Elements that are NaN have no derivative, so none goes back to them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bridge.extend import Case, Facts, composed

_INEXACT = Facts(nan_aware=True, precision="inexact")
_WIDE = Facts(nan_aware=True, precision="wide")


def _present(a, where=True):
    """`a` with its NaNs zeroed, so that they taint no product, and where it has a value."""
    missing = np.isnan(a)
    return np.where(missing, 0, a), ~missing if where is True else ~missing & where


@composed(np.nansum, facts=Facts(nan_aware=True))
def nansum(a, axis=None, dtype=None, _out=None, keepdims=False, initial=0, where=True):
    values, present = _present(a, where)
    return np.sum(values, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=present)


@composed(np.nanmean, facts=_INEXACT)
def nanmean(a, axis=None, dtype=None, _out=None, keepdims=False, *, where=True):
    values, present = _present(a, where)
    return np.mean(values, axis=axis, dtype=dtype, keepdims=keepdims, where=present)


@composed(np.nanprod, facts=Facts(nan_aware=True))
def nanprod(a, axis=None, dtype=None, _out=None, keepdims=False, initial=1, where=True):
    values, present = _present(a, where)
    return np.prod(values, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=present)


def _spread(reduction, a, axis, ddof, keepdims, where, mean, correction):
    values, present = _present(a, where)
    freedom = ddof if correction is np._NoValue else correction
    if a.dtype.kind != "c" and mean is not np._NoValue:
        mean = np.real(mean)  # NumPy subtracts it into a copy of `a`
    return reduction(values, axis=axis, ddof=freedom, keepdims=keepdims, where=present, mean=mean)


@composed(np.nanvar, facts=_INEXACT)
def nanvar(
    a, axis=None, dtype=None, _out=None, ddof=0, keepdims=False,
    *, where=True, mean=np._NoValue, correction=np._NoValue,
):  # fmt: skip
    return _spread(np.var, a, axis, ddof, keepdims, where, mean, correction)


@composed(np.nanstd, facts=_INEXACT)
def nanstd(
    a, axis=None, dtype=None, _out=None, ddof=0, keepdims=False,
    *, where=True, mean=np._NoValue, correction=np._NoValue,
):  # fmt: skip
    return _spread(np.std, a, axis, ddof, keepdims, where, mean, correction)


@composed(np.nancumsum, facts=_WIDE)
def nancumsum(a, axis=None, dtype=None, _out=None):
    return np.cumsum(_present(a)[0], axis=axis, dtype=dtype)


@composed(np.nancumprod, facts=_WIDE)
def nancumprod(a, axis=None, dtype=None, _out=None):
    return np.cumprod(np.where(np.isnan(a), 1, a), axis=axis, dtype=dtype)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    z = x + 1j * rng.normal(size=(3, 4))
    chosen = np.array([[True, True, False, True], [True, False, True, True], [True, True, True, False]])
    for function in (np.nansum, np.nanmean, np.nanprod, np.nanvar, np.nanstd):
        yield Case(function, (x,))
        yield Case(function, (x.T,), {"axis": 1})
        yield Case(function, (z[:, ::2],), {"axis": -1, "keepdims": True})
        yield Case(function, (x,), {"axis": (0, 1), "where": chosen})
        yield Case(function, (x.astype(np.float32), 0), tolerance=2e-2)
    for function in (np.nanvar, np.nanstd):
        yield Case(function, (x, 0, None, None, 1))
        yield Case(function, (x,), {"axis": 1, "mean": rng.normal(size=(3, 1))})
    for function in (np.nansum, np.nanprod):
        yield Case(function, (x,), {"axis": 0, "initial": 1.5})
    for function in (np.nancumsum, np.nancumprod):
        yield Case(function, (x,))
        yield Case(function, (x.T,), {"axis": 0})
        yield Case(function, (z,), {"axis": -1})
