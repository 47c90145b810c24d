"""Cubic interpolants of `scipy.interpolate` through tracked data: splines, Hermite, monotone, and Akima's.

All are Hermite interpolants and differ in how slopes follow from the data. The slopes of a spline solve a tridiagonal
system (periodic: a cyclic one), which says that second derivatives are continuous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import needs, stand_in, without_gradient
from bridge.rules.contractions import as_operand
from bridge.rules.factorizations import LU_SOLVED
from bridge.rules.piecewise import Piecewise, spread

interpolate = needs("scipy.interpolate")


def _prepared(name: str, x: Any, y: Any, axis: int) -> tuple[Any, Any, int]:
    """Knots, data with their axis first, and where that axis was."""
    remedy = "pass bridge.detach(x); the data y may be tracked"
    x = without_gradient(x, f"scipy.interpolate.{name} with tracked knots x", remedy)
    x, y = np.asarray(x, np.float64), as_operand(y)
    axis %= y.ndim
    if x.ndim != 1 or x.size < 2 or x.size != y.shape[axis] or not np.all(np.diff(x) > 0):
        raise ValueError(f"{name}: x must increase and have the length of y along axis {axis}, at least 2")
    y = np.moveaxis(y, axis, 0)
    return x, y.astype(np.complex128 if y.dtype.kind == "c" else np.float64, copy=False), axis


def hermite(x: Any, y: Any, slopes: Any, extrapolate: Any, axis: int) -> Piecewise:
    """The cubic between each two knots that has the values and the slopes of both."""
    step = spread(np.diff(x), y.ndim - 1)
    secant = np.diff(y, axis=0) / step
    bend = (slopes[:-1] + slopes[1:] - 2 * secant) / step
    c = np.stack([bend / step, (secant - slopes[:-1]) / step - bend, slopes[:-1], y[:-1]])
    return Piecewise(c, x.copy(), extrapolate, axis)


@stand_in(interpolate.CubicHermiteSpline)
def CubicHermiteSpline(x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> Piecewise:
    x, y, axis = _prepared("CubicHermiteSpline", x, y, axis)
    slopes = np.moveaxis(as_operand(dydx), axis, 0)
    if slopes.shape != y.shape:
        raise ValueError("The shapes of `y` and `dydx` must be identical.")
    return hermite(x, y, slopes, True if extrapolate is None else extrapolate, axis)


def _conditions(bc_type: Any) -> list[Any]:
    """What holds at the two ends: a word, or the order and the value of a derivative."""
    if isinstance(bc_type, str):
        bc_type = (bc_type, bc_type)
    elif len(bc_type) != 2 or any(isinstance(one, str) and one == "periodic" for one in bc_type):
        raise ValueError("`bc_type` must contain 2 elements, and 'periodic' is for both ends")
    words = {"clamped": (1, 0.0), "natural": (2, 0.0), "not-a-knot": "not-a-knot", "periodic": "periodic"}
    found = [words[one] if isinstance(one, str) else one for one in bc_type]
    if any(not isinstance(one, str) and one[0] not in (1, 2) for one in found):
        raise ValueError("The specified derivative order must be 1 or 2.")
    return found


def _spline_slopes(x: Any, y: Any, ends: list[Any]) -> Any:
    n, dx = x.size, np.diff(x)
    step = spread(dx, y.ndim - 1)
    secant = np.diff(y, axis=0) / step
    if n == 2:
        ends = [(1, secant[0]) if isinstance(end, str) else end for end in ends]
    matrix = np.zeros((n, 3))
    matrix[1:-1] = np.stack([dx[1:], 2 * (dx[:-1] + dx[1:]), dx[:-1]], axis=1)
    inner = 3 * (step[1:] * secant[:-1] + step[:-1] * secant[1:])
    if ends[0] == "periodic":
        return _periodic_slopes(dx, step, secant, inner)
    if n == 3 and ends == ["not-a-knot", "not-a-knot"]:
        rows = np.array([[1, 1, 0], [dx[1], 2 * (dx[0] + dx[1]), dx[0]], [0, 1, 1]])
        right = np.concatenate([2 * secant[:1], inner, 2 * secant[1:]])
        return np.reshape(np.linalg.solve(rows, np.reshape(right, (3, -1))), y.shape)
    first, last = _end_row(ends[0], dx, step, secant, 1), _end_row(ends[1], dx[::-1], step[::-1], secant[::-1], -1)
    diagonals = [np.append(matrix[1:-1, 0], last[1]), np.r_[first[0], matrix[1:-1, 1], last[0]]]
    diagonals.append(np.r_[first[1], matrix[1:-1, 2]])
    rows = needs("scipy.sparse").diags_array(diagonals, offsets=(-1, 0, 1))
    shape = (1, *y.shape[1:])
    right = [np.broadcast_to(first[2], shape), inner, np.broadcast_to(last[2], shape)]
    return _solved(rows, np.concatenate(right))


def _end_row(end: Any, dx: Any, step: Any, secant: Any, sign: int) -> tuple[Any, Any, Any]:
    """The equation of the outermost slope, counted from its end: its factor, that of the next one, the right side."""
    if end == "not-a-knot":
        both = dx[0] + dx[1]
        right = ((step[0] + 2 * both) * step[1] * secant[0] + step[0] ** 2 * secant[1]) / both
        return dx[1], both, right
    order, value = end
    value = as_operand(value)
    if order == 1:
        return 1.0, 0.0, value
    return 2 * dx[0], dx[0], 3 * secant[0] * step[0] - sign * 0.5 * value * step[0] ** 2


def _periodic_slopes(dx: Any, step: Any, secant: Any, inner: Any) -> Any:
    n = dx.size
    if n == 2:
        slope = np.sum(secant / step, axis=0, keepdims=True) / np.sum(1 / step, axis=0)
        return np.concatenate([slope] * 3)
    before = np.roll(dx, 1)
    places = np.arange(n)
    rows = np.tile(places, 3)
    columns = np.concatenate([(places - 1) % n, places, (places + 1) % n])
    entries = np.concatenate([dx, 2 * (dx + before), before])
    first = 3 * (step[:1] * secant[-1:] + step[-1:] * secant[:1])
    system = needs("scipy.sparse").coo_array((entries, (rows, columns)), shape=(n, n))
    slopes = _solved(system, np.concatenate([first, inner]))
    return np.concatenate([slopes, slopes[:1]])


def _solved(rows: Any, right: Any) -> Any:
    factors = needs("scipy.sparse.linalg").splu(rows.tocsc())
    return np.reshape(LU_SOLVED(factors, np.reshape(right, (right.shape[0], -1)), "N"), right.shape)


@stand_in(interpolate.CubicSpline)
def CubicSpline(x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None) -> Piecewise:
    x, y, axis = _prepared("CubicSpline", x, y, axis)
    ends = _conditions(bc_type)
    if ends[0] == "periodic" and not bool(np.all(np.abs(y[0] - y[-1]) <= 1e-15 * (1 + np.abs(y[-1])))):
        raise ValueError("The first and last `y` point must be identical when bc_type='periodic'.")
    if extrapolate is None:
        extrapolate = "periodic" if ends[0] == "periodic" else True
    if ends[0] == "periodic" and x.size == 2:
        ends = [(1, 0.0), (1, 0.0)]
    return hermite(x, y, _spline_slopes(x, y, ends), extrapolate, axis)


@stand_in(interpolate.PchipInterpolator)
def PchipInterpolator(x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> Piecewise:
    x, y, axis = _prepared("PchipInterpolator", x, y, axis)
    if y.dtype.kind == "c":
        raise ValueError("`PchipInterpolator` only works with real values for `y`.")
    step = spread(np.diff(x), y.ndim - 1)
    secant = np.diff(y, axis=0) / step
    if x.size == 2:
        slopes = np.concatenate([secant, secant])
    else:
        left, right = secant[:-1], secant[1:]
        flat = (np.sign(left) != np.sign(right)) | (left == 0) | (right == 0)
        weight, other = 2 * step[1:] + step[:-1], step[1:] + 2 * step[:-1]
        harmonic = weight / np.where(flat, 1, left) + other / np.where(flat, 1, right)
        inner = np.where(flat, 0, (weight + other) / np.where(flat, 1, harmonic))
        ends = (_pchip_end(step[:1], step[1:2], secant[:1], secant[1:2]),)
        ends += (_pchip_end(step[-1:], step[-2:-1], secant[-1:], secant[-2:-1]),)
        slopes = np.concatenate([ends[0], inner, ends[1]])
    return hermite(x, y, slopes, True if extrapolate is None else extrapolate, axis)


def _pchip_end(step: Any, further: Any, secant: Any, next_secant: Any) -> Any:
    """The slope at an end: of the parabola through three points, as far as that keeps the data's shape."""
    slope = ((2 * step + further) * secant - step * next_secant) / (step + further)
    turns = np.sign(slope) != np.sign(secant)
    steep = (np.sign(secant) != np.sign(next_secant)) & (np.abs(slope) > 3 * np.abs(secant))
    return np.where(turns, 0, np.where(steep, 3 * secant, slope))


@stand_in(interpolate.Akima1DInterpolator)
def Akima1DInterpolator(x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None) -> Piecewise:
    if method not in ("akima", "makima"):
        raise NotImplementedError(f"`method`={method} is unsupported.")
    x, y, axis = _prepared("Akima1DInterpolator", x, y, axis)
    if y.dtype.kind == "c":
        raise ValueError("`Akima1DInterpolator` only works with real values for `y`.")
    secant = np.diff(y, axis=0) / spread(np.diff(x), y.ndim - 1)
    if x.size == 2:
        return hermite(x, y, np.concatenate([secant, secant]), bool(extrapolate), axis)
    before = 2 * secant[:1] - secant[1:2]
    after = 2 * secant[-1:] - secant[-2:-1]
    m = np.concatenate([2 * before - secant[:1], before, secant, after, 2 * after - secant[-1:]])
    jump = np.abs(np.diff(m, axis=0))
    right, left = jump[2:], jump[:-2]
    if method == "makima":
        size = np.abs(m[1:] + m[:-1])
        right, left = right + 0.5 * size[2:], left + 0.5 * size[:-2]
    both = right + left
    defined = both > 1e-9 * np.max(both)
    weight = left / np.where(defined, both, 1)
    slopes = np.where(defined, m[1:-2] + weight * (m[2:-1] - m[1:-2]), 0.5 * (m[3:] + m[:-3]))
    return hermite(x, y, slopes, False if extrapolate is None else extrapolate, axis)
