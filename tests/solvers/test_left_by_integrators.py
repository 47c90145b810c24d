"""What functions leave that integrators and minimisers call: plain values as SciPy leaves them, or a named error."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError, RefusedError

integrate = pytest.importorskip("scipy.integrate", reason="SciPy is not installed (pip install scipy)")
optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed (pip install scipy)")

Leaves = Callable[[Any, Any], None]
TOTAL: Any = 0.0


def slope_of(f: Callable[[float], float], x: float = 0.7, h: float = 1e-5) -> float:
    return (f(x + h) - f(x - h)) / (2 * h)


def by_ivp(k: Any, leave: Leaves, **options: Any) -> Any:
    def slope(t: Any, y: Any) -> Any:
        leave(y, k)
        return -k * y

    return np.sum(integrate.solve_ivp(slope, (0, 1), [1.0, 2.0], **options).y[:, -1])


def by_lsoda(k: Any, leave: Leaves) -> Any:
    return by_ivp(k, leave, method="LSODA", rtol=1e-10, atol=1e-10)


def by_odeint(k: Any, leave: Leaves) -> Any:
    def slope(y: Any, t: Any) -> Any:
        leave(y, k)
        return -k * y

    return np.sum(integrate.odeint(slope, [1.0, 2.0], np.linspace(0, 1, 4), rtol=1e-10, atol=1e-10)[-1])


def by_quad(k: Any, leave: Leaves) -> Any:
    def integrand(x: Any) -> Any:
        leave(np.array([x, x]), k)
        return np.exp(-k * x)

    return integrate.quad(integrand, 0, 1)[0]


def by_quad_vec(k: Any, leave: Leaves) -> Any:
    def integrand(x: Any) -> Any:
        leave(np.array([x, x]), k)
        return np.exp(-k * x) * np.arange(1.0, 3.0)

    return np.sum(integrate.quad_vec(integrand, 0, 1)[0])


def by_minimize(k: Any, leave: Leaves) -> Any:
    def objective(x: Any) -> Any:
        leave(x, k)
        return (x[0] - k) ** 2 + (x[1] + 2 * k) ** 4 + x[1] ** 2

    return np.sum(optimize.minimize(objective, [0.5, 0.1], method="BFGS", tol=1e-12).x)


def by_minimize_scalar(k: Any, leave: Leaves) -> Any:
    def objective(x: Any) -> Any:
        leave(np.array([x, x]) if np.ndim(x) == 0 else x, k)
        return (x - k) ** 2

    return optimize.minimize_scalar(objective).x


def by_least_squares(k: Any, leave: Leaves) -> Any:
    def residuals(x: Any) -> Any:
        leave(x, k)
        return np.stack([x[0] - k, x[1] + 2 * k, x[0] * x[1]])

    return np.sum(optimize.least_squares(residuals, [0.5, 0.1], xtol=1e-14, ftol=1e-14, gtol=1e-14).x)


SOLVERS = [
    by_ivp, by_lsoda, by_odeint, by_quad, by_quad_vec, by_minimize, by_minimize_scalar, by_least_squares,
]  # fmt: skip


def counted(solver: Any, k: Any) -> Any:
    n = 0

    def leave(y: Any, k: Any) -> None:
        nonlocal n
        n += 1

    return solver(k, leave), n


def counted_in_an_object(solver: Any, k: Any) -> Any:
    state = SimpleNamespace(n=0, calls=[])

    def leave(y: Any, k: Any) -> None:
        state.n += 1
        state.calls.append("call")

    return solver(k, leave), state.n + len(state.calls)


def counted_in_an_array(solver: Any, k: Any) -> Any:
    n = np.zeros(2)

    def leave(y: Any, k: Any) -> None:
        n[0] += 1

    return solver(k, leave), n[0]


@pytest.mark.parametrize("program", [counted, counted_in_an_object, counted_in_an_array], ids=lambda f: f.__name__)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda f: f.__name__)
def test_counters_are_as_scipy_leaves_them(solver: Any, program: Any) -> None:
    plain, count = program(solver, 0.7)
    seen = []

    def f(k: Any) -> Any:
        value, count = program(solver, k)
        seen.append(float(bridge.detach(count)))
        return value

    value, found = bridge.value_and_grad(f)(0.7)
    assert seen == [count]
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    np.testing.assert_allclose(found, slope_of(lambda k: program(solver, k)[0]), rtol=2e-4)


def added_to_a_variable(solver: Any, k: Any) -> Any:
    total = 0.0

    def leave(y: Any, k: Any) -> None:
        nonlocal total
        total += np.sum(y) * k

    return solver(k, leave) + total


def added_to_an_attribute(solver: Any, k: Any) -> Any:
    state = SimpleNamespace(total=0.0)

    def leave(y: Any, k: Any) -> None:
        state.total += np.sum(y) * k

    return solver(k, leave) + state.total


def added_to_an_element(solver: Any, k: Any) -> Any:
    total = {"of": 0.0}

    def leave(y: Any, k: Any) -> None:
        total["of"] += np.sum(y) * k

    return solver(k, leave) + total["of"]


def added_to_an_array(solver: Any, k: Any) -> Any:
    total = np.zeros(2)

    def leave(y: Any, k: Any) -> None:
        total[1] += np.sum(y) * k

    return solver(k, leave) + total[1]


def added_to_a_global(solver: Any, k: Any) -> Any:
    global TOTAL
    TOTAL = 0.0

    def leave(y: Any, k: Any) -> None:
        global TOTAL
        TOTAL += np.sum(y) * k

    return solver(k, leave) + TOTAL


def kept_in_a_list(solver: Any, k: Any) -> Any:
    kept: list[Any] = []

    def leave(y: Any, k: Any) -> None:
        kept.append(np.sum(y) * k)

    return solver(k, leave) + len(kept) + kept[-1]


ADDING = [
    added_to_a_variable, added_to_an_attribute, added_to_an_element, added_to_an_array, added_to_a_global,
    kept_in_a_list,
]  # fmt: skip


@pytest.mark.parametrize("program", ADDING, ids=lambda f: f.__name__)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda f: f.__name__)
def test_what_is_added_up_is_right_or_an_error_by_name(solver: Any, program: Any) -> None:
    plain = program(solver, 0.7)
    try:
        value, found = bridge.value_and_grad(lambda k: program(solver, k))(0.7)
    except BridgeError as error:
        assert "remedy" in str(error)
        return
    np.testing.assert_allclose(value, plain, rtol=1e-12)
    np.testing.assert_allclose(found, slope_of(lambda k: program(solver, k)), rtol=2e-4)


def oscillating(k: Any, copied: bool) -> Any:
    d = np.zeros(2)

    def slope(t: Any, y: Any) -> Any:
        d[0], d[1] = y[1], -k * y[0]
        return d.copy() if copied else d

    return np.sum(integrate.solve_ivp(slope, (0, 0.1), [1.0, 2.0], max_step=0.01).y[:, -1])


def integrated(k: Any) -> Any:
    d = np.zeros(2)

    def integrand(x: Any) -> Any:
        d[0], d[1] = np.exp(-k * x), k * x
        return d

    return np.sum(integrate.quad_vec(integrand, 0, 1, limit=20)[0])


@pytest.mark.parametrize("f", [lambda k: oscillating(k, copied=True), integrated], ids=["solve_ivp", "quad_vec"])
def test_values_that_are_computed_in_one_array(f: Any) -> None:
    value, found = bridge.value_and_grad(f)(0.7)
    np.testing.assert_allclose(value, f(0.7), rtol=1e-12)
    np.testing.assert_allclose(found, slope_of(f), rtol=1e-5)


def test_memory_with_which_scipy_still_computes() -> None:
    with pytest.raises(RefusedError, match=r"returns the same array again .*\n.*\n  remedy: return a copy") as told:
        bridge.grad(lambda k: oscillating(k, copied=False))(0.7)
    assert "scipy.integrate.solve_ivp" in str(told.value)
