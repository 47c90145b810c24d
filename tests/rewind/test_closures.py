"""Bodies that are run again see the variables of enclosing functions as they were, or are found out."""

# Variables that a loop assigns anew are what these tests are about.
# ruff: noqa: B023

from __future__ import annotations

import ctypes
import functools
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ReplayError
from bridge.rewind.closures import Closure
from tests.helpers import finite_differences as reference

X = np.array([1.0, 2.0, 3.0])
NEEDS_JAX = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
ENGINES = ["native", pytest.param("xla", marks=NEEDS_JAX)]


def branches(x: Any) -> Any:
    b = x.copy()
    for t in range(3):

        def yes() -> None:
            b[t] *= x[t] * (t + 1)

        bridge.cond(x[0] > 0, yes, lambda: None)
    return np.sum(b)


def loops(x: Any) -> Any:
    b = x.copy()
    for t in range(3):

        def body(i: Any, b: Any) -> Any:
            b[t] *= x[t] * (t + 1)
            return b

        b = bridge.fori_loop(0, 2, body, b)
    return np.sum(b)


def conditions(x: Any) -> Any:
    s = x[0]
    for limit in (4.0, 30.0):
        s = bridge.while_loop(lambda s: s < limit, lambda s: s * x[1] + limit, s, limit=9)
    return s


def checkpoints(x: Any) -> Any:
    y, w = x, x
    for t in range(3):
        y = bridge.checkpoint(lambda v: v * np.sin(w) * (t + 1))(y)
        w = w * 2
    return np.sum(y)


def helpers(x: Any) -> Any:
    y = x
    for t in range(3):

        def power(v: Any) -> Any:
            return v ** (t + 1)

        steps = [power, functools.partial(lambda v, k: v * k * (t + 1), k=2.0)]

        def body(i: Any, v: Any) -> Any:
            for step in steps:
                v = step(v)
            return np.tanh(v) + 0.2

        y = bridge.fori_loop(0, 2, body, y)
    return np.sum(y)


@pytest.mark.ci
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("f", [branches, loops, conditions, checkpoints, helpers], ids=lambda f: f.__name__)
def test_a_body_sees_the_variables_of_its_own_turn(f: Any, engine: str) -> None:
    (expected,) = reference.gradient(f, [X])
    np.testing.assert_allclose(bridge.grad(f, engine=engine)(X), expected, rtol=1e-6, atol=1e-12)
    v = np.array([0.3, -1.0, 0.5])
    slope = reference.directional(lambda x: np.sum(bridge.grad(f, engine="native")(x) * v), [X], [v])
    found = np.sum(bridge.hvp(f, (X,), (v,), engine=engine) * v)
    np.testing.assert_allclose(found, slope, rtol=1e-5)


class Unseen:
    """A counter in memory of C, of which no walk through a program's objects finds the value."""

    def __init__(self, runs: int = 0) -> None:
        self.bits = np.array([runs]).tobytes()
        self.address = ctypes.cast(self.bits, ctypes.c_void_p).value

    def counted(self) -> int:
        now = ctypes.string_at(self.address, 8)
        ctypes.memmove(self.address, np.array([int.from_bytes(now, sys.byteorder) + 1]).tobytes(), 8)
        return int.from_bytes(ctypes.string_at(self.address, 8), sys.byteorder)


class Counting:
    """A body that is another one whenever it runs."""

    def __init__(self) -> None:
        self.runs = Unseen()

    def __call__(self, i: Any, v: Any) -> Any:
        return np.sin(v) * self.runs.counted()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_body_that_does_something_else_is_found_out(engine: str) -> None:
    def f(x: Any) -> Any:
        return np.sum(bridge.fori_loop(0, 2, Counting(), x))

    with pytest.raises(ReplayError, match=r"was run again") as caught:
        bridge.grad(f, engine=engine)(X)
    assert "pass random numbers in" in str(caught.value)
    assert __file__ in str(caught.value)


@pytest.mark.ci
@NEEDS_JAX
@pytest.mark.parametrize("what", ["operation", "constant", "index", "length", "operands"])
def test_whatever_it_does_from_some_run_on(what: str) -> None:
    def f(late: Callable[[], bool]) -> Any:
        def body(i: Any, b: Any) -> Any:
            if what == "operation":
                b[0] = (np.cos if late() else np.sin)(b[0]) * b[1]
            elif what == "constant":
                b[0] = 2.0 if late() else 1.0
                b[1] *= b[0]
            elif what == "index":
                b[1 if late() else 0] *= b[2]
            elif what == "operands":
                made = [np.sin(b[0]), np.cos(b[1])]
                k = int(late())
                b[0] = made[k] - made[1 - k]
            else:
                b[0] *= b[1]
                if late():
                    b[0] *= b[1]
            return b

        return lambda x: np.sum(bridge.fori_loop(0, 2, body, x.copy()))

    early, later = (bridge.grad(f(lambda k=k: k))(X) for k in (False, True))  # type: ignore[misc]
    seen = set()
    for runs in range(8, -1, -1):
        # Whichever of its runs is the first one that is different: the program is one of the two, and no mixture.
        state = Unseen(runs)
        found = bridge.xla(bridge.grad(f(lambda state=state: state.counted() > 8)))(X)  # type: ignore[misc]
        seen.add(np.allclose(found, later))
        np.testing.assert_allclose(found, later if np.allclose(found, later) else early)
    assert seen == {False, True}


@pytest.mark.ci
@NEEDS_JAX
def test_a_body_that_alternates_is_found_out() -> None:
    runs = Unseen()

    def body(i: Any, b: Any) -> Any:
        b[0] = (np.cos if runs.counted() % 2 else np.sin)(b[0]) * b[1]
        return b

    with pytest.raises(ReplayError, match=r"was run again(.|\n)*differs(.|\n)*test_closures.py"):
        bridge.grad(lambda x: np.sum(bridge.fori_loop(0, 2, body, x.copy())), engine="xla")(X)


class TestClosure:
    def test_what_it_assigns_stays(self) -> None:
        count = 0

        def step() -> None:
            nonlocal count
            count += 1

        again = Closure(step)
        again()
        assert count == 1
        count = 10
        again()
        assert count == 10, "somebody else has assigned in between"

    def test_variables_without_a_value(self) -> None:
        def step() -> Any:
            return later  # noqa: F821

        again = Closure(step)
        later = 3
        assert again() == 3
        held = Closure(step)
        del later
        assert held() == 3
        with pytest.raises(NameError):
            step()

    def test_functions_that_call_each_other(self) -> None:
        def odd(n: int) -> bool:
            return n > 0 and even(n - 1)

        def even(n: int) -> bool:
            return n == 0 or odd(n - 1)

        again = Closure(odd)
        assert again(3)
        assert again.__name__ == "odd"


@pytest.mark.parametrize("engine", ENGINES)
def test_pulls_that_wait_belong_to_their_turn(engine: str) -> None:
    w = np.array([5.0, 6.0, 7.0])
    pulls = [bridge.vjp(lambda x: x * w[t], X, engine=engine)[1] for t in range(3)]
    assert [pull(np.ones(3))[0][0] for pull in pulls] == [5, 6, 7]


@NEEDS_JAX
def test_a_pull_whose_function_reads_an_array_that_has_changed() -> None:
    w = np.array([5.0, 6.0, 7.0])
    _, pull = bridge.vjp(lambda x: x * w, X, engine="xla")
    np.testing.assert_array_equal(pull(np.ones(3))[0], [5, 6, 7])
    w[:] = 0
    with pytest.raises(ReplayError, match=r" has changed between vjp and its pull") as caught:
        pull(np.ones(3))
    assert __file__ in str(caught.value)


def test_functions_that_are_reached_twice() -> None:
    t = u = 1

    def first(v: int) -> int:
        return v * t

    def second(v: int) -> int:
        return v + u

    def each(steps: list[Any], v: int) -> list[int]:
        return [step(v) for step in steps]

    for steps in ([first, second, second], [second, first, first]):
        t = u = 1
        again = Closure(functools.partial(each, steps))
        expected = again(2)
        t = u = 5
        assert again(2) == expected
        assert t == u == 5


def test_a_function_that_keeps_its_own_variables_in_one_that_keeps_them_too() -> None:
    t = 1

    def step() -> int:
        return t

    inner = Closure(step)
    t = 2
    outer = Closure(lambda: (inner(), t))
    t = 3
    assert outer() == (1, 2)
    assert t == 3
