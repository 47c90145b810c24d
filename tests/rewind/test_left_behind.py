"""What a solver's function leaves in the program: plain values as SciPy leaves them, or a refusal by name."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ContextError, RefusedError

optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed (pip install scipy)")

X = np.array([0.7, 1.3])
TOTAL: Any = 0.0


def counter(x: Any) -> Any:
    n = 0

    def f(u: Any) -> Any:
        nonlocal n
        n += 1
        return u**3 - x[0]

    return optimize.brentq(f, 0, 3) ** 2 * n


def counter_in_an_array(x: Any) -> Any:
    n = np.zeros(1)

    def f(u: Any) -> Any:
        n[0] += 1.0
        return u**3 - x

    return np.sum(optimize.fsolve(f, np.ones(2))) * n[0]


def counter_of_an_object(x: Any) -> Any:
    o = SimpleNamespace(n=0, log=[])

    def f(u: Any) -> Any:
        o.n += 1
        o.log.append("called")
        return np.cos(u) * x[0]

    return optimize.fixed_point(f, 0.5) * (o.n + len(o.log))


def counter_in_a_dict(x: Any) -> Any:
    d = {"n": 0}

    def f(u: Any) -> Any:
        d["n"] += 1
        return u**3 - x

    return np.sum(optimize.root(f, np.ones(2)).x) * d["n"]


def plain_history(x: Any) -> Any:
    seen: list[Any] = []

    def f(u: Any) -> Any:
        seen.append(float(bridge.detach(u)))
        return u**3 - x[0]

    return optimize.newton(f, 1.0) * (len(seen) + seen[-1])


def last_value(x: Any) -> Any:
    last = None

    def f(u: Any) -> Any:
        nonlocal last
        last = x[1] * u
        return u**3 - x[0]

    return optimize.brentq(f, 0, 3, xtol=1e-14) + last


@pytest.mark.parametrize(
    "f", [counter, counter_in_an_array, counter_of_an_object, counter_in_a_dict, plain_history, last_value],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_plain_values_are_as_scipy_left_them(f: Any) -> None:
    value, _ = bridge.value_and_grad(f)(X)
    assert value == pytest.approx(f(X), rel=1e-8)


def adds_to_an_attribute(x: Any) -> Any:
    o = SimpleNamespace(t=0.0)

    def f(u: Any) -> Any:
        o.t += x[1] * u
        return u**3 - x

    return np.sum(optimize.fsolve(f, np.ones(2))) + np.sum(o.t)


def adds_to_an_array_in_place(x: Any) -> Any:
    t = np.zeros(2)

    def f(u: Any) -> Any:
        t[0] += x[0] * u
        return u**3 - x[0]

    return optimize.brentq(f, 0, 3) + np.sum(t)


def adds_to_an_element(x: Any) -> Any:
    d = {"t": np.zeros(1)}

    def f(u: Any) -> Any:
        d["t"] += x[1]
        return np.cos(u) * x[0]

    return optimize.fixed_point(f, 0.5) + d["t"][0]


def fills_a_list(x: Any) -> Any:
    seen: list[Any] = []

    def f(u: Any) -> Any:
        seen.append(x[1] * u)
        return u**3 - x[0]

    return optimize.brentq(f, 0, 3) + sum(seen)


def adds_to_a_global(x: Any) -> Any:
    global TOTAL
    TOTAL = 0.0

    def f(u: Any) -> Any:
        global TOTAL
        TOTAL += x[1] * u
        return u**3 - x[0]

    return optimize.brentq(f, 0, 3) + TOTAL


def multiplies_in_place(x: Any) -> Any:
    t = x * 1.0

    def f(u: Any) -> Any:
        t[0] *= 1.01
        return u**3 - x[0]

    return optimize.brentq(f, 0, 3) + t[0]


@pytest.mark.parametrize(
    "f",
    [
        adds_to_an_attribute, adds_to_an_array_in_place, adds_to_an_element, fills_a_list, adds_to_a_global,
        multiplies_in_place,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_what_is_added_up_in_a_search_is_refused(f: Any) -> None:
    with pytest.raises(RefusedError, match=r"adds to what it has left before") as told:
        bridge.grad(f)(X)
    assert "how often the solver calls the function" in str(told.value)
    assert "test_left_behind.py:" in str(told.value)
    assert "remedy: compute it from the result" in str(told.value)


def test_a_variable_that_is_added_to_is_refused() -> None:
    def f(x: Any) -> Any:
        t = 0.0

        def inner(u: Any) -> Any:
            nonlocal t
            t += x[1] * u
            return u**3 - x[0]

        return optimize.brentq(inner, 0, 3) + t

    with pytest.raises((ContextError, RefusedError), match=r"while a solver searched|adds to what"):
        bridge.grad(f)(X)
