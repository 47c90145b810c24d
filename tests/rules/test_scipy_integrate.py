"""`scipy.integrate`: integrals of samples and functions, initial value problems."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import integrate

import bridge
from bridge.errors import RefusedError
from tests.helpers.by_differences import agrees

P = np.array([0.8, 1.7])
Q = np.array([1.0, 0.5, 1.1, 0.7])
RNG = np.random.default_rng(0)
X5, X6 = np.cumsum(RNG.uniform(0.1, 1, 5)), np.cumsum(RNG.uniform(0.1, 1, 6))
ROWS, COLUMNS, NINE, TWO = RNG.normal(size=(3, 5)), RNG.normal(size=(6, 2)), RNG.normal(size=9), RNG.normal(size=2)
BOTH = np.stack([X6, X6**2], axis=1)

SAMPLES: list[tuple[Any, tuple[Any, ...], dict[str, Any]]] = [
    (integrate.trapezoid, (ROWS, X5), {}),
    (integrate.trapezoid, (COLUMNS,), {"dx": 0.3, "axis": 0}),
    (integrate.trapezoid, (COLUMNS, BOTH), {"axis": 0}),
    (integrate.cumulative_trapezoid, (ROWS, X5), {}),
    (integrate.cumulative_trapezoid, (COLUMNS,), {"dx": 0.3, "axis": 0, "initial": 0}),
    (integrate.cumulative_trapezoid, (COLUMNS, BOTH), {"axis": 0}),
    (integrate.simpson, (ROWS, X5), {}),
    (integrate.simpson, (ROWS,), {}),
    (integrate.simpson, (TWO,), {}),
    (integrate.simpson, (COLUMNS, X6), {"axis": 0}),
    (integrate.simpson, (COLUMNS,), {"axis": 0, "dx": 0.4}),
    (integrate.cumulative_simpson, (ROWS,), {"x": X5}),
    (integrate.cumulative_simpson, (COLUMNS,), {"axis": 0, "dx": 0.3}),
    (integrate.cumulative_simpson, (COLUMNS,), {"axis": 0, "x": BOTH, "initial": 0.5}),
    (integrate.cumulative_simpson, (TWO,), {}),
    (integrate.romb, (NINE,), {"dx": 0.2}),
    (integrate.romb, (ROWS,), {}),
]


@pytest.mark.parametrize(("function", "args", "options"), SAMPLES)
def test_samples(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> None:
    plain = np.asarray(function(*args, **options))
    weights = np.cos(np.arange(plain.size)).reshape(plain.shape)

    def program(flat: Any) -> Any:
        parts, start = [], 0
        for x in args:
            parts.append(np.reshape(flat[start : start + x.size], x.shape))
            start += x.size
        found = function(*parts, **options)
        assert np.shape(found) == plain.shape
        return np.sum(found * weights)

    flat = np.concatenate([np.ravel(x) for x in args])
    agrees(program, flat, bits=False)


INTEGRALS: dict[str, Callable[[Any], Any]] = {
    "args": lambda p: integrate.quad(lambda x, a, b: np.exp(-a * x * x) * np.cos(b * x), 0, 2, (p[0], p[1]))[0],
    "limits": lambda p: integrate.quad(lambda x: math.exp(-x * x) + x, p[0], p[1])[0],
    "backwards": lambda p: integrate.quad(lambda x: math.exp(-x * x * p[0]) + x, p[1], p[0])[0],
    "infinite": lambda p: integrate.quad(lambda x: np.exp(-x * x * p[0]), -np.inf, np.inf)[0] * p[1],
    "half infinite": lambda p: integrate.quad(lambda x: np.exp(-x * p[0]) / (1 + x * x), p[1], math.inf)[0],
    "infinite below": lambda p: integrate.quad(lambda x: np.exp(x * p[0]) / (1 + x * x), -np.inf, p[1])[0],
    "quad_vec": lambda p: np.sum(integrate.quad_vec(lambda x: np.stack([np.sin(x * p[0]), x * p[1]]), 0, p[1])[0]),
    "fixed_quad": lambda p: integrate.fixed_quad(lambda x: np.exp(-x * p[0]), 0, p[1], n=7)[0],
}
SINGULAR: dict[str, Callable[[Any], Any]] = {
    "singular": lambda p: integrate.quad(lambda x: x ** (p[0] - 1) * np.exp(-x), 0, 1)[0] * p[1],
    "kink": lambda p: integrate.quad(lambda x: np.abs(x - p[0]) ** p[1], 0, 1)[0],
    "dblquad": lambda p: integrate.dblquad(
        lambda y, x: np.exp(-x * y * p[0]), 0, p[1], lambda x: x * p[0] * 0.1, lambda x: 1.0
    )[0],
    "nquad": lambda p: integrate.nquad(lambda y, x, a: x * y**2 * a, [lambda x, a: (0, x), (0, p[1])], args=(p[0],))[0],
    "complex": lambda p: integrate.quad(lambda x: np.exp(1j * p[0] * x), 0, p[1], complex_func=True)[0].imag,
}


@pytest.mark.parametrize("program", INTEGRALS.values(), ids=INTEGRALS)
def test_integrals(program: Callable[[Any], Any]) -> None:
    agrees(program, P, second=True, bits=False)


@pytest.mark.ci
@pytest.mark.parametrize("program", SINGULAR.values(), ids=SINGULAR)
def test_singular_and_multiple_integrals(program: Callable[[Any], Any]) -> None:
    agrees(program, P, 1e-5, bits=False)


def test_a_mesh_suits_the_derivative() -> None:
    """The value is that of a constant; its derivative is the area of a narrow peak."""

    def program(p: Any) -> Any:
        return integrate.quad(lambda x: (p[0] - 0.8) * np.exp(-((x - 0.3) ** 2) * 1e6) + p[1], 0, 1, points=[0.3])[0]

    np.testing.assert_allclose(bridge.grad(program)(P), [math.sqrt(math.pi / 1e6), 1], rtol=1e-9)
    np.testing.assert_allclose(bridge.jvp(program, (P,), (np.array([1.0, 0.0]),))[1], math.sqrt(math.pi / 1e6))


def pendulum(t: Any, y: Any, p: Any) -> Any:
    dy = np.zeros(2)
    dy[0] = y[1]
    dy[1] = -p * math.sin(y[0]) + 0.1 * math.cos(t)
    return dy


def prey(t: Any, z: Any, a: Any, b: Any) -> Any:
    return [z[0] * a - b * z[0] * z[1] + np.sin(t), -z[1] + 0.5 * z[0] * z[1]]


def balance(t: Any, z: Any, a: Any, b: Any) -> Any:
    return z[0] - z[1]


def equal(t: Any, z: Any, a: Any, b: Any) -> Any:
    return z[1] - 0.45


def threshold(t: Any, z: Any, a: Any, b: Any) -> Any:
    return z[0] - 1.2


threshold.terminal = True  # type: ignore[attr-defined]
TIMES = np.linspace(0, 2, 5)
FINE = {"rtol": 1e-10, "atol": 1e-12}


def solved(q: Any, method: str = "DOP853", **options: Any) -> Any:
    return integrate.solve_ivp(prey, (0, 2), q[:2], method, args=(q[2], q[3]), **FINE, **options)


SOLUTIONS: dict[str, Callable[[Any], Any]] = {
    "RK45": lambda q: np.sum(solved(q, "RK45").y[:, -1] * q[:2]),
    "DOP853": lambda q: np.sum(solved(q).y[:, -1] * q[:2]),
    "RK23": lambda q: np.sum(
        integrate.solve_ivp(prey, (0, 0.5), [q[0], q[1]], "RK23", args=(q[2], q[3]), rtol=1e-7, atol=1e-9).y[:, -1]
    ),
    "writes": lambda q: np.sum(integrate.solve_ivp(pendulum, (0, 2), q[:2], args=(q[2],), **FINE).y[:, -1]) * q[3],
    "t_eval": lambda q: np.sum(solved(q, t_eval=TIMES).y),
    "tracked t_eval": lambda q: np.sum(solved(q, t_eval=np.sort(q)).y),
    "end": lambda q: np.sum(integrate.solve_ivp(prey, (0.0, q[0]), [1.0, q[1]], args=(1.1, q[2]), **FINE).y[:, -1]),
    "dense": lambda q: np.sum(solved(q, dense_output=True).sol(np.array([0.3, 0.1, 1.9]))),
    "backwards": lambda q: np.sum(
        integrate.solve_ivp(prey, (2, 0), q[:2], "DOP853", dense_output=True, args=(q[2], q[3]), **FINE).sol(q[0])
    ),
    "vectorized": lambda q: np.sum(
        integrate.solve_ivp(lambda t, y: -y * q[2], (0, 1), q[:2], vectorized=True, **FINE).y[:, -1]
    ),
    "complex": lambda q: np.abs(
        np.sum(integrate.solve_ivp(lambda t, y: 1j * y * q[2], (0, 1), q[:2] + 0.5j, **FINE).y[:, -1])
    ),
    "events": lambda q: solved(q, events=[balance, threshold]).t_events[1][0],
    "state at events": lambda q: np.sum(solved(q, events=equal).y_events[0]),
    "terminal": lambda q: np.sum(solved(q, events=[balance, threshold]).y[:, -1]),
    "terminal time": lambda q: solved(q, events=threshold).t[-1],
    "odeint": lambda q: np.sum(
        integrate.odeint(lambda z, t, a, b: prey(t, z, a, b), q[:2], TIMES, (q[2], q[3]), rtol=1e-11, atol=1e-11)
    ),
    "odeint, tracked times": lambda q: np.sum(
        integrate.odeint(prey, q[:2], TIMES * q[0], (q[2], q[3]), tfirst=True, rtol=1e-11, atol=1e-11)
    ),
    "LSODA": lambda q: np.sum(solved(q, "LSODA").y[:, -1]),
    "Radau": lambda q: np.sum(
        integrate.solve_ivp(prey, (0, 1), q[:2], "Radau", TIMES[:3], args=(q[2], q[3]), rtol=1e-8, atol=1e-10).y
    ),
}


@pytest.mark.ci
@pytest.mark.parametrize("program", SOLUTIONS.values(), ids=SOLUTIONS)
def test_initial_value_problems(program: Callable[[Any], Any]) -> None:
    agrees(program, Q, 1e-4, bits=False, step=1e-4)


def test_second_derivatives_of_a_solution() -> None:
    def program(q: Any) -> Any:
        found = integrate.solve_ivp(prey, (0, 1), q[:2], "DOP853", args=(q[2], q[3]), rtol=1e-8, atol=1e-10)
        return np.sum(found.y[:, -1] * q[:2])

    agrees(program, Q, 1e-4, second=True, bits=False, step=1e-4)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
@pytest.mark.parametrize("options", [{}, {"t_eval": TIMES}, {"dense_output": True}, {"events": [balance]}])
def test_solutions_have_the_bits_of_scipy(method: str, options: dict[str, Any]) -> None:
    def program(q: Any) -> Any:
        found = integrate.solve_ivp(prey, (0, 2), q[:2], method, args=(q[2], q[3]), **options)
        at = [] if found.sol is None else [np.ravel(found.sol(TIMES))]
        return np.concatenate([np.ravel(found.y), found.t, *at])

    np.testing.assert_array_equal(bridge.vjp(program, Q)[0], program(Q))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "weight": (
        lambda q: integrate.quad(lambda x: x * q[0], 0, 1, weight="cos", wvar=2.0)[0],
        r"quad\(weight='cos'\)(.|\n)*write the weight",
    ),
    "jump": (
        lambda q: integrate.quad(lambda x: q[1] * x if x < q[3] else 0.0, 0, 1)[0],
        r"jumps near 0\.7(.|\n)*split the integral",
    ),
    "too singular": (
        lambda q: integrate.quad(lambda x: q[0] * x**-0.97, 0, 1)[0],
        r"too singular(.|\n)*substitute",
    ),
    "events of implicit methods": (
        lambda q: solved(q, "BDF", events=balance).y[0, -1],
        r"method='BDF'\) of tracked values with dense_output or events(.|\n)*RK45",
    ),
    "stiff": (
        lambda q: integrate.solve_ivp(lambda t, y: -1e7 * q[0] * (y - np.cos(t)), (0, 3), q[:1], "Radau").y[0, -1],
        r"it is stiff(.|\n)*scipy\.optimize\.root",
    ),
    "solve_bvp": (
        lambda q: integrate.solve_bvp(lambda x, y: y, lambda a, b: a, TIMES, np.ones((2, 5)) * q[0]).y[0, 0],
        r"solve_bvp of tracked values",
    ),
}


@pytest.mark.parametrize(("program", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_refused(program: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RefusedError, match=message) as raised:
        bridge.grad(program)(Q)
    assert "test_scipy_integrate.py" in str(raised.value)


def test_memory_of_a_search() -> None:
    """Scratch that the integrand writes holds what its last evaluation wrote, and carries its derivative."""
    scratch = np.zeros(1)

    def program(q: Any) -> Any:
        def integrand(x: Any) -> Any:
            scratch[0] = x * q[0]
            return scratch[0] * q[1]

        return integrate.quad(integrand, 0, q[2])[0]

    agrees(program, Q, bits=False)


def peak(t: Any) -> Any:
    """Narrow, where a coarse mesh does not look."""
    return np.exp(-(((t - 0.317) / 2e-3) ** 2))


FOLLOWED: dict[str, Callable[[Any], Any]] = {
    "a parameter": lambda p: integrate.quad(lambda t: p[0] * peak(t) + t, 0, 1)[0],
    "the value that was made last": lambda p: (lambda q: integrate.quad(lambda t: q * peak(t) + t, 0, 1)[0])(
        p[0] * 1.0
    ),
    "vectors": lambda p: np.mean(integrate.quad_vec(lambda t: p[0] * peak(t) * np.ones(2) + t, 0, 1)[0]),
    "real parts": lambda p: np.real(integrate.quad_vec(lambda t: p[0] * peak(t) + 1j * t, 0, 1)[0]),
    "imaginary parts": lambda p: np.imag(integrate.quad_vec(lambda t: 1j * p[0] * peak(t) + t, 0, 1)[0]),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_a_mesh_follows_the_derivatives(name: str) -> None:
    """The integrand is smooth, and its derivative is not: a mesh for the values alone would miss it."""
    p = np.zeros(1)
    expected = 2e-3 * np.sqrt(np.pi)
    np.testing.assert_allclose(bridge.grad(FOLLOWED[name])(p), [expected], rtol=1e-7)
    np.testing.assert_allclose(bridge.jvp(FOLLOWED[name], (p,), (np.ones(1),))[1], expected, rtol=1e-7)
