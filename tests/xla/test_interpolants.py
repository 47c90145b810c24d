"""Compiled interpolants of SciPy's, and systems solved by plain sparse factors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator, interp1d, make_interp_spline
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

import bridge
from bridge.errors import NoRuleError, RefusedError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

KNOTS = np.linspace(0.0, 3.0, 7)
POINTS = np.array([0.2, 1.1, 2.9])
SPLINES: dict[str, Callable[[Any], Any]] = {
    "cubic": lambda y: CubicSpline(KNOTS, y)(POINTS),
    "cubic, its slope": lambda y: CubicSpline(KNOTS, y, bc_type="natural")(POINTS, 1),
    "cubic, at traced points": lambda y: CubicSpline(KNOTS, y)(y / 2),
    "monotone": lambda y: PchipInterpolator(KNOTS, y)(POINTS + y[0]),
    "of bases": lambda y: make_interp_spline(KNOTS, y, k=5)(POINTS),
    "linear": lambda y: interp1d(KNOTS, y)(POINTS),
    "plain, at traced points": lambda y: PLAIN(y / 2) + STEPS(y / 2),
    "a system": lambda y: SYSTEM.solve(y) + SYSTEM.solve(y, "T"),
}
PLAIN = CubicSpline(KNOTS, np.outer(np.sin(KNOTS), [1.0, 2.0]))
STEPS = interp1d(KNOTS, np.outer(np.cos(KNOTS), [1.0, 2.0]), axis=0, kind="nearest", fill_value="extrapolate")
SYSTEM = splu(csc_array(np.diag(KNOTS + 1) + np.diag(KNOTS[:-1], 1) + np.diag(np.ones(4), -3)))


@pytest.mark.ci
@pytest.mark.parametrize("name", SPLINES)
def test_interpolants_and_systems_of_plain_factors_are_compiled(name: str) -> None:
    def program(y: Any) -> Any:
        return np.sum(np.sin(SPLINES[name](y)))

    y = 2 + np.cos(KNOTS)
    np.testing.assert_allclose(bridge.grad(program, engine="xla")(y), bridge.grad(program)(y), rtol=1e-9)


@pytest.mark.ci
def test_knots_that_the_program_makes_are_refused_by_name() -> None:
    def program(y: Any) -> Any:
        return np.sum(CubicSpline(np.arange(7.0), y)(POINTS))

    message = r"CubicSpline with tracked knots x: their values are not known(.|\n)*remedy: make them before the program"
    with pytest.raises(RefusedError, match=message):
        bridge.grad(program, engine="xla")(KNOTS)


@pytest.mark.ci
def test_a_system_too_large_for_full_factors_is_refused_by_name() -> None:
    knots = np.arange(5000.0)

    def program(y: Any) -> Any:
        return np.sum(CubicSpline(knots, y)(POINTS))

    message = r"scipy.interpolate.CubicSpline: a compiled program solves such sparse systems of at most 4096 unknowns"
    with pytest.raises(NoRuleError, match=message):
        bridge.grad(program, engine="xla")(knots)
