"""How far answers may be apart, for each precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tolerance:
    """Relative tolerances, and an absolute one beside each.

    Attributes
    ----------
    value : between values of engines that do not run NumPy's own functions.
    gradient : between gradients of engines, and between forward and reverse mode.
    differences : between gradients and finite differences.
    absolute : what is nothing.
    """

    value: float
    gradient: float
    differences: float
    absolute: float


_DOUBLE = Tolerance(1e-9, 1e-7, 2e-6, 1e-12)
_SINGLE = Tolerance(1e-4, 1e-3, 3e-3, 1e-6)
_HALF = Tolerance(3e-2, 5e-2, 1e-1, 1e-3)


def tolerance_for(arrays: Sequence[Any], rtol: float | None, atol: float | None) -> Tolerance:
    """The tolerance of the coarsest dtype among arrays; `rtol` replaces all relative ones, `atol` the absolute one."""
    sizes = [np.finfo(np.asarray(x).dtype).bits for x in arrays if np.asarray(x).dtype.kind in "fc"]
    chosen = {64: _DOUBLE, 32: _SINGLE, 16: _HALF}.get(min(sizes, default=64), _DOUBLE)
    if rtol is not None:
        chosen = Tolerance(rtol, rtol, rtol, chosen.absolute)
    return chosen if atol is None else Tolerance(chosen.value, chosen.gradient, chosen.differences, atol)


def apart(a: Any, b: Any, relative: float, absolute: float) -> tuple[float, tuple[int, ...]]:
    """The largest |a - b| beyond what is allowed, relative to the largest element; and its index. 0.0 if none is.

    Where just one of the two is NaN, or infinities differ, the distance is inf.
    """
    kind = np.complex128 if np.asarray(a).dtype.kind == "c" or np.asarray(b).dtype.kind == "c" else np.float64
    x, y = np.asarray(a, kind), np.asarray(b, kind)
    if x.size == 0:
        return 0.0, ()
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(all="ignore"):
        distance = np.where(same, 0.0, np.abs(x - y))
    distance = np.where(np.isnan(distance), np.inf, distance)
    finite = np.concatenate([np.abs(x[np.isfinite(x)]).ravel(), np.abs(y[np.isfinite(y)]).ravel()])
    scale = float(np.max(finite, initial=0.0))
    where = np.unravel_index(int(np.argmax(distance)), distance.shape)
    largest = float(distance[where])
    if largest <= absolute + relative * scale:
        return 0.0, ()
    return (largest / scale if scale and np.isfinite(largest) else largest), tuple(int(k) for k in where)


def short(x: Any) -> str:
    """A number, or an array, as a message writes it."""
    if x is None:
        return "nothing"
    array = np.asarray(x)
    if array.shape == ():
        return f"{array[()]:.9g}" if array.dtype.kind in "fc" else str(array[()])
    return np.array2string(array, precision=5, threshold=6, edgeitems=2)
