"""B-splines of `scipy.interpolate`: with tracked coefficients, through tracked data, at tracked points."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import TrackedObject, needs, refuse, stand_in, without_gradient
from bridge.rules.contractions import as_operand
from bridge.rules.factorizations import LU_SOLVED
from bridge.rules.piecewise import float_points, in_period, intervals, laid_out, spread, taken

interpolate = needs("scipy.interpolate")


class Spline(TrackedObject):
    """A sum of B-splines of degree `k` on the knots `t`, with coefficients `c` along their first axis."""

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k, self.extrapolate, self.axis = t, c, k, extrapolate, axis

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "place":
            raise AttributeError(name)
        refuse(f"BSpline.{name} with tracked coefficients", "take their plain values with bridge.detach")

    @property
    def tck(self) -> tuple[Any, Any, int]:
        return self.t, self.c, self.k

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        if nu:
            return self.derivative(nu)(x, 0, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        x = float_points(x)
        t, k, count = self.t, self.k, len(self.t) - self.k - 1
        first, last = t[k], t[count]
        points = in_period(x, first, last) if extrapolate == "periodic" else x
        number = intervals(t[k : count + 1], points, count - k - 1) + k
        # Knots that coincide make empty intervals, which no point lies in; de Boor's algorithm.
        parts = [taken(self.c, number - k + j) for j in range(k + 1)]
        behind = self.c.ndim - 1
        for level in range(1, k + 1):
            for j in range(k, level - 1, -1):
                left, right = taken(t, number - k + j), taken(t, number + 1 + j - level)
                share = spread((points - left) / (right - left), behind)
                parts[j] = (1 - share) * parts[j - 1] + share * parts[j]
        value = parts[k] + 0 * spread(points, behind)
        if not extrapolate:
            value = np.where(spread((x < first) | (x > last), behind), np.nan, value)
        return laid_out(value, x.ndim, self.axis)

    def derivative(self, nu: int = 1) -> Spline:
        if nu < 0:
            refuse("an antiderivative of a tracked BSpline", "integrate by scipy.integrate, or use CubicSpline")
        t, c, k = self.t, self.c[: len(self.t) - self.k - 1], self.k
        for _ in range(nu):
            if k == 0:
                return Spline(t, 0 * c, k, self.extrapolate, self.axis)
            width = t[k + 1 : -1] - t[1 : -k - 1]
            scale = np.where(width > 0, k / np.where(width > 0, width, 1), 0)
            c, t, k = (c[1:] - c[:-1]) * spread(scale, c.ndim - 1), t[1:-1], k - 1
        return Spline(t, c, k, self.extrapolate, self.axis)


def of_plain(spline: Any) -> Spline:
    """A spline of SciPy, to be evaluated at tracked points."""
    return Spline(spline.t.copy(), spline.c.copy(), spline.k, spline.extrapolate, spline.axis)


@stand_in(interpolate.BSpline.__call__)
def evaluate(spline: Any, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
    return of_plain(spline)(x, nu, extrapolate)


@stand_in(interpolate.BSpline)
def make(t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Spline:
    t = without_gradient(t, "scipy.interpolate.BSpline with tracked knots t", "pass bridge.detach(t)")
    c, t = np.moveaxis(as_operand(c), axis, 0), np.asarray(t, np.float64)
    plain = interpolate.BSpline(t, np.zeros(c.shape[0]), k, extrapolate)
    return Spline(plain.t, c, plain.k, plain.extrapolate, axis % c.ndim)


def _without_values(end: Any, count: int) -> Any:
    """A condition at one end for all unit vectors: the same derivatives are zero."""
    return [(order, np.zeros(count)) for order, _ in end] if isinstance(end, (list, tuple)) else end


@stand_in(interpolate.make_interp_spline, of_constants=True)
def make_interp_spline(
    x: Any, y: Any, k: int = 3, t: Any = None, bc_type: Any = None, axis: int = 0, check_finite: bool = True
) -> Spline:
    """Coefficients are linear in the data: by the collocation matrix, or by what SciPy makes of the unit vectors."""
    x, t = without_gradient((x, t), "scipy.interpolate.make_interp_spline with tracked x or t", "pass bridge.detach(x)")
    x, y = np.asarray(x, np.float64), np.moveaxis(as_operand(y), axis, 0)
    y = y.astype(np.complex128 if y.dtype.kind == "c" else np.float64, copy=False)
    axis %= y.ndim
    count, flat = x.size, np.reshape(y, (y.shape[0], -1))
    if bc_type == "periodic" and not bool(np.all(np.abs(y[0] - y[-1]) <= 1e-15 * (1 + np.abs(y[-1])))):
        raise ValueError("First and last points does not match while periodic case expected")
    if bc_type is None or bc_type == "not-a-knot" or bc_type == (None, None):
        like = interpolate.make_interp_spline(x, np.zeros(count), k, t)
        system = interpolate.BSpline.design_matrix(x, like.t, like.k)
        c = LU_SOLVED(needs("scipy.sparse.linalg").splu(system.tocsc()), flat, "N") if k > 1 else flat
        return Spline(like.t, np.reshape(c, y.shape), like.k, like.extrapolate, axis)
    pair = isinstance(bc_type, (list, tuple))
    linear = tuple(_without_values(end, count) for end in bc_type) if pair else bc_type
    of_units = interpolate.make_interp_spline(x, np.eye(count), k, t, linear)
    c = np.reshape(np.matmul(of_units.c, flat), (of_units.c.shape[0], *y.shape[1:]))
    if pair and any(isinstance(end, (list, tuple)) for end in bc_type):
        what = "scipy.interpolate.make_interp_spline with tracked derivatives at its ends"
        bc_type = without_gradient(bc_type, what, "use CubicSpline")
        c = c + interpolate.make_interp_spline(x, np.zeros(y.shape), k, t, bc_type).c
    return Spline(of_units.t, c, of_units.k, of_units.extrapolate, axis)


@stand_in(interpolate.splrep, of_constants=True)
def splrep(x: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
    """Of exact interpolation only: the coefficients are then linear in the data."""
    k, smoothing = kwargs.pop("k", 3), kwargs.pop("s", None)
    if args or kwargs or smoothing:
        refuse("scipy.interpolate.splrep of tracked data with other options than k= and s=0", "use make_interp_spline")
    spline = make_interp_spline(x, y, k)
    return spline.t, np.concatenate([spline.c, np.zeros(k + 1)]), k


@stand_in(interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    if isinstance(tck, Spline) or hasattr(tck, "tck"):
        tck = tck.tck
    t, c, k = tck
    if isinstance(c, (list, tuple)):
        refuse("scipy.interpolate.splev of a curve at tracked points", "evaluate one coordinate after the other")
    t = without_gradient(t, "scipy.interpolate.splev with tracked knots", "pass bridge.detach(t)")
    return _extended(Spline(np.asarray(t), as_operand(c), k, True, 0), x, der, ext)


def _extended(spline: Spline, x: Any, nu: int, ext: Any) -> Any:
    """A spline of FITPACK, which has four ways to go on beyond the ends."""
    modes = {0: 0, "extrapolate": 0, 1: 1, "zeros": 1, 2: 2, "raise": 2, 3: 3, "const": 3}
    if ext not in modes:
        raise ValueError(f"ext = {ext!r} is unknown")
    x, mode = float_points(x), modes[ext]
    first, last = spline.t[spline.k], spline.t[len(spline.t) - spline.k - 1]
    outside = (x < first) | (x > last)
    if mode == 2 and bool(np.any(outside)):
        raise ValueError("a point lies beyond the ends of the spline")
    if mode == 3 and nu:
        refuse("a derivative of a spline of FITPACK with ext=3, which SciPy extrapolates", "leave ext= out")
    value = spline(np.clip(x, first, last) if mode == 3 else x, nu)
    return np.where(outside, 0, value) if mode == 1 else value


@stand_in(interpolate.UnivariateSpline.__call__)
def evaluate_univariate(spline: Any, x: Any, nu: int = 0, ext: Any = None) -> Any:
    t, c, k = spline._eval_args
    return _extended(Spline(t.copy(), c.copy(), k, True, 0), x, nu, spline.ext if ext is None else ext)
