"""Splines through arrays, and their values between the elements, as `scipy.ndimage` has them.

A value there is a sum over the nearest coefficients of a spline; those of orders above 1 solve a banded system, which
says that the spline passes through the elements. Coordinates beyond the ends are folded back first, as the mode says.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb, factorial
from typing import Any

import numpy as np

from bridge.extend import needs, stand_in
from bridge.rules.contractions import as_operand
from bridge.rules.factorizations import LU_SOLVED

ndimage = needs("scipy.ndimage")

from bridge.rules.image_filters import in_dtype  # noqa: E402, once the library is there

MODES = ("reflect", "grid-mirror", "constant", "grid-constant", "nearest", "mirror", "wrap", "grid-wrap")
# How coefficients continue beyond the ends; for other modes they are mirrored about the outermost ones.
_CONTINUED = {"reflect": "symmetric", "grid-mirror": "symmetric", "nearest": "symmetric", "grid-wrap": "wrap"}
# How they are found beyond the ends, where that is another way.
_READ = {**_CONTINUED, "nearest": "edge"}
_MARGIN = 12
# Up to here coefficients are what SciPy makes of unit vectors: at the ends of short arrays it approximates.
_SHORT = 64


def _weights(t: Any, order: int) -> list[Any]:
    """What the `order + 1` nearest coefficients count for, at the distance `t` from the first of them, less its start.

    The cardinal B-spline of the order, a sum of truncated powers; `t` is in [0, 1) for odd orders, else in [-1/2, 1/2).
    """
    half = (order + 1) / 2
    found = []
    for k in range(order + 1):
        distance = t + order // 2 - k
        x = distance + half
        terms = [(-1) ** j * comb(order + 1, j) * np.where(x - j > 0, x - j, 0) ** order for j in range(order + 1)]
        found.append(sum(terms[1:], terms[0]) / factorial(order))
    return found


def _folded(index: Any, length: int, mode: str) -> Any:
    """Whole-numbered positions of coefficients, brought inside."""
    if mode == "wrap":
        return index % length
    if mode == "symmetric":
        index = index % (2 * length)
        return np.where(index >= length, 2 * length - 1 - index, index)
    if mode == "edge" or length == 1:
        return np.clip(index, 0, length - 1)
    index = index % (2 * length - 2)
    return np.where(index >= length, 2 * length - 2 - index, index)


@lru_cache(maxsize=64)
def _matrix(length: int, order: int, mode: str) -> Any:
    """The coefficients of all unit vectors."""
    return ndimage.spline_filter1d(np.eye(length), order, 0, mode=mode)


@lru_cache(maxsize=64)
def _system(length: int, order: int, mode: str) -> Any:
    """The factorized system that coefficients solve."""
    weights = np.array(_weights(np.zeros(()), order))
    places = np.arange(length)
    rows = np.repeat(places, order + 1)
    columns = _folded(places[:, None] - order // 2 + np.arange(order + 1), length, mode).ravel()
    make, factorize = needs("scipy.sparse").coo_array, needs("scipy.sparse.linalg").splu
    matrix = make((np.tile(weights, length), (rows, columns)), shape=(length, length))
    return factorize(matrix.tocsc())


def _coefficients(x: Any, order: int, axis: int, mode: str) -> Any:
    if x.shape[axis] == 1 or order < 2:
        return x
    lines, length = np.moveaxis(x, axis, 0), x.shape[axis]
    flat = np.reshape(lines, (length, -1))
    if length <= _SHORT:
        solved = np.matmul(_matrix(length, order, mode), flat)
    else:
        solved = LU_SOLVED(_system(length, order, _CONTINUED.get(mode, "mirror")), flat, "N")
    return np.moveaxis(np.reshape(solved, lines.shape), 0, axis)


def _check(order: int, mode: str) -> None:
    if not 0 <= order <= 5:
        raise RuntimeError("spline order not supported")
    if mode not in MODES:
        raise RuntimeError("boundary mode not supported")


@stand_in(ndimage.spline_filter1d)
def spline_filter1d(input: Any, order: int = 3, axis: int = -1, output: Any = np.float64, mode: str = "mirror") -> Any:
    _check(order, mode)
    input = as_operand(input)
    return in_dtype("spline_filter1d", _coefficients(input, order, axis % input.ndim, mode), input, output)


@stand_in(ndimage.spline_filter)
def spline_filter(input: Any, order: int = 3, output: Any = np.float64, mode: str = "mirror") -> Any:
    if order < 2:
        raise RuntimeError("spline order not supported")
    input = as_operand(input)
    for axis in range(input.ndim):
        input = spline_filter1d(input, order, axis, output, mode)
    return input


def _inside(c: Any, length: int, mode: str) -> tuple[Any, Any]:
    """Coordinates brought inside, and which of them have a value there: the others have `cval`."""
    last = length - 1
    if mode == "constant":
        known = (c >= 0) & (c <= last)
        return np.where(known, c, 0), known
    if mode in ("nearest", "grid-constant"):
        return c, None
    if mode == "grid-wrap":
        return c - length * np.floor(c / length), None
    if mode not in ("reflect", "grid-mirror") and length == 1:
        return 0 * c, None
    if mode == "wrap":
        folded = np.where(c < 0, c + last * (np.floor(-c / last) + 1), c - last * np.floor(c / last))
    elif mode == "mirror":
        left, right = c + 2 * last * np.floor(-c / (2 * last)), c - 2 * last * np.floor(c / (2 * last))
        left = np.where(left <= -last, left + 2 * last, -left)
        folded = np.where(c < 0, left, np.where(right >= length, 2 * last - right, right))
    else:
        period = 2 * length
        left, right = c + period * np.floor(-c / period), c - period * np.floor(c / period)
        left = np.where(left < -length, left + period, -left - 1)
        folded = np.where(c < 0, left, np.where(right >= length, period - right - 1, right))
    return np.where((c < 0) | (c > last), folded, c), None


def sampled(input: Any, coordinates: list[Any], order: int, mode: str, cval: Any, prefilter: bool) -> Any:
    """The values of `input` at coordinates, one array of one shape for each axis; in the dtype of the coefficients."""
    _check(order, mode)
    x, margin = input, 0
    if prefilter and order > 1:
        if mode in ("nearest", "grid-constant"):
            margin = _MARGIN
            fill = {} if mode == "nearest" else {"constant_values": cval}
            x = np.pad(input, margin, "edge" if mode == "nearest" else "constant", **fill)
        for axis in range(x.ndim):
            x = _coefficients(x, order, axis, mode)
    if mode == "grid-constant":
        return _sampled_in_constant(x, [c + margin for c in coordinates], order, cval)
    known, positions, weights = None, [], []
    for c, length in zip(coordinates, x.shape, strict=True):
        inside, has_value = _inside(c + margin, length, mode)
        if has_value is not None:
            known = has_value if known is None else known & has_value
        start = np.floor(inside if order % 2 else inside + 0.5)
        weights.append(_weights(inside - start, order) if order else [None])
        first = _whole(start) - order // 2
        positions.append([_folded(first + k, length, _READ.get(mode, "mirror")) for k in range(order + 1)])
    total = _summed(x, positions, weights)
    return total if known is None else np.where(known, total, cval)


def _whole(start: Any) -> Any:
    """Whole numbers as plain indices; they carry no gradient."""
    return np.asarray(start.astype(np.intp))


def _summed(x: Any, positions: Any, weights: Any) -> Any:
    """Sums over the nearest coefficients, one axis after the other."""
    total: Any = None
    for place in np.ndindex(*(len(one) for one in positions)):
        term = x[tuple(positions[axis][k] for axis, k in enumerate(place))]
        for axis, k in enumerate(place):
            term = term if weights[axis][k] is None else term * weights[axis][k]
        total = term if total is None else total + term
    return total


def _sampled_in_constant(x: Any, coordinates: list[Any], order: int, cval: Any) -> Any:
    """Values where the array is continued by a constant: coefficients beyond its ends are that constant."""
    around = order + 2
    x = np.pad(x, around, constant_values=cval)
    positions, weights = [], []
    for c, length in zip(coordinates, x.shape, strict=True):
        start = np.floor(c if order % 2 else c + 0.5)
        weights.append(_weights(c - start, order) if order else [None])
        first = _whole(start) - order // 2 + around
        positions.append([np.clip(first + k, 0, length - 1) for k in range(order + 1)])
    return _summed(x, positions, weights)
