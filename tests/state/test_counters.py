"""A solver's function counts its calls, wherever it keeps the number: a gradient does not count one more."""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge

optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed (pip install scipy)")

X = np.array([0.7, 1.3])
CALLS = 0
Counted = tuple[Callable[[Any], Any], Callable[[], Any]]
COUNTERS: dict[str, Callable[[Any], Counted]] = {}


def counter(make: Callable[[Any], Counted]) -> Callable[[Any], Counted]:
    COUNTERS[make.__name__] = make
    return make


def count_in_the_module() -> None:
    global CALLS
    CALLS += 1


@counter
def attribute_of_a_class(x: Any) -> Counted:
    class Counter:
        n = 0

    def f(u: Any) -> Any:
        Counter.n += 1
        return u**3 - x[0]

    return f, lambda: Counter.n


@counter
def attribute_of_the_class_of_an_object(x: Any) -> Counted:
    class Counter:
        n = 0

        def f(self, u: Any) -> Any:
            type(self).n += 1
            return u**3 - x[0]

    return Counter().f, lambda: Counter.n


@counter
def slot(x: Any) -> Counted:
    class Counter:
        __slots__ = ("n",)

    one = Counter()
    one.n = 0

    def f(u: Any) -> Any:
        one.n += 1
        return u**3 - x[0]

    return f, lambda: one.n


@counter
def attribute_of_the_function(x: Any) -> Counted:
    def f(u: Any) -> Any:
        f.n += 1  # type: ignore[attr-defined]
        return u**3 - x[0]

    f.n = 0  # type: ignore[attr-defined]
    return f, lambda: f.n  # type: ignore[attr-defined]


@counter
def attributes_that_come(x: Any) -> Counted:
    one = SimpleNamespace()

    def f(u: Any) -> Any:
        setattr(one, f"call{len(vars(one))}", 1)
        return u**3 - x[0]

    return f, lambda: len(vars(one))


@counter
def items_that_come(x: Any) -> Counted:
    calls: dict[int, str] = {}

    def f(u: Any) -> Any:
        calls[len(calls)] = "called"
        return u**3 - x[0]

    return f, lambda: len(calls)


@counter
def deque_of_calls(x: Any) -> Counted:
    calls: deque[str] = deque()

    def f(u: Any) -> Any:
        calls.append("called")
        return u**3 - x[0]

    return f, lambda: len(calls)


@counter
def set_of_calls(x: Any) -> Counted:
    calls: set[int] = set()

    def f(u: Any) -> Any:
        calls.add(len(calls))
        return u**3 - x[0]

    return f, lambda: len(calls)


@counter
def argument_of_a_partial(x: Any) -> Counted:
    calls = [0]

    def f(calls: list[int], u: Any) -> Any:
        calls[0] += 1
        return u**3 - x[0]

    return functools.partial(f, calls), lambda: calls[0]


@counter
def default(x: Any) -> Counted:
    def f(u: Any, calls: Any = [0]) -> Any:  # noqa: B006, a counter
        calls[0] += 1
        return u**3 - x[0]

    f.__defaults__ = ([0],)
    return f, lambda: f.__defaults__[0][0]  # type: ignore[index]


@counter
def default_of_a_keyword(x: Any) -> Counted:
    def f(u: Any, *, calls: Any = None) -> Any:
        calls[0] += 1
        return u**3 - x[0]

    f.__kwdefaults__["calls"] = [0]
    return f, lambda: f.__kwdefaults__["calls"][0]


@counter
def variable_of_another_function(x: Any) -> Counted:
    global CALLS
    CALLS = 0

    def f(u: Any) -> Any:
        count_in_the_module()
        return u**3 - x[0]

    return f, lambda: CALLS


@counter
def variable_of_a_function_in_the_function(x: Any) -> Counted:
    global CALLS
    CALLS = 0

    def f(u: Any) -> Any:
        def count() -> None:
            global CALLS
            CALLS += 1

        count()
        return u**3 - x[0]

    return f, lambda: CALLS


@pytest.mark.parametrize("name", COUNTERS)
def test_the_number_of_calls_is_that_of_the_solver(name: str) -> None:
    def program(x: Any) -> Any:
        f, calls = COUNTERS[name](x)
        return optimize.brentq(f, 0, 3) * calls()

    value, gradient = bridge.value_and_grad(program)(X)
    assert value == pytest.approx(program(X), rel=1e-14)
    np.testing.assert_allclose(gradient, [value / (3 * X[0]), 0.0], rtol=1e-8)
