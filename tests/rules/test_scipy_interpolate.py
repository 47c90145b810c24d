"""Interpolation as programs have it, unchanged: SciPy's values, gradients by data and by points. One row a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate as interpolate
from scipy.interpolate import (
    Akima1DInterpolator,
    BSpline,
    CubicHermiteSpline,
    CubicSpline,
    PchipInterpolator,
    PPoly,
    RegularGridInterpolator,
    UnivariateSpline,
    interp1d,
    interpn,
    make_interp_spline,
    splev,
    splrep,
)

import bridge
from bridge.errors import RefusedError

RNG = np.random.default_rng(0)
X = np.array([0.0, 0.4, 1.1, 1.5, 2.3, 3.0])
Y = np.array([0.3, -1.2, 0.5, 0.9, 2.0, 1.1])
TABLE = RNG.normal(size=(6, 2))
INSIDE = np.array([0.05, 0.41, 1.0, 1.3, 2.95, 2.2])
AROUND = np.array([-0.7, 0.2, 1.2, 2.9, 3.4])
GRID = np.array([0.0, 1.0, 1.5]), np.array([-1.0, 0.5, 2.0, 2.5])
BACKWARDS = GRID[0][::-1], GRID[1]
SURFACE = RNG.normal(size=(3, 4))
PLACES = np.array([[0.2, -0.3], [1.2, 2.1], [0.9, 0.4]])
OUTSIDE = np.array([[-0.2, -0.3], [1.2, 3.1], [0.9, 0.4]])
PERIODIC = np.array([1.0, 0.0, 0.0, 0.0, 0.0, 1.0])

SPLINE = CubicSpline(X, Y)
TABLE_SPLINE = CubicSpline(X, TABLE.T, axis=1)
TURNING = CubicSpline(X, np.r_[Y[:-1], Y[0]], bc_type="periodic")
MONOTONE = PchipInterpolator(X, Y, extrapolate=False)
BENT = make_interp_spline(X, TABLE, k=3)
LINEAR = interp1d(X, TABLE.T, bounds_error=False, fill_value=(np.array([1.0, 2.0]), 3.0))
CUBIC = interp1d(X, TABLE, kind="cubic", axis=0, fill_value="extrapolate")
ON_GRID = RegularGridInterpolator(GRID, SURFACE, bounds_error=False, fill_value=None)
FITTED = UnivariateSpline(X, Y, s=0.5)

# Of data y and points q.
PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "not a knot": lambda y, q: CubicSpline(X, y)(q),
    "natural": lambda y, q: CubicSpline(X, y, bc_type="natural")(q),
    "clamped": lambda y, q: CubicSpline(X, y, bc_type="clamped", extrapolate=True)(q),
    "mixed ends": lambda y, q: CubicSpline(X, y, bc_type=((1, 0.5), (2, -0.3)))(q),
    "mixed words": lambda y, q: CubicSpline(X, y, bc_type=("not-a-knot", "natural"))(q),
    "periodic": lambda y, q: CubicSpline(X, y - PERIODIC * (y - y[0]) - 0 * y[0], bc_type="periodic")(q),
    "three points": lambda y, q: CubicSpline(X[:3], y[:3])(q),
    "three periodic points": lambda y, q: CubicSpline(X[:3], np.stack([y[0], y[1], y[0]]), bc_type="periodic")(q),
    "two points": lambda y, q: CubicSpline(X[:2], y[:2])(q),
    "columns": lambda y, q: CubicSpline(X, np.outer(y, y[:2]))(q),
    "rows": lambda y, q: CubicSpline(X, np.outer(y[:2], y), axis=1)(q[None]),
    "slope of a spline": lambda y, q: CubicSpline(X, y)(q, 1) + CubicSpline(X, y).derivative(2)(q),
    "integral of a spline": lambda y, q: CubicSpline(X, y).integrate(q[0], q[1]) * q,
    "antiderivative": lambda y, q: CubicSpline(X, y).antiderivative(2)(q),
    "hermite": lambda y, q: CubicHermiteSpline(X, y, y[::-1])(q),
    "monotone": lambda y, q: PchipInterpolator(X, y)(q),
    "monotone, two points": lambda y, q: PchipInterpolator(X[:2], y[:2])(q),
    "akima": lambda y, q: Akima1DInterpolator(X, y, extrapolate=True)(q),
    "makima": lambda y, q: Akima1DInterpolator(X, y, method="makima", extrapolate=True)(q),
    "b-spline": lambda y, q: make_interp_spline(X, y)(q),
    "b-spline of degree 2": lambda y, q: make_interp_spline(X, y, k=2)(q, 1),
    "b-spline of degree 5": lambda y, q: make_interp_spline(X, np.outer(y, y[:2]), k=5)(q),
    "b-spline of degree 1": lambda y, q: make_interp_spline(X, y, k=1)(q),
    "natural b-spline": lambda y, q: make_interp_spline(X, y, bc_type="natural")(q),
    "b-spline with slopes": lambda y, q: make_interp_spline(X, y, bc_type=([(1, 0.3)], [(2, 0.0)]))(q),
    "coefficients": lambda y, q: BSpline(np.r_[0, 0, 0, 1.0, 2, 2.5, 3, 3, 3], y, 2)(q),
    "splrep": lambda y, q: splev(q, splrep(X, y)),
    "splrep, slope": lambda y, q: splev(q, splrep(X, y, s=0), der=1, ext=1),
    "splrep, ends kept": lambda y, q: splev(q, splrep(X, y, k=2), ext=3),
    "linear": lambda y, q: interp1d(X, y, fill_value="extrapolate")(q),
    "linear, filled": lambda y, q: interp1d(X, y, bounds_error=False, fill_value=(0.5, y[-1] * 2))(q),
    "linear, unsorted": lambda y, q: interp1d(X[::-1], np.outer(y[:2], y), bounds_error=False, fill_value=0.0)(q),
    "linear in its knots": lambda y, q: interp1d(X + 0.01 * y, y, fill_value="extrapolate")(q),
    "quadratic": lambda y, q: interp1d(X, y, kind="quadratic", fill_value="extrapolate")(q),
    "cubic": lambda y, q: interp1d(X, y, kind="cubic", fill_value="extrapolate")(q),
    "nearest": lambda y, q: interp1d(X, y, kind="nearest", fill_value="extrapolate")(q),
    "nearest up": lambda y, q: interp1d(X, y, kind="nearest-up", fill_value="extrapolate")(q),
    "previous": lambda y, q: interp1d(X, y, kind="previous", bounds_error=False, fill_value=1.0)(q),
    "next": lambda y, q: interp1d(X, y, kind="next", bounds_error=False, fill_value=1.0)(q),
    "at plain points": lambda y, q: CubicSpline(X, y)(AROUND) * q[0],
    "plain spline": lambda y, q: SPLINE(q) + SPLINE(q, 1) + y[0],
    "plain rows": lambda y, q: TABLE_SPLINE(q) * y[0],
    "plain periodic": lambda y, q: TURNING(q) * y[0],
    "plain integral": lambda y, q: SPLINE.integrate(q[0], q[2]) + TURNING.integrate(q[0], 5 + q[2]) + y[0],
    "plain derivative": lambda y, q: SPLINE.derivative()(q) * y[0],
    "plain b-spline": lambda y, q: BENT(q) * y[0],
    "plain linear": lambda y, q: LINEAR(q) * y[0],
    "plain cubic": lambda y, q: CUBIC(q) * y[0],
    "plain smoothing spline": lambda y, q: FITTED(q) + FITTED(q, 1) * y[0],
    "knots made inside": lambda y, q: CubicSpline(np.linspace(0.0, 3.0, 6), y)(q),
    "splines made inside": lambda y, q: CubicSpline(np.arange(6.0), np.sin(np.arange(6.0)))(q).sum() * y,
    "b-splines made inside": lambda y, q: make_interp_spline(np.arange(6.0), np.cos(np.arange(6.0)))(q) * y[0],
    "lines made inside": lambda y, q: interp1d(np.arange(6.0), y, kind="quadratic", fill_value="extrapolate")(q),
    "roots made inside": lambda y, q: CubicSpline(np.arange(4.0), np.cos(np.arange(4.0))).roots()[0] * y + q[0],
    "polynomials": lambda y, q: PPoly(np.stack([y[:2], y[2:4]]), np.array([0.0, 1.0, 2.0]))(q),
}  # fmt: skip


def assert_program(program: Callable[..., Any], *args: Any, tolerance: float = 1e-10) -> None:
    """A read program gives SciPy's value, and its gradient is that of finite differences."""
    expected = program(*args)
    seen = []

    def loss(*args: Any) -> Any:
        seen.append(bridge.detach(program(*args)))
        return np.sum(np.sin(program(*args)))

    bridge.value_and_grad(loss)(*args)
    np.testing.assert_allclose(seen[0], expected, rtol=tolerance, atol=tolerance)
    assert seen[0].shape == np.shape(expected)
    bridge.check_gradient(lambda *args: np.sum(np.sin(program(*args))), args)


@pytest.mark.parametrize("points", [INSIDE, AROUND], ids=["inside", "around"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, points: Any) -> None:
    assert_program(PROGRAMS[name], Y, points)


ON_GRIDS: dict[str, Callable[[Any, Any], Any]] = {
    "linear": lambda v, p: RegularGridInterpolator(GRID, v, bounds_error=False, fill_value=None)(p),
    "filled": lambda v, p: RegularGridInterpolator(GRID, v, bounds_error=False, fill_value=0.5)(p),
    "nearest": lambda v, p: RegularGridInterpolator(GRID, v, "nearest", bounds_error=False, fill_value=None)(p),
    "another method": lambda v, p: RegularGridInterpolator(GRID, v, bounds_error=False, fill_value=1.0)(p, "nearest"),
    "descending": lambda v, p: RegularGridInterpolator(BACKWARDS, v, bounds_error=False, fill_value=0.0)(p),
    "vectors": lambda v, p: RegularGridInterpolator(GRID, v[:, :, None] * 2, bounds_error=False, fill_value=0.0)(p),
    "one point": lambda v, p: RegularGridInterpolator(GRID, v, bounds_error=False, fill_value=0.0)(p[0]),
    "columns": lambda v, p: RegularGridInterpolator(GRID, v, bounds_error=False, fill_value=0.0)((p[:, 0], p[:, 1])),
    "one axis": lambda v, p: RegularGridInterpolator((GRID[1],), v[0], bounds_error=False, fill_value=None)(p[:, 0]),
    "interpn": lambda v, p: interpn(GRID, v, p, bounds_error=False, fill_value=0.3),
    "plain": lambda v, p: ON_GRID(p) * v[0, 0],
}  # fmt: skip


@pytest.mark.parametrize("points", [PLACES, OUTSIDE], ids=["inside", "outside"])
@pytest.mark.parametrize("name", ON_GRIDS)
def test_programs_on_grids(name: str, points: Any) -> None:
    assert_program(ON_GRIDS[name], SURFACE, points)


@pytest.mark.parametrize("program", [lambda q: MONOTONE(q), lambda q: LINEAR(q), lambda q: BENT(q, extrapolate=False)])
def test_points_without_a_value_are_where_scipy_has_them(program: Callable[[Any], Any]) -> None:
    seen = []

    def loss(q: Any) -> Any:
        seen.append(bridge.detach(program(q)))
        return np.sum(q)

    bridge.grad(loss)(AROUND)
    np.testing.assert_allclose(seen[0], program(AROUND), rtol=1e-12)


def test_long_splines_are_solved_as_band_matrices() -> None:
    x = np.linspace(0, 1, 3000)
    y = np.sin(9 * x)

    def program(y: Any) -> Any:
        return np.sum(CubicSpline(x, y)(x[:-1] + 1e-4) ** 2) + np.sum(make_interp_spline(x, y)(x[:-1] + 1e-4) ** 2)

    value, gradient = bridge.value_and_grad(program)(y)
    np.testing.assert_allclose(value, program(y), rtol=1e-12)
    direction = np.cos(3 * x)
    slope = (program(y + 1e-6 * direction) - program(y - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(gradient @ direction, slope, rtol=1e-6)


ERRORS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "above": (lambda q: interp1d(X, Y)(q), "outside of the interpolation range"),
    "grid": (lambda q: RegularGridInterpolator(GRID, SURFACE)(np.outer(q[:2], q[:2])), "out of bounds"),
    "periodic": (lambda q: CubicSpline(X, q, bc_type="periodic")(1.0), "must be identical"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_scipys_own_errors_stay(name: str) -> None:
    program, message = ERRORS[name]
    with pytest.raises(ValueError, match=message):
        bridge.grad(lambda q: np.sum(program(q)))(np.linspace(-1.0, 9.0, 6))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "knots": (lambda x: CubicSpline(x, Y)(1.0), "CubicSpline with tracked knots x"),
    "method": (lambda y: RegularGridInterpolator((X,), y, "cubic")([1.0]), "method='cubic' of tracked values"),
    "griddata": (lambda y: interpolate.griddata(X[:, None], y, [[1.0]]), "griddata of tracked values"),
    "roots": (lambda y: CubicSpline(X, y).roots(), "roots of a piecewise polynomial with tracked coefficients"),
    "copy": (lambda y: interp1d(X, y, copy=False)(1.0), "interp1d with copy=False"),
    "kinds": (lambda x: interp1d(x, Y, kind="cubic")(1.0), "interp1d with tracked x and kind='cubic'"),
    "ends": (lambda q: splev(q, splrep(X, Y), der=1, ext=3), "a derivative of a spline of FITPACK with ext=3"),
    "splrep": (lambda y: splev(1.0, splrep(X, y, s=1.0)), "splrep of tracked data with other options"),
    "b-spline": (lambda y: make_interp_spline(X, y).insert_knot(0.5), "BSpline.insert_knot with tracked coefficients"),
    "grid points": (lambda x: RegularGridInterpolator((x,), Y)([1.0]), "a grid of tracked points"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_so(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(RefusedError, match=message) as caught:
        bridge.grad(lambda data: np.sum(program(data)))(X.copy())
    assert caught.value.remedy
    assert "test_scipy_interpolate.py" in str(caught.value)
