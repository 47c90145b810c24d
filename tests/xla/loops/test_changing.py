"""What `fori_loop`, `while_loop` and `cond` call may change more than it returns: carried, or refused by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, TraceError
from tests.xla.loops.programs import called

pytest.importorskip("jax")

X = np.array([0.313, -0.727, 1.131, 0.517, 0.929, -0.251])
V = np.array([0.3, -0.5, 0.7, 1.1, -0.2, 0.4])
H = 1e-6


def differences(f: Callable[[Any], Any]) -> np.ndarray:
    return np.array([(f(X + H * e) - f(X - H * e)) / (2 * H) for e in np.eye(X.size)])


@pytest.mark.ci
@pytest.mark.parametrize(("name", "f"), called.program.programs)
def test_value_and_derivatives_are_those_of_python(name: str, f: Callable[[Any], Any]) -> None:
    value, slopes = f(X.copy()), differences(f)
    np.testing.assert_allclose(bridge.xla(f)(X.copy()), value, rtol=1e-9)
    if f is not called.a_counter_with_a_bound_that_is_not_known:
        found = bridge.grad(f, engine="xla")(X.copy())
        np.testing.assert_allclose(found, slopes, rtol=1e-4, atol=1e-6 * np.max(np.abs(slopes)))
    found = bridge.jvp(f, (X.copy(),), (V,), engine="xla")[1]
    np.testing.assert_allclose(found, slopes @ V, rtol=1e-4, atol=1e-6 * np.max(np.abs(slopes)))


def a_condition_that_writes(x: Any) -> Any:
    c = x[:2] * 0

    def going(v: Any) -> Any:
        c[0] += 1
        return np.sum(v) < 10

    return bridge.while_loop(going, lambda v: v * 1.5, x, limit=20) * c[0]


def a_condition_that_counts(x: Any) -> Any:
    n = 0

    def going(v: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(v) < 10

    return bridge.while_loop(going, lambda v: v * 1.5, x, limit=20) * n


def a_condition_that_fills_a_list(x: Any) -> Any:
    seen: list[int] = []

    def going(v: Any) -> Any:
        seen.append(1)
        return np.sum(v) < 10

    return bridge.while_loop(going, lambda v: v * 1.5, x, limit=20) * len(seen)


def a_list_that_grows_while(x: Any) -> Any:
    seen: list[int] = []

    def body(v: Any) -> Any:
        seen.append(1)
        return v * 1.5

    return bridge.while_loop(lambda v: np.sum(v) < 10, body, x, limit=20) * len(seen)


def a_list_that_one_branch_fills(x: Any) -> Any:
    seen: list[int] = []

    def first(v: Any) -> Any:
        seen.append(1)
        return v * 2

    return bridge.cond(x[0] < 0, first, lambda v: v * 3, x) * len(seen)


REFUSED: list[tuple[Any, str]] = [
    (a_condition_that_writes, "condition of a while_loop changes more than it returns(.|\n)*changes an array"),
    (a_condition_that_counts, "condition of a while_loop changes more(.|\n)*its condition changes n"),
    (a_condition_that_fills_a_list, "condition of a while_loop changes more(.|\n)*its condition changes list 'seen'"),
    (a_list_that_grows_while, "list of 0 before a turn and a list of 1 after it"),
    (a_list_that_one_branch_fills, "grows in a branch: its length is 1 on one side and 0 on the other"),
]


@pytest.mark.parametrize(("f", "message"), REFUSED, ids=[f.__name__ for f, _ in REFUSED])
def test_what_cannot_be_carried_is_named(f: Callable[[Any], Any], message: str) -> None:
    def summed(x: Any) -> Any:
        return np.sum(f(x))

    for run in (bridge.xla(f), bridge.grad(summed, engine="xla")):
        with pytest.raises(TraceError, match=rf"{message}(.|\n)*test_changing\.py:\d+"):
            run(X)
    with pytest.raises(TraceError, match=message):
        bridge.jvp(summed, (X,), (V,), engine="xla")


def one_array_or_another(x: Any) -> Any:
    a, b = x * 1, x * 2
    r = bridge.cond(x[0] > 0, lambda: a, lambda: b)
    r[0] = 9 * x[1]
    return a + b + r


def a_captured_array(x: Any) -> Any:
    a = x * 1
    r = bridge.fori_loop(0, 9, lambda i, c: a, x)
    a[0] = 5 * x[1]
    return r + a


def arrays_in_turn(x: Any) -> Any:
    a, b = x.copy(), x * 2
    a, b = bridge.fori_loop(0, 9, lambda i, ab: (ab[1], ab[0]), (a, b))
    a[0] = 5 * x[1]
    return a - b


@pytest.mark.parametrize("f", [one_array_or_another, a_captured_array, arrays_in_turn])
def test_writes_into_results_that_have_other_names_reach_these(f: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(bridge.xla(f)(X), f(X.copy()))
    slopes = differences(lambda x: np.sum(f(x) ** 2))
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(f(x) ** 2), engine="xla")(X), slopes, rtol=1e-4, atol=1e-4)


def test_a_program_that_is_not_read() -> None:
    def program(x: Any) -> Any:
        n = 0

        def body(i: Any, v: Any) -> Any:
            nonlocal n
            n += 1
            return v * n

        return np.sum(bridge.fori_loop(0, 9, body, x))

    with pytest.raises(TraceError, match="the body of a loop changes more than it returns"):
        bridge.grad(program, engine="xla", source=False)(X)


class State:
    def __init__(self, u: Any, n: Any) -> None:
        self.u, self.n = u, n


def an_object_that_stays_without_an_iteration(x: Any) -> Any:
    s = State(x * 1, 0.0)
    r: Any = bridge.while_loop(lambda v: v.n > 5, lambda v: State(v.u * 2, v.n + 1), s, limit=5)
    r.u = r.u * 3
    return np.sum(s.u)


def a_result_that_may_be_an_older_object(x: Any) -> Any:
    s = State(x * 1, 1.0)
    r: Any = bridge.cond(x[0] > 0, lambda: s, lambda: State(x * 3, 2.0))
    r.u = r.u * 3
    return np.sum(s.u)


def an_older_object_that_may_be_a_result(x: Any) -> Any:
    s = State(x * 1, 1.0)
    r: Any = bridge.cond(x[0] > 0, lambda: s, lambda: State(x * 3, 2.0))
    s.u = s.u * 3
    return np.sum(r.u)


@pytest.mark.parametrize(
    "f",
    [
        an_object_that_stays_without_an_iteration,
        a_result_that_may_be_an_older_object,
        an_older_object_that_may_be_a_result,
    ],
)
def test_attributes_of_objects_that_may_be_others_are_not_set(f: Callable[[Any], Any]) -> None:
    for run in (bridge.xla(f), bridge.grad(f, engine="xla")):
        with pytest.raises(AliasError, match=r"attribute of a State is set(.|\n)*test_changing\.py:\d+(.|\n)*remedy"):
            run(X)
