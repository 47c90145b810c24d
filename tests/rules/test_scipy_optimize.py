"""`scipy.optimize`: what solvers find, differentiated by the equation that it solves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import optimize

import bridge
from bridge.errors import ContextError, EscapeError, RefusedError, TraceError
from tests.helpers.by_differences import agrees, differences

P = np.array([2.0, 3.0])
TIMES = np.linspace(0, 2, 8)
SAMPLES = np.exp(-1.2 * TIMES) * 2 + 0.1 * np.sin(9 * TIMES)
EXACT = {"xtol": 1e-14, "ftol": 1e-14, "gtol": 1e-14}


def cubic(x: Any, p: Any, q: Any) -> Any:
    return x**3 - p * x - q


def system(x: Any, p: Any, q: Any) -> Any:
    return [x[0] * p + x[1] ** 2 - q, x[0] - x[1] * p]


def valley(x: Any, p: Any, q: Any) -> Any:
    return (x[0] - p) ** 2 * (1 + x[1] ** 2) + np.exp(x[1] * q / 3) - x[1] + 0.1 * x[0] ** 2


def decay(t: Any, a: Any, b: Any) -> Any:
    return a * np.exp(-b * t)


ROOTS: dict[str, Callable[[Any], Any]] = {
    "brentq": lambda p: optimize.brentq(cubic, 0, 10, (p[0], p[1])) * p[0],
    "brentq, captured": lambda p: optimize.brentq(lambda x: math.exp(x) * p[0] - p[1], -5, 5) * p[0],
    "brenth": lambda p: optimize.brenth(cubic, 0, 10, args=(p[0], p[1])) ** 2,
    "bisect": lambda p: optimize.bisect(cubic, 0, 10 * p[0], args=(p[0], p[1])),
    "ridder": lambda p: optimize.ridder(cubic, 0, 10, args=(p[0], p[1]), full_output=True)[1].root,
    "toms748": lambda p: optimize.toms748(cubic, 0, 10, args=(p[0], p[1])),
    "newton": lambda p: optimize.newton(cubic, 3.0, args=(p[0], p[1]), tol=1e-13),
    "newton, slope": lambda p: optimize.newton(
        cubic, 3 * p[0], lambda x, p, q: 3 * x**2 - p, (p[0], p[1]), full_output=True
    )[0],
    "newton, array": lambda p: np.sum(optimize.newton(lambda x: x**2 - p, np.ones(2) * 3, tol=1e-13) * p),
    "root_scalar": lambda p: optimize.root_scalar(cubic, args=(p[0], p[1]), bracket=(0, 10)).root,
    "root_scalar, fprime": lambda p: (
        optimize.root_scalar(lambda x: (cubic(x, *p), 3 * x**2 - p[0]), x0=3.0, fprime=True, method="newton").root
    ),
    "root": lambda p: np.sum(optimize.root(system, [1.0, 1.0], (p[0], p[1]), tol=1e-13).x * p),
    "root, lm": lambda p: np.sum(optimize.root(system, [1.0, 1.0], (p[0], p[1]), method="lm", tol=1e-13).x),
    "root, krylov": lambda p: np.sum(optimize.root(system, [1.0, 1.0], (p[0], p[1]), method="krylov", tol=1e-12).x),
    "fsolve": lambda p: np.sum(optimize.fsolve(system, [1.0, p[0]], (p[0], p[1]), xtol=1e-13) * p),
    "fsolve, full": lambda p: np.sum(optimize.fsolve(system, [1.0, 1.0], (p[0], p[1]), full_output=True)[0]),
    "fixed_point": lambda p: np.sum(optimize.fixed_point(lambda x: np.cos(x * p) / p, np.ones(2) * 0.5, xtol=1e-13)),
}


@pytest.mark.parametrize("program", ROOTS.values(), ids=ROOTS)
def test_roots(program: Callable[[Any], Any]) -> None:
    agrees(program, P, second=True)


def minimised(p: Any, method: str, **options: Any) -> Any:
    return np.sum(optimize.minimize(valley, [1.0, 0.1], (p[0], p[1]), method=method, **options).x * p)


MINIMA: dict[str, Callable[[Any], Any]] = {
    "BFGS": lambda p: minimised(p, "BFGS", tol=1e-10),
    "CG": lambda p: minimised(p, "CG", tol=1e-10),
    "L-BFGS-B": lambda p: minimised(p, "L-BFGS-B", tol=1e-14),
    "Nelder-Mead": lambda p: minimised(p, "Nelder-Mead", tol=1e-11),
    "fun": lambda p: optimize.minimize(valley, [1.0, 0.1], (p[0], p[1]), tol=1e-10).fun,
    "bounds": lambda p: np.sum(
        optimize.minimize(valley, [1.0, 0.5], (p[0], p[1]), bounds=[(0, 1.5), (p[0] * 0.2, None)], tol=1e-12).x * p
    ),
    "bounds that are not reached": lambda p: np.sum(
        optimize.minimize(valley, [1.0, 0.1], (p[0], p[1]), bounds=optimize.Bounds([-9, -9], [9, 9]), tol=1e-14).x * p
    ),
    "minimize_scalar": lambda p: optimize.minimize_scalar(lambda x: (x - p[0]) ** 2 + math.exp(x * p[1]), tol=1e-11).x,
    "minimize_scalar, fun": lambda p: (
        optimize.minimize_scalar(
            lambda x: (x - p[0]) ** 2 + math.exp(x * p[1]), bounds=(-3, 3), options={"xatol": 1e-9}
        ).fun
    ),
    "fminbound": lambda p: optimize.fminbound(lambda x: (x - p[0]) ** 2 + np.exp(x * p[1]), -3, 3, xtol=1e-10),
    "fmin": lambda p: np.sum(optimize.fmin(valley, [1.0, 0.5], (p[0], p[1]), xtol=1e-10, ftol=1e-13, disp=False)),
}


@pytest.mark.parametrize("program", MINIMA.values(), ids=MINIMA)
@pytest.mark.filterwarnings("ignore")
def test_minima(program: Callable[[Any], Any]) -> None:
    # Differences see how far each search has come.
    agrees(program, P, 2e-4, step=2e-3)


def test_second_derivatives_of_minima() -> None:
    agrees(
        lambda p: optimize.minimize_scalar(lambda x: (x - p[0]) ** 2 + np.exp(x * p[1]), tol=1e-11).x,
        P,
        1e-4,
        True,
        step=1e-3,
    )


FITS: dict[str, Callable[[Any], Any]] = {
    **{
        f"least_squares, {loss}": lambda y, loss=loss: np.sum(
            optimize.least_squares(lambda x: decay(TIMES, *x) - y, [1.0, 1.0], loss=loss, f_scale=0.08, **EXACT).x
        )
        for loss in ("linear", "soft_l1", "cauchy")
    },
    "least_squares, cost": lambda y: (
        optimize.least_squares(lambda x, y: decay(TIMES, *x) - y, [1.0, 1.0], args=(y,), **EXACT).cost
    ),
    "least_squares, fun": lambda y: (
        optimize.least_squares(lambda x: decay(TIMES, *x) - y, [1.0, 1.0], method="lm", **EXACT).fun @ TIMES
    ),
    "least_squares, bounds": lambda y: np.sum(
        optimize.least_squares(lambda x: decay(TIMES, *x) - y, [1.0, 1.0], bounds=([0, 0], [y[0] * 0.9, 3]), **EXACT).x
    ),
    "curve_fit": lambda y: optimize.curve_fit(decay, TIMES, y, [1.0, 1.0], **EXACT)[0] @ np.array([1.0, 2.0]),
    "curve_fit, covariance": lambda y: np.sum(optimize.curve_fit(decay, TIMES, y, **EXACT)[1]),
    "curve_fit, sigma": lambda y: np.sum(
        optimize.curve_fit(decay, TIMES * (1 + y[0]), y, sigma=y * y + 1, absolute_sigma=True, **EXACT)[0]
    ),
}


@pytest.mark.parametrize("program", FITS.values(), ids=FITS)
def test_fits(program: Callable[[Any], Any]) -> None:
    agrees(program, SAMPLES, 2e-4, bits=False, step=5e-4)


def test_the_gradient_of_a_fit_by_other_losses_is_that_of_its_minimum() -> None:
    for loss, rho in (
        ("huber", lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1, z)) - 1)),
        ("arctan", lambda z: np.arctan(z)),
    ):

        def fit(y: Any, loss: str = loss) -> Any:
            def residuals(x: Any, y: Any) -> Any:
                return decay(TIMES, x[0], x[1]) - y

            return optimize.least_squares(residuals, [1.0, 1.0], loss=loss, f_scale=0.08, args=(y,), **EXACT).x

        def slope(x: np.ndarray, y: np.ndarray, rho: Any = rho) -> np.ndarray:
            return bridge.grad(lambda x: np.sum(rho(((decay(TIMES, x[0], x[1]) - y) / 0.08) ** 2)))(x)

        best = fit(SAMPLES)
        in_x = np.stack([(slope(best + e, SAMPLES) - slope(best - e, SAMPLES)) / 2e-6 for e in 1e-6 * np.eye(2)])
        in_y = [(slope(best, SAMPLES + e) - slope(best, SAMPLES - e)) / 2e-6 for e in 1e-6 * np.eye(8)]
        np.testing.assert_allclose(
            bridge.jacrev(fit)(SAMPLES), -np.linalg.solve(in_x, np.transpose(in_y)), rtol=1e-5, atol=1e-7
        )


class Model:
    """Objects whose residual is written into their own memory."""

    def __init__(self) -> None:
        self.residual = np.zeros(2)
        self.calls = 0

    def equations(self, x: Any) -> Any:
        self.calls += 1
        self.residual[0] = x[0] * self.p + x[1] ** 2 - 1
        self.residual[1] = x[0] - x[1] * self.p
        return self.residual


def test_scratch_of_an_object() -> None:
    model = Model()

    def program(p: Any) -> Any:
        model.p = p[0]
        return np.sum(optimize.fsolve(model.equations, [1.0, 1.0], xtol=1e-13)) * p[1]

    # Without reading, MINPACK works in the very array that the function returns again and again.
    agrees(program, np.array([0.7, 1.4]), bits=False)
    assert type(model.residual) is np.ndarray and model.calls > 0


def test_implicit_steps_of_an_object() -> None:
    """Memory that was lent before, by the first step, is written again by the searches of the others."""
    model = Model()

    def program(p: Any) -> Any:
        model.p = p[0]
        total = 0.0
        for _ in range(3):
            model.p = model.p + optimize.fsolve(model.equations, [1.0, 1.0], xtol=1e-13)[0] * p[1]
            total = total + model.p**2
        return total

    x = np.array([0.7, 0.4])
    np.testing.assert_allclose(bridge.grad(program)(x), differences(program, x), rtol=1e-6)
    with pytest.raises(EscapeError, match="a Buffer of an outer context"):
        bridge.jvp(program, (x,), (x,))


def test_in_a_loop_that_writes() -> None:
    def program(p: Any) -> Any:
        out = np.zeros(4)
        out[0] = p[0]
        for i in range(3):
            out[i + 1] = optimize.brentq(lambda x: x**3 + x - out[i] - i * p[1], 0, 5)  # noqa: B023
        return np.sum(out**2)

    agrees(program, P, second=True)


def test_a_search_leaves_nothing_in_the_log() -> None:
    lengths = []

    def program(p: Any, xtol: float) -> Any:
        x = optimize.bisect(lambda x: x**3 - p[0] * x - p[1], 0, 10, xtol=xtol)
        lengths.append(len(bridge.current_context().log))  # type: ignore[union-attr]
        return x

    bridge.grad(lambda p: program(p, 1e-2))(P)
    bridge.grad(lambda p: program(p, 1e-12))(P)
    assert lengths[0] == lengths[1] < 20


def test_plain_programs_are_untouched() -> None:
    def program(p: Any) -> Any:
        found = optimize.root(system, [1.0, 1.0], (2.0, 3.0))
        assert type(found) is optimize.OptimizeResult and type(found.x) is np.ndarray
        return p[0] * found.x[0]

    bridge.grad(program)(P)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "hess_inv": (
        lambda p: np.sum(optimize.minimize(valley, [1.0, 0.1], (p[0], p[1])).hess_inv),
        r"'hess_inv' of this result(.|\n)*bridge\.hessian",
    ),
    "constraints": (
        lambda p: np.sum(
            optimize.minimize(valley, [1.0, 0.1], (p[0], p[1]), constraints={"type": "ineq", "fun": lambda x: x[0]}).x
        ),
        r"minimize with constraints(.|\n)*change of variables",
    ),
    "no minimum": (
        lambda p: np.sum(optimize.minimize(lambda x: p[0] * (x[0] - x[1]) ** 2, [1.0, 0.1]).x),
        r"not determined by its equation(.|\n)*not positive definite|is singular",
    ),
    "a search that was cut short": (
        lambda p: np.sum(optimize.minimize(valley, [1.0, 0.1], (p[0], p[1]), options={"maxiter": 1}).x),
        r"where its equation does not hold(.|\n)*let it converge",
    ),
    "a jump": (
        lambda p: optimize.brentq(lambda x: np.sign(x - p[0]) + 0 * p[0], 0, 9),
        r"brentq is not determined by its equation",
    ),
    "a level bound": (
        lambda p: np.sum(optimize.minimize(lambda x: p[0] * x[0] ** 2, [1.0], bounds=[(0, 2)]).x),
        r"at its bound, where the objective is level",
    ),
    "linprog": (lambda p: optimize.linprog(p, bounds=(0, 1)).x[0], r"scipy\.optimize\.linprog of tracked values"),
    "basinhopping": (
        lambda p: optimize.differential_evolution(lambda x: (x[0] - p[0]) ** 2, [(0, 9)]).x[0],
        r"differential_evolution of tracked values(.|\n)*scipy\.optimize\.minimize",
    ),
    "complex": (
        lambda p: np.abs(optimize.newton(lambda x: x * x + p[0], 1 + 1j)),
        r"complex root(.|\n)*real and imaginary part",
    ),
}


@pytest.mark.parametrize(("program", "message"), REFUSED.values(), ids=REFUSED)
@pytest.mark.filterwarnings("ignore")
def test_refused(program: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(RefusedError, match=message) as raised:
        bridge.grad(program)(P)
    assert "test_scipy_optimize.py" in str(raised.value)


def test_a_history_of_the_search_is_refused() -> None:
    history = np.zeros(99)

    def program(p: Any) -> Any:
        count = 0

        def residual(x: Any) -> Any:
            nonlocal count
            value = x**3 - p[0]
            history[count] = value
            count += 1
            return value

        return optimize.brentq(residual, 0, 5) + np.sum(history)

    with pytest.raises(RefusedError, match=r"brentq calls writes a value(.|\n)*history of a search"):
        bridge.grad(program)(P)
    assert not np.any(history)


def put(target: Any, value: Any) -> None:
    target[...] = value


HISTORIES: dict[str, Callable[[Any, int, Any], Any]] = {
    "out=": lambda history, k, value: np.add(history[k : k + 1], value, out=history[k : k + 1]),
    "out= under a mask": lambda history, k, value: np.add(history, value, out=history, where=np.arange(2999) == k + 99),
    "augmented": lambda history, k, value: history[k : k + 2].__iadd__(value),
    "add.at": lambda history, k, value: np.add.at(history, [k, k], value),
    "copyto": lambda history, k, value: np.copyto(history[k : k + 1], value),
    "a mutating rule": lambda history, k, value: put(history[k : k + 1], value),
    "a view of a view": lambda history, k, value: history[1:][::-1][k:].__setitem__(0, value),
    "mask": lambda history, k, value: history.__setitem__(np.arange(2999) == k + 99, value),
}


@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_is_refused_however_it_is_written(name: str) -> None:
    """Where a search writes, its evaluation at the result does not: that is another place each time."""
    bridge.mutating_rule(mutates="target")(put).pull(lambda ct, target, value: (np.zeros_like(ct), np.sum(ct)))

    def program(p: Any) -> Any:
        count: list[None] = []
        history = np.zeros_like(p, shape=2999)

        def residual(x: Any) -> Any:
            value = x**3 - p[0]
            HISTORIES[name](history, len(count), value)
            count.append(None)
            return value

        return optimize.brentq(residual, 0, 5) + np.sum(history)

    with pytest.raises(RefusedError, match=r"brentq calls writes a value(.|\n)*history of a search"):
        bridge.grad(program)(P)


def test_scratch_that_each_evaluation_writes_is_no_history() -> None:
    bridge.mutating_rule(mutates="target")(put).pull(lambda ct, target, value: (np.zeros_like(ct), np.sum(ct)))
    for write in HISTORIES.values():

        def program(p: Any, write: Any = write) -> Any:
            scratch = np.zeros_like(p, shape=2999)

            def residual(x: Any) -> Any:
                scratch[:] = 0.0
                write(scratch, 3, x**3 - p[0])
                return np.sum(scratch)

            return optimize.brentq(residual, 0, 5) + np.sum(scratch) * p[1]

        np.testing.assert_allclose(bridge.grad(program)(P), differences(program, P), rtol=1e-5, atol=1e-8)


class Seen:
    """Keeps what its last call has computed."""

    def __init__(self) -> None:
        self.memory, self.last = np.zeros(2), 0.0

    def cubed(self, x: Any, p: Any) -> Any:
        self.memory[1] = self.last = x * p[1]
        return x**3 - p[0]


def through_a_dictionary(p: Any) -> Any:
    seen: dict[str, Any] = {}

    def residual(x: Any) -> Any:
        seen["last"] = x**2 * p[1]
        return x**3 - p[0]

    return optimize.brentq(residual, 0, 5, xtol=1e-14) + seen["last"]


def through_a_variable(p: Any) -> Any:
    last = 0.0

    def step(x: Any) -> Any:
        nonlocal last
        last = x * p[1]
        return np.cos(x) * p[0] * 0.3

    return optimize.fixed_point(step, 0.5, xtol=1e-13) + last


def through_memory(p: Any) -> Any:
    kept = np.zeros(2)

    def residual(x: Any) -> Any:
        kept[0] = x[0] * p[1]
        return [x[0] ** 3 - p[0], x[1] - p[1] * x[0]]

    return np.sum(optimize.root(residual, [1.0, 1.0], tol=1e-14).x) * kept[0]


def through_out(p: Any) -> Any:
    kept = np.zeros(2)

    def residual(x: Any) -> Any:
        np.multiply(x, p, out=kept)
        return x**3 - p

    return np.sum(optimize.newton(residual, [1.5, 1.5], tol=1e-14) * kept)


def through_an_object(p: Any) -> Any:
    seen = Seen()
    found = optimize.root_scalar(seen.cubed, args=(p,), bracket=(0, 5), xtol=1e-14).root
    return found * seen.last + seen.memory[1]


def through_the_objective_of_a_minimum(p: Any) -> Any:
    seen = [0.0]

    def objective(x: Any) -> Any:
        seen[0] = x[0] * p[1]
        return (x[0] - p[0]) ** 2 * p[1] + x[0] ** 4

    return optimize.minimize(objective, [1.0], tol=1e-10).x[0] + seen[0]


def through_the_objective_of(minimise: Callable[..., Any], *start: Any) -> Callable[[Any], Any]:
    def program(p: Any) -> Any:
        seen = [0.0]

        def objective(x: Any) -> Any:
            at = x if np.shape(x) == () else x[0]
            seen[0] = at * p[1]
            return (at - p[0]) ** 2 * p[1] + at**4

        found = minimise(objective, *start)
        return np.sum(getattr(found, "x", found)) + seen[0]

    return program


LEFT = [
    (through_a_dictionary, 1e-7),
    (through_a_variable, 1e-7),
    (through_memory, 1e-7),
    (through_out, 1e-7),
    (through_an_object, 1e-7),
    (through_the_objective_of_a_minimum, 5e-2),
    (through_the_objective_of(lambda f: optimize.fmin(f, [1.0], xtol=1e-9, ftol=1e-15, disp=0)), 5e-2),
    (through_the_objective_of(optimize.fminbound, 0.0, 5.0), 5e-2),
    (through_the_objective_of(optimize.minimize_scalar), 5e-2),
    (through_the_objective_of(lambda f: optimize.minimize(f, [1.0], bounds=[(0, 5)])), 5e-2),
]


@pytest.mark.parametrize(("program", "tolerance"), LEFT, ids=lambda x: getattr(x, "__name__", ""))
def test_what_the_function_leaves_behind_moves_with_the_result(program: Any, tolerance: float) -> None:
    """It depends on the result, which depends on the parameters: not only on these directly."""
    np.testing.assert_allclose(bridge.grad(program)(P), differences(program, P), rtol=tolerance)


# Code that is not read keeps what it gets.
keep = eval("lambda kept, value: kept.append(value)")


def test_what_a_search_computed_may_not_be_kept() -> None:
    kept: list[Any] = []

    def program(p: Any) -> Any:
        def residual(x: Any) -> Any:
            if not kept:
                keep(kept, p[0] * 2)
            return x**3 - kept[0]

        return optimize.brentq(residual, 0, 5)

    with pytest.raises(ContextError, match=r"while a solver searched(.|\n)*before the solver is called"):
        bridge.grad(program)(P)


def test_a_compiled_program_does_not_search_on_values_that_it_does_not_know() -> None:
    pytest.importorskip("jax")
    with pytest.raises(TraceError, match=r"scipy\.optimize\.brentq needs the value"):
        bridge.grad(lambda p: optimize.brentq(cubic, 0, 10, (p[0], p[1])), engine="xla")(P)


def test_a_refusal_shows_the_result_and_the_derivative() -> None:
    with pytest.raises(RefusedError, match=r"the result 0\. of .*brentq(.|\n)* in x is \[\[0\.\]\], which is singular"):
        bridge.grad(lambda p: optimize.brentq(lambda x: p[0] * x**3, -1, 1))(P)
    with pytest.raises(RefusedError, match=r"minimize has ended at \[0\.25 0\.1 \](.|\n)*from there: \[-1\.586968 "):
        bridge.grad(lambda p: np.sum(optimize.minimize(valley, [0.25, 0.1], (p[0], p[1]), options={"maxiter": 0}).x))(P)


def test_scratch_that_the_function_makes_for_itself() -> None:
    """Another array at each call, also where an earlier one lay: none is a history."""

    def program(p: Any) -> Any:
        def equations(x: Any) -> Any:
            out, rows = np.zeros(2), [np.empty(1) for _ in range(2)]
            out[0] = x[0] * p[0] + x[1] ** 2 - 1
            out[1] = x[0] - x[1] * p[1]
            for k, row in enumerate(rows):
                row[0] = out[k]
            return np.concatenate(rows) + 0 * out

        return np.sum(optimize.fsolve(equations, [1.0, 1.0], xtol=1e-13) * p)

    agrees(program, P, bits=False)


def test_nested_forward_derivatives_of_a_root() -> None:
    def program(p: Any) -> Any:
        return optimize.brentq(lambda x: x**3 - p[0] * x - p[1], 0, 10, xtol=1e-13)

    v = np.array([0.3, -1.0])
    slope = (bridge.jvp(program, (P + 1e-5 * v,), (v,))[1] - bridge.jvp(program, (P - 1e-5 * v,), (v,))[1]) / 2e-5
    second = bridge.jvp(lambda p: bridge.jvp(program, (p,), (v,))[1], (P,), (v,))[1]
    np.testing.assert_allclose(second, slope, rtol=1e-6)


def test_a_counter_in_tracked_memory_is_refused() -> None:
    """What a search writes there is put back: it would count what the derivative calls, not the search."""

    def program(p: Any) -> Any:
        counter = np.zeros_like(p)

        def residual(x: Any) -> Any:
            counter[0] += 1.0
            return x**3 - p[0]

        return optimize.brentq(residual, 0, 5) * counter[0] * p[1] / counter[0] + 0 * p[1], counter[0]

    assert program(P)[1] > 6
    with pytest.raises(RefusedError, match="to what it has left before, in counter"):
        bridge.vjp(program, P)


def test_roots_of_each_element_by_itself() -> None:
    """Each has a derivative of its own, also one that is exactly 1; one that is 0 determines nothing."""
    agrees(lambda p: np.sum(optimize.newton(lambda x: x - p * 2, np.ones(2), tol=1e-13) ** 2), P, bits=False)

    def program(p: Any) -> Any:
        first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
        return np.sum(optimize.newton(lambda x: x * x * p[0] * first + (x - 1) * p * second, [0.0, 1.0]))

    with np.errstate(all="ignore"), pytest.raises(RefusedError, match=r"is \[ ?0\. +3\. *\], which is singular"):
        bridge.grad(program)(P)
