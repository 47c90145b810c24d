"""`scipy.interpolate.interp1d` and interpolation on grids: of tracked data, and at tracked points."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from bridge.extend import TrackedObject, needs, refuse, stand_in, without_gradient
from bridge.rules.bsplines import make_interp_spline
from bridge.rules.bsplines import of_plain as spline_of_plain
from bridge.rules.contractions import as_operand
from bridge.rules.piecewise import float_points, intervals, laid_out, spread, taken

interpolate = needs("scipy.interpolate")

_ORDERS = {"zero": 0, "slinear": 1, "quadratic": 2, "cubic": 3}
_STEPS = ("nearest", "nearest-up", "previous", "next")


class Interpolator(TrackedObject):
    """`interp1d`: `y` has the axis of the data first; `spline` takes its place for polynomial kinds.

    `fill` is None to extrapolate, else what there is below and above; `bounds_error` says that nothing is.
    """

    def __init__(self, x: Any, y: Any, kind: str, axis: int, fill: Any, bounds_error: bool, spline: Any) -> None:
        self.x, self.values, self.kind, self.axis = x, y, kind, axis
        self.fill, self.bounds_error, self.spline = fill, bounds_error, spline

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "place":
            raise AttributeError(name)
        refuse(f"interp1d.{name} of tracked data", "keep the data beside it")

    def __call__(self, x: Any) -> Any:
        x = float_points(x)
        found = self._inside(x)
        if self.fill is not None:
            below, above = x < self.x[0], x > self.x[-1]
            if self.bounds_error and bool(np.any(below | above)):
                raise ValueError(f"A value in x_new is outside of the interpolation range [{self.x[0]}, {self.x[-1]}].")
            behind = self.values.ndim - 1
            for outside, value in zip((below, above), self.fill, strict=True):
                found = np.where(spread(outside, behind), value, found)
        return laid_out(found, x.ndim, self.axis)

    def _inside(self, x: Any) -> Any:
        behind, last = self.values.ndim - 1, self.values.shape[0] - 1
        if self.spline is not None:
            return self.spline(x)
        if self.kind == "linear":
            right = np.clip(np.searchsorted(self.x, x), 1, last)
            left = right - 1
            start, low = taken(self.x, left), taken(self.values, left)
            width = spread(taken(self.x, right) - start, behind)
            return (taken(self.values, right) - low) / width * spread(x - start, behind) + low
        if self.kind.startswith("nearest"):
            middles = self.x / 2.0
            middles = middles[1:] + middles[:-1]
            number = np.searchsorted(middles, x, side="left" if self.kind == "nearest" else "right")
        elif self.kind == "previous":
            number = np.searchsorted(np.nextafter(self.x, -np.inf), x, side="left") - 1
        else:
            number = np.searchsorted(np.nextafter(self.x, np.inf), x, side="right")
        return taken(self.values, np.clip(number, 0, last)) + 0 * spread(x, behind)


@stand_in(interpolate.interp1d)
def interp1d(
    x: Any,
    y: Any,
    kind: Any = "linear",
    axis: int = -1,
    copy: bool = True,
    bounds_error: bool | None = None,
    fill_value: Any = np.nan,
    assume_sorted: bool = False,
) -> Interpolator:
    if not copy:
        refuse("scipy.interpolate.interp1d with copy=False, which sees later writes", "leave copy= out")
    order = kind if isinstance(kind, int) else _ORDERS.get(kind)
    if order is None and kind != "linear" and kind not in _STEPS:
        raise NotImplementedError(f"{kind} is unsupported")
    if kind != "linear":
        what = f"scipy.interpolate.interp1d with tracked x and kind={kind!r}"
        x = without_gradient(x, what, "pass bridge.detach(x)")
    x, y = as_operand(x), as_operand(y)
    axis %= y.ndim
    y = np.moveaxis(y, axis, 0)
    y = np.copy(y) if y.dtype.kind in "fc" else y.astype(np.float64)
    if x.ndim != 1 or x.shape[0] != y.shape[0] or x.shape[0] < (1 if order is None else order + 1):
        raise ValueError(f"interp1d: x of shape {x.shape}, {y.shape[0]} data, kind {kind!r}")
    if not assume_sorted:
        places = np.argsort(x, kind="mergesort")
        x, y = x[places], np.take(y, places, axis=0)
    spline = None if order is None else make_interp_spline(x, y, order)
    fill, bounds_error = _filling(y, kind, bounds_error, fill_value)
    return Interpolator(x, y, "spline" if spline is not None else kind, axis, fill, bounds_error, spline)


def _filling(y: Any, kind: Any, bounds_error: bool | None, fill_value: Any) -> tuple[Any, bool]:
    if isinstance(fill_value, str):
        if fill_value != "extrapolate":
            raise ValueError(f"fill_value={fill_value!r}")
        if bounds_error:
            raise ValueError("Cannot extrapolate and raise at the same time.")
        steps = {"previous": (np.nan, y[-1]), "next": (y[0], np.nan)}
        return steps.get(kind), False
    pair = isinstance(fill_value, tuple) and len(fill_value) == 2
    below, above = map(as_operand, fill_value if pair else (fill_value, fill_value))
    shape = tuple(y.shape[1:])
    for value in (below, above):
        if np.broadcast_shapes(value.shape, shape or (1,)) != (shape or (1,)):
            raise ValueError(f"fill_value of shape {value.shape} must broadcast to {shape}")
    if not shape:
        below, above = np.reshape(below, ()), np.reshape(above, ())
    return (below, above), True if bounds_error is None else bounds_error


@stand_in(interpolate.interp1d.__call__)
def evaluate(function: Any, x: Any) -> Any:
    if not isinstance(function, interpolate.interp1d):
        refuse(f"a {type(function).__name__} at tracked points", "use CubicSpline or make_interp_spline")
    y = np.moveaxis(function.y, function.axis, 0).copy()
    fill = None
    if not function._extrapolate:
        shape = y.shape[1:]
        fill = tuple(np.broadcast_to(one, shape or (1,)).reshape(shape) for one in _fills(function))
    spline = None
    if function._kind == "spline":
        plain = function._spline
        spline = spline_of_plain(plain)
        spline.c = np.reshape(spline.c, (spline.c.shape[0], *y.shape[1:]))
    made = Interpolator(function.x.copy(), y, function._kind, function.axis, fill, bool(function.bounds_error), spline)
    return made(x)


def _fills(function: Any) -> tuple[Any, Any]:
    return function._fill_value_below, function._fill_value_above


class GridInterpolator(TrackedObject):
    """`RegularGridInterpolator` of the methods that are local: linear and nearest."""

    def __init__(self, grid: Any, values: Any, method: str, bounds_error: bool, fill_value: Any) -> None:
        self.grid, self.values, self.method = grid, values, method
        self.bounds_error, self.fill_value = bounds_error, fill_value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "place":
            raise AttributeError(name)
        refuse(f"RegularGridInterpolator.{name} of tracked values", "keep the values beside it")

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
        method = _checked(self.method if method is None else method)
        if nu is not None:
            raise ValueError("Can only compute derivatives for methods of splines")
        count = len(self.grid)
        xi = _points(xi, count)
        flat = np.reshape(xi, (-1, count))
        columns = [flat[:, k] for k in range(count)]
        outside = np.zeros(flat.shape[0], bool)
        for x, line in zip(columns, self.grid, strict=True):
            outside = outside | (x < line[0]) | (x > line[-1])
        if self.bounds_error and bool(np.any(outside)):
            raise ValueError("One of the requested xi is out of bounds")
        found = self._inside(columns, method)
        behind = self.values.ndim - count
        if not self.bounds_error and self.fill_value is not None:
            found = np.where(spread(outside, behind), self.fill_value, found)
        unknown = np.isnan(columns[0])
        for x in columns[1:]:
            unknown = unknown | np.isnan(x)
        found = np.where(spread(unknown, behind), np.nan, found)
        return np.reshape(found, (*xi.shape[:-1], *self.values.shape[count:]))

    def _inside(self, columns: list[Any], method: str) -> Any:
        behind = self.values.ndim - len(self.grid)
        numbers, shares = [], []
        for x, line in zip(columns, self.grid, strict=True):
            number = intervals(line, x, line.size - 2)
            numbers.append(number)
            shares.append((x - taken(line, number)) / (taken(line, number + 1) - taken(line, number)))
        if method == "nearest":
            chosen = [np.where(share <= 0.5, n, n + 1) for share, n in zip(shares, numbers, strict=True)]
            return self._at(chosen) + 0 * spread(shares[0], behind)
        total: Any = 0.0
        for corner in product((0, 1), repeat=len(numbers)):
            weight: Any = 1.0
            for side, share in zip(corner, shares, strict=True):
                weight = weight * (share if side else 1 - share)
            at = [number + side for number, side in zip(numbers, corner, strict=True)]
            total = total + self._at(at) * spread(weight, behind)
        return total

    def _at(self, numbers: list[Any]) -> Any:
        """The values in these places of the grid."""
        lengths = [line.size for line in self.grid]
        place = numbers[0]
        for number, length in zip(numbers[1:], lengths[1:], strict=True):
            place = place * length + number
        return taken(np.reshape(self.values, (-1, *self.values.shape[len(lengths) :])), place)


def _checked(method: str) -> str:
    if method not in ("linear", "nearest"):
        refuse(f"interpolation on a grid with method={method!r} of tracked values", "use method='linear'")
    return method


def _points(xi: Any, count: int) -> Any:
    if isinstance(xi, tuple):
        parts = [float_points(part) for part in xi]
        shape = np.broadcast_shapes(*(part.shape for part in parts))
        xi = np.stack([np.broadcast_to(part, shape) for part in parts], axis=-1)
    xi = float_points(xi)
    xi = np.reshape(xi, (-1, count)) if xi.ndim == 1 else xi
    if xi.shape[-1] != count:
        raise ValueError(f"The requested sample points xi have dimension {xi.shape[-1]}, the grid has {count}")
    return xi


@stand_in(interpolate.RegularGridInterpolator)
def RegularGridInterpolator(
    points: Any,
    values: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
    *,
    solver: Any = None,
    solver_args: Any = None,
) -> GridInterpolator:
    remedy = "pass bridge.detach(points); the values may be tracked"
    points = without_gradient(points, "interpolation on a grid of tracked points", remedy)
    method, values = _checked(method), as_operand(values)
    values = np.copy(values) if values.dtype.kind in "fc" else values.astype(np.float64)
    grid = []
    for axis, line in enumerate(np.asarray(line, np.float64) for line in points):
        if np.all(np.diff(line) < 0):
            line, values = line[::-1], np.flip(values, axis)
        if not np.all(np.diff(line) > 0) or line.size != values.shape[axis]:
            raise ValueError(f"The points in dimension {axis} must be strictly ascending or descending, one a value")
        if line.size < 2:
            refuse(f"interpolation on a grid of one point in dimension {axis}", "leave that dimension out")
        grid.append(line.copy())
    return GridInterpolator(grid, values, method, bounds_error, fill_value)


@stand_in(interpolate.RegularGridInterpolator.__call__)
def evaluate_on_grid(function: Any, xi: Any, method: str | None = None, *, nu: Any = None) -> Any:
    options = {"bounds_error": function.bounds_error, "fill_value": function.fill_value}
    method = function.method if method is None else method
    return RegularGridInterpolator(function.grid, function.values, method, **options)(xi, nu=nu)


@stand_in(interpolate.interpn)
def interpn(
    points: Any, values: Any, xi: Any, method: str = "linear", bounds_error: bool = True, fill_value: Any = np.nan
) -> Any:
    return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)


@stand_in(interpolate.griddata, of_constants=True)
def griddata(*args: Any, **kwargs: Any) -> Any:
    refuse("scipy.interpolate.griddata of tracked values", "use RegularGridInterpolator on a grid")
