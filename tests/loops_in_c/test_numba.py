"""Loops in C that call functions which Numba compiles, and loops over `prange`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError
from bridge.loops_in_c.functions import DERIVED
from bridge.rulebook import book

pytest.importorskip("numba", reason="numba is needed: pip install -e '.[test]'")

import numba
from numba import njit, prange

X = np.array([0.3, -0.7, 1.1, 0.0, 2.0])


@njit
def square(v):
    return v * v


@njit
def cube(v, scale=1.0):
    return scale * v * v * v


@njit
def shifted(a, k):
    for i in prange(1, a.size):
        a[i] += k * a[i - 1]


@numba.vectorize(["f8(f8, f8)"])
def larger(a, b):
    return a if a > b else b


@numba.vectorize(["f4(f4)"])
def single(a):
    return a


class Model:
    def __init__(self, law: Any) -> None:
        self.law = law

    def total(self, x: Any) -> Any:
        found = 0.0
        for i in prange(x.size):
            found += self.law(x[i]) * larger(x[i], 0.5)
        return found


def applied(f: Any, x: Any) -> Any:
    y = x.copy()
    for i in range(len(x)):
        y[i] = f(y[i])
    return np.sum(y * np.arange(1.0, 6.0))


def relaxed(x: Any) -> Any:
    y = x.copy()
    for k in range(4):
        shifted(y, 0.1 * k)
        y[0] = cube(y[-1], scale=0.5) - square(y[1])
    return np.sum(y)


def stepped(x: Any) -> Any:
    total = 0.0
    for i in numba.prange(4, -1, -2):
        total = total * 0.5 + square(x[i])
    return total


PROGRAMS = {
    "functions as arguments": lambda x: applied(square, x) + applied(cube, x) + applied(square, 2.0 * x),
    "attributes": lambda x: Model(square).total(x) + Model(cube).total(x),
    "functions that write": relaxed,
    "prange with a step": stepped,
}


@pytest.fixture(autouse=True)
def _no_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules of users' for operators leave loops to Python."""
    monkeypatch.setattr(book, "OF_USERS", book.OF_USERS - DERIVED)


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_inlined(name: str) -> None:
    program = PROGRAMS[name]
    value, gradient = bridge.value_and_grad(program, loops="c")(X)
    expected, slope = bridge.value_and_grad(program, loops="python")(X)
    assert type(value) is type(expected)
    assert value == expected
    np.testing.assert_allclose(value, program(X))
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)


def test_a_rule_that_comes_later() -> None:
    law = njit(lambda v: 5.0 * v)
    gradient = bridge.grad(lambda x: applied(law, x), loops="c")
    np.testing.assert_allclose(gradient(X), 5.0 * np.arange(1.0, 6.0))
    bridge.rule(law)(lambda ct, out, v: -ct)
    with pytest.raises(RefusedError, match="a call"):
        gradient(X)
    np.testing.assert_allclose(bridge.grad(lambda x: applied(law, x), loops="auto")(X), -np.arange(1.0, 6.0))


def test_a_function_of_vectorize_without_a_loop_for_floats() -> None:
    def program(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            total += single(x[i])
        return total

    with pytest.raises(RefusedError, match=r"a call of single, of numba\.vectorize, without a loop for floats"):
        bridge.grad(program, loops="c")(X)


def test_powers_with_the_operands_of_the_iteration_before() -> None:
    def program(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            h = 2.0 if i < 3 else 0.1
            total += x[i] / h**2 + h ** (x[i] + 2.0) + (h**-1) ** 3
        return total

    value, gradient = bridge.value_and_grad(program, loops="c")(X)
    expected, slope = bridge.value_and_grad(program, loops="python")(X)
    assert value == expected
    np.testing.assert_allclose(gradient, slope, rtol=1e-12)


def test_powers_that_overflow_each_time() -> None:
    def program(x: Any) -> Any:
        total = 0.0
        for i in range(len(x)):
            try_it = 1e200 if i > 2 else 1.0
            total += x[i] * try_it**2
        return total

    for loops in ("python", "c"):
        with pytest.raises(OverflowError):
            bridge.grad(program, loops=loops)(X)


def upwind(x: Any, v: Any, w: Any) -> Any:
    """Conditions of arrays that are not written, of one that is, and of a counter after its loop."""
    y, total = x.copy(), 0.0
    for k in range(4):
        for i in range(1, len(x) - 1):
            if v[i - k] > 0.0:
                y[i] += v[i] * y[i - 1] ** 2
            else:
                y[i] -= y[i + 1] * v[i]
            if w[i] < 0.1 * k or y[i] > 0.5:
                total += y[i] * w[k]
                w[i] += 0.3
        if v[i] * k > v[k] or i == 2:
            total *= 1.5 + y[i]
    return total + np.sum(y)


def test_conditions_that_the_backward_pass_computes_again() -> None:
    v, w = np.array([0.2, -0.4, 0.6, -0.1, 0.3]), np.array([0.0, 0.3, -0.2, 0.5, 0.1])
    for argnums in (0, 1, (0, 1, 2)):
        value, gradient = bridge.value_and_grad(upwind, argnums=argnums, loops="c")(X, v, w)
        expected, slope = bridge.value_and_grad(upwind, argnums=argnums, loops="python")(X, v, w)
        assert value == expected
        for one, other in zip(gradient, slope, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)
