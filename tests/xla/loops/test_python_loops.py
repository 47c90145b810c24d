"""Programs with Python's loops and branches, compiled: values and derivatives are NumPy's and the rule book's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.xla.loops.programs import PROGRAMS, unseen

pytest.importorskip("jax", reason="JAX is not installed: loops were not compiled (pip install jax)")

from bridge.xla.tracing.context import TraceContext

X = np.linspace(-1.0, 1.5, 6)
V = np.cos(X)
INPUTS = (X, -X)
NAMES = [name for name, _ in PROGRAMS]
# Their second derivatives take more than 100,000 operations to trace, which is a TraceError that takes minutes to come.
TOO_DEEP = {
    "found: an index that counts down from another",
    "found: a name bound in some turns",
    "found: returns in branches in each other",
}
TO_SECOND_ORDER = [(name, f) for name, f in PROGRAMS if name not in TOO_DEEP]


def check(found: Any, wanted: Any) -> None:
    scale = np.max(np.abs(wanted), initial=1.0)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.ci
def test_names_are_distinct() -> None:
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "f"), PROGRAMS)
def test_value_and_gradient(name: str, f: Callable[[Any], Any]) -> None:
    compiled, gradient = bridge.xla(f), bridge.grad(f, engine="xla")
    for x in INPUTS:
        check(compiled(x.copy()), f(x.copy()))
        check(gradient(x.copy()), bridge.grad(f)(x.copy()))


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "f"), TO_SECOND_ORDER)
def test_forward_mode_and_second_order(name: str, f: Callable[[Any], Any]) -> None:
    check(bridge.jvp(f, (X.copy(),), (V,), engine="xla")[1], bridge.jvp(f, (X.copy(),), (V,))[1])
    check(bridge.hvp(f, (X.copy(),), (V,), engine="xla"), bridge.hvp(f, (X.copy(),), (V,)))


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "f"), [(name, f) for name, f in PROGRAMS if name in TOO_DEEP])
def test_second_derivatives_that_are_too_deep_to_trace(name: str, f: Callable[[Any], Any]) -> None:
    with pytest.raises(bridge.errors.TraceError, match="more than 100000 operations"):
        bridge.hvp(f, (X.copy(),), (V,), engine="xla")


@pytest.mark.ci
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("name", "f"), unseen.program.programs)
def test_state_that_changes_unseen(name: str, f: Callable[[Any], Any]) -> None:
    check(bridge.xla(f)(X.copy()), f(X.copy()))
    check(bridge.grad(f, engine="xla")(X.copy()), bridge.grad(f)(X.copy()))


@pytest.mark.ci
@pytest.mark.parametrize("f", unseen.REFUSED, ids=lambda f: f.__name__)
def test_what_cannot_be_run_again_is_refused_by_name(f: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.TraceError, match=rf"{unseen.REFUSED[f]}(.|\n)*unseen\.py:\d+"):
        bridge.xla(f)(X.copy())


def recurrence(x: Any, n: int) -> Any:
    s = x[0]
    for i in range(n):
        s = s * 0.5 + x[i % 6]
    return s


def swapped(x: Any, n: int) -> Any:
    u, v = x.copy(), np.zeros(6)
    for _ in range(n):
        v[1:-1] = u[2:] + u[:-2]
        u, v = v, u
    return np.sum(u * u)


def halved(x: Any, n: int) -> Any:
    s, k = x[5], 0
    while k < n:
        s, k = s * 0.5 + 1.0, k + 1
    return s


def until(x: Any, n: int) -> Any:
    s = x[5]
    while s < 10.0 * n:
        s = s * 1.5
    return s


def broken_off(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        if x[i % 6] > 1.4:
            break
        s += x[i % 6]
    return s


def in_an_object(x: Any, n: int) -> Any:
    held = {"s": 0.0, "n": 0}
    for i in range(n):
        held["s"] += x[i % 6]
        held["n"] += 1
    return held["s"] * held["n"]


@pytest.mark.ci
@pytest.mark.parametrize("f", [recurrence, swapped, halved, until, broken_off, in_an_object])
def test_one_loop_whatever_the_number_of_turns(f: Callable[[Any, int], Any]) -> None:
    counts = {bridge.xla(lambda x, n=n: f(x, n)).lower(X).as_text().count("stablehlo.while") for n in (12, 120)}
    assert counts == {1}


def squares_of_a_counter(x: Any, n: int) -> Any:
    s, k = 0.0, 0
    while k * k < n * n:
        s, k = s + 1e-3 * x[1], k + 1
    return s + k * x[2]


def known_items(x: Any, n: int) -> Any:
    s, k, waits = 0.0, 0, np.array([1.0] * n + [0.1])
    while waits[k] > 0.5:
        s, k = s + 1e-3 * x[1], k + 1
    return s + k * x[2]


@pytest.mark.ci
@pytest.mark.parametrize("f", [halved, squares_of_a_counter])
def test_the_iterations_of_a_while_loop_are_counted_without_operations(f: Callable[[Any, int], Any]) -> None:
    check(bridge.xla(lambda x: f(x, 20_001))(X), f(X, 20_001))
    check(bridge.grad(lambda x: f(x, 20_001), engine="xla")(X), bridge.grad(lambda x: f(x, 20_001))(X))


@pytest.mark.ci
def test_a_condition_that_reads_an_array_is_asked_while_the_program_runs() -> None:
    check(bridge.grad(lambda x: known_items(x, 3000), engine="xla")(X), bridge.grad(lambda x: known_items(x, 3000))(X))


def triangle(x: Any, n: int) -> Any:
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += x[i % 6] * x[j % 6]
    return s


@pytest.mark.ci
def test_nested_loops_stay_nested() -> None:
    counts = {bridge.xla(lambda x, n=n: triangle(x, n)).lower(X).as_text().count("stablehlo.while") for n in (12, 120)}
    assert counts == {2}


@pytest.mark.ci
def test_loops_inside_of_each_other_are_not_traced_more_and_more_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def two(x: Any) -> Any:
        total = np.zeros(6)
        for a in range(6):
            for b in range(6):
                total[b] += x[a] * x[b]
        return np.sum(total)

    def four(x: Any) -> Any:
        total = np.zeros(6)
        for a in range(6):
            for _ in range(6):
                for _ in range(6):
                    for b in range(6):
                        total[b] += x[a] * x[b]
        return np.sum(total)

    traced: list[int] = []
    result = TraceContext.result

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        traced[-1] += 1
        return result(self, *args, **kwargs)

    monkeypatch.setattr(TraceContext, "result", counted)
    for f in (two, four):
        traced.append(0)
        check(bridge.grad(f, engine="xla")(X.copy()), bridge.grad(f)(X.copy()))
    # With each loop around it a body is met a few times more, not twice as often.
    assert traced[1] < 4 * traced[0], traced


@pytest.mark.ci
def test_what_a_program_reads_may_change_between_calls() -> None:
    weights = np.arange(6.0)
    factors = [2.0]

    def f(x: Any) -> Any:
        s = 0.0
        for i in range(6):
            s += x[i] * weights[i] * factors[0]
        return s

    compiled = bridge.xla(f)
    check(compiled(X), f(X))
    weights[2] = 50.0
    check(compiled(X), f(X))


@pytest.mark.ci
def test_an_array_of_two_names_that_a_turn_writes_and_then_rebinds_one_of() -> None:
    def f(x: Any) -> Any:
        u = v = x.copy()
        for i in range(7):
            u[i % 6] += v[0] * 0.1
            u = u * 1.0
        return np.sum(u) + 2 * np.sum(v)

    check(bridge.xla(f)(X), f(X))


@pytest.mark.ci
def test_an_array_that_a_while_loop_writes_and_then_rebinds_may_have_another_name() -> None:
    def f(x: Any, named: bool) -> Any:
        u = x.copy()
        first = u if named else x
        while np.sum(u**2) > 0.5:
            u[1:-1] += 0.1 * (u[2:] - u[:-2])
            u = u * 0.9
        return np.sum(u) + np.sum(first)

    for named in (False, True):
        np.testing.assert_allclose(bridge.xla(f)(X, named), f(X.copy(), named), rtol=1e-12)


def force_of_two_arguments(x: Any, turns: int) -> Any:
    for _ in range(turns):
        held, scale = np.array([0.0, 2.0, 1.0]), x[:2] + 1.0
        pushed = bridge.grad(lambda at, by: np.sum(at**2) * np.sum(by))
        x = x - 0.001 * np.sum(pushed(held, scale)) * x - 0.001 * np.sum(pushed(held * x[0], scale))
    return np.sum(x)


@pytest.mark.ci
def test_a_derivative_in_a_loop_is_the_same_wherever_its_arguments_lie() -> None:
    for _ in range(5):
        gradient = bridge.grad(force_of_two_arguments)
        check(bridge.xla(bridge.grad(force_of_two_arguments))(X, 12), gradient(X, 12))
