"""What counts as equal: bit for bit, and how far answers may be apart in each precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bridge.errors import ArgumentError
from bridge.proof.numerics.arrays import Path, leaves, wide


@dataclass(frozen=True)
class Tolerance:
    """Relative tolerances, and an absolute one beside each.

    Attributes
    ----------
    value : between values of engines that do not run NumPy's own functions.
    gradient : between gradients of engines, and between forward and reverse mode.
    differences : between gradients and finite differences.
    entry : between the pull of one entry of a log and finite differences of it.
    moved : what moved by less did not move.
    absolute : what is nothing.
    """

    value: float
    gradient: float
    differences: float
    entry: float
    moved: float
    absolute: float


_DOUBLE = Tolerance(value=1e-9, gradient=1e-7, differences=2e-6, entry=1e-6, moved=1e-9, absolute=1e-12)
_SINGLE = Tolerance(value=1e-4, gradient=1e-3, differences=3e-3, entry=2e-3, moved=1e-6, absolute=1e-6)
_HALF = Tolerance(value=3e-2, gradient=5e-2, differences=1e-1, entry=3e-2, moved=1e-6, absolute=1e-3)


def tolerance_of(*dtypes: np.dtype[Any]) -> Tolerance:
    """The tolerance of the coarsest of the floating `dtypes`."""
    sizes = [np.finfo(dtype).bits for dtype in dtypes if dtype.kind in "fc"]
    return {64: _DOUBLE, 32: _SINGLE, 16: _HALF}.get(min(sizes, default=64), _DOUBLE)


def check_tolerances(**given: float | None) -> None:
    """Raise ArgumentError for a tolerance, by name, that would let everything or nothing pass."""
    for name, value in given.items():
        if value is not None and not 0 <= value < np.inf:
            raise ArgumentError(f"{name}={value!r}", remedy="give a finite number, not below 0")


def tolerance_for(arrays: Sequence[Any], rtol: float | None, atol: float | None) -> Tolerance:
    """The tolerance of the coarsest dtype among arrays; `rtol` replaces the relative ones, `atol` the absolute one."""
    chosen = tolerance_of(*(np.asarray(x).dtype for x in arrays))
    if rtol is not None:
        chosen = replace(chosen, value=rtol, gradient=rtol, differences=rtol)
    return chosen if atol is None else replace(chosen, absolute=atol)


def precision(*dtypes: np.dtype[Any]) -> float:
    """Machine epsilon of the coarsest of the floating `dtypes`."""
    return max((float(np.finfo(dtype).eps) for dtype in dtypes if dtype.kind in "fc"), default=2.0**-52)


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays or numbers have the same shape, dtype and bits (NaNs and signed zeros too)."""
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def alike(a: Sequence[Any], b: Sequence[Any], exactly: bool = True) -> bool:
    """Whether two lists of values agree: bit for bit, or to five digits; `None` only agrees with `None`."""
    if len(a) != len(b) or any((x is None) != (y is None) for x, y in zip(a, b, strict=True)):
        return False
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x is not None]
    if exactly:
        return all(same_bits(x, y) for x, y in pairs)
    return all(np.shape(x) == np.shape(y) and np.allclose(x, y, rtol=1e-5, equal_nan=True) for x, y in pairs)


def first_change(before: Any, after: Any) -> Path | None:
    """Path of the first array of `after` whose bits differ from those in `before`; None if all are as they were."""
    for (path, old), (_, new) in zip(leaves(before), leaves(after), strict=True):
        if isinstance(old, (np.ndarray, np.generic)) and not same_bits(old, new):
            return path
    return None


def apart(a: Any, b: Any, relative: float, absolute: float) -> tuple[float, tuple[int, ...]]:
    """The largest |a - b| beyond what is allowed, relative to the largest element; and its index. 0.0 if none is.

    Where just one of the two is NaN, or infinities differ, the distance is inf.
    """
    largest, index = _distance(a, b)
    scale = max(_size(a), _size(b))
    if largest <= absolute + relative * scale:
        return 0.0, ()
    return (largest / scale if scale and np.isfinite(largest) else largest), index


def worst_difference(expected: Any, got: Any) -> tuple[float, tuple[int, ...]]:
    """Largest |expected - got| relative to the largest |expected|, and its index; inf where just one is NaN."""
    largest, index = _distance(expected, got)
    return largest / max(_size(expected), 1e-300), index


def furthest(expected: Sequence[Any], got: Sequence[Any]) -> float:
    """The worst difference between two lists of values; inf where shapes differ."""
    if [np.shape(a) for a in expected] != [np.shape(b) for b in got]:
        return np.inf
    return max((worst_difference(a, b)[0] for a, b in zip(expected, got, strict=True)), default=0.0)


def _distance(a: Any, b: Any) -> tuple[float, tuple[int, ...]]:
    x, y = np.asarray(a, wide(a)), np.asarray(b, wide(b))
    if x.size == 0:
        return 0.0, ()
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(all="ignore"):
        distance = np.where(same, 0.0, np.abs(x - y))
    distance = np.where(np.isnan(distance), np.inf, distance)
    where = np.unravel_index(int(np.argmax(distance)), distance.shape)
    return float(distance[where]), tuple(int(k) for k in where)


def _size(x: Any) -> float:
    return float(np.max(np.abs(np.asarray(x, wide(x))), initial=0.0, where=np.isfinite(x)))
