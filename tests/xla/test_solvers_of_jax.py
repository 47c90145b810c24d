"""Solvers and optimisers of JAX's ecosystem take a compiled program as one of their own functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')
optimistix = pytest.importorskip("optimistix", reason='pip install "mutation-bridge[test]"')

T = 0.05 * np.arange(20)
DATA = 3.0 * np.exp(-0.7 * T)


def residuals(p: Any, t: Any) -> Any:
    out = np.empty(len(t))
    level = p["height"]
    for k in range(len(t)):
        out[k] = level
        level *= np.exp(-0.05 * p["rate"])
    out -= DATA
    return out


def misfit(p: Any, t: Any) -> Any:
    return np.sum(residuals(p, t) ** 2)


@pytest.fixture
def start() -> Any:
    import jax

    with jax.enable_x64(True):
        yield {"height": jax.numpy.array(1.0), "rate": jax.numpy.array(0.1)}


def assert_found(p: Any) -> None:
    np.testing.assert_allclose([p["height"], p["rate"]], [3.0, 0.7], rtol=1e-5)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["LevenbergMarquardt", "GaussNewton", "Dogleg"])
def test_least_squares(name: str, start: Any) -> None:
    solver = getattr(optimistix, name)(rtol=1e-8, atol=1e-8)
    assert_found(optimistix.least_squares(bridge.xla(residuals), solver, start, args=T).value)


@pytest.mark.ci
@pytest.mark.parametrize("name", ["BFGS", "NonlinearCG"])
def test_minimise(name: str, start: Any) -> None:
    solver = getattr(optimistix, name)(rtol=1e-9, atol=1e-9)
    assert_found(optimistix.minimise(bridge.xla(misfit), solver, start, args=T, max_steps=2000).value)


@pytest.mark.ci
def test_root_and_the_derivative_of_what_is_found(start: Any) -> None:
    import jax

    def equation(y: Any, a: Any) -> Any:
        out = np.zeros(2)
        out[0] = y[0] * y[0] - a
        out[1] = y[1] - 2.0 * y[0]
        return out

    compiled = bridge.xla(equation)
    solver = optimistix.Newton(rtol=1e-10, atol=1e-10)

    def found(a: Any) -> Any:
        return optimistix.root_find(compiled, solver, jax.numpy.array([1.0, 1.0]), args=a).value[1]

    value, slope = jax.value_and_grad(found)(2.0)
    np.testing.assert_allclose([value, slope], [2 * np.sqrt(2.0), 1 / np.sqrt(2.0)], rtol=1e-8)


@pytest.mark.ci
def test_jaxopt(start: Any) -> None:
    jaxopt = pytest.importorskip("jaxopt", reason="pip install jaxopt")
    compiled = bridge.xla(misfit)
    assert_found(jaxopt.LBFGS(fun=lambda p: compiled(p, T), maxiter=200, tol=1e-9).run(start).params)
