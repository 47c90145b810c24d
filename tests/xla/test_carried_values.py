"""What a Python loop binds in some of its turns only has its value from before in the others, compiled too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.linspace(0.1, 0.6, 6)
Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def program(f: Program) -> Program:
    PROGRAMS.append(f)
    return f


@program
def number_bound_in_no_turn(x: Any) -> Any:
    t = 0.5
    for _ in range(6):
        if x[0] > 5.0:
            t = 0
    return t * x[0]


@program
def element_bound_in_no_turn(x: Any) -> Any:
    t = x[1]
    for k in range(6):
        if x[k] > 5.0:
            t = x[k]
    return t * x[0]


@program
def array_bound_in_no_turn(x: Any) -> Any:
    u = x * 0.5
    for _ in range(6):
        if x[0] > 5.0:
            u = np.zeros(6)
    return np.sum(u * u)


@program
def flag_that_stays(x: Any) -> Any:
    below = True
    for k in range(6):
        if x[k] > 5.0:
            below = False
    return np.sum(x) * (2.0 if below else 3.0)


@program
def number_bound_in_some_turns(x: Any) -> Any:
    last, k = 0.25, -1
    for k in range(6):
        if 0.15 < x[k] < 0.45:
            last = x[k] * last
        elif x[k] > 5.0:
            last = 1.0
    return last * x[0] + k


@program
def number_bound_unless_a_turn_is_skipped(x: Any) -> Any:
    last = 0.25
    for k in range(6):
        if x[k] < 5.0:
            continue
        last = x[k]
    return last * x[0]


@program
def number_bound_in_an_inner_loop_that_may_be_empty(x: Any) -> Any:
    last = x[2]
    for k in range(6):
        for j in range(k - 5):
            last = x[j] * 0.5
    return last * x[0]


@program
def number_bound_by_a_match(x: Any) -> Any:
    last = x[3]
    for k in range(6):
        match k:
            case 7:
                last = x[0]
    return last * x[1]


@pytest.mark.ci
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_values_from_before_the_loop_stay(f: Program) -> None:
    np.testing.assert_allclose(bridge.xla(f)(X.copy()), f(X.copy()), rtol=1e-12)
    value, gradient = bridge.value_and_grad(f, engine="xla")(X.copy())
    expected, native = bridge.value_and_grad(f, engine="native")(X.copy())
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, native, rtol=1e-12, atol=1e-15)
