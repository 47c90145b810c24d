"""NumPy's functions that call functions of the program: these run once, whatever they read, count, draw or write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import NoRuleError, RefusedError

X = np.array([0.3, -0.7, 1.1, 0.5, 0.9, -0.2])


def a_loop_variable(x: Any) -> Any:
    t = 0.0
    for k in range(3):
        t = t + np.sum(np.piecewise(x, [x > 0.2, x <= 0.2], [lambda v: v**2 * k, lambda v: v * k + 1]))  # noqa: B023
    return t


def a_counter(x: Any) -> Any:
    n = 0

    def row(r: Any) -> Any:
        nonlocal n
        n += 1
        return np.sum(r**2) * n

    return np.sum(np.apply_along_axis(row, 0, x.reshape(3, 2)))


def a_list_that_grows(x: Any) -> Any:
    log: list[Any] = []

    def row(r: Any) -> Any:
        log.append(np.sum(r**2))
        return r * len(log)

    return np.sum(np.apply_along_axis(row, 1, x.reshape(2, 3)) * x.reshape(2, 3)) + sum(log)


def a_draw(x: Any) -> Any:
    rng = np.random.default_rng(0)
    return np.sum(np.apply_along_axis(lambda r: r * rng.normal(), 1, x.reshape(3, 2)))


def an_array_that_changes(x: Any) -> Any:
    w = np.array([1.0, 2.0])
    y = np.piecewise(x, [x > 0], [lambda v: v * w[0], lambda v: v * w[1]])
    z = np.apply_over_axes(lambda a, axis: np.sum(a * w[0], axis=axis), x.reshape(2, 3) ** 2, [0, -1])
    w *= 7
    return np.sum(y * x) + np.sum(z)


def a_tracked_array_that_changes(x: Any) -> Any:
    y = x.copy()
    z = np.apply_along_axis(lambda r: r * y[0], 0, x.reshape(2, 3))
    y[0] = 50.0
    return np.sum(z**2) + y[0]


def its_own_row(x: Any) -> Any:
    def row(r: Any) -> Any:
        r[0] *= 2
        return r

    y = x.reshape(3, 2).copy()
    return np.sum(np.apply_along_axis(row, 1, y) * y)


def memory_around(x: Any) -> Any:
    total = np.zeros(2)

    def column(r: Any) -> Any:
        total[:] = total + r
        return total * r

    return np.sum(np.apply_along_axis(column, 0, x.reshape(2, 3)) ** 2) + np.sum(total)


def matrices_of_rows(x: Any) -> Any:
    made = np.apply_along_axis(lambda r: np.outer(r, r), 1, x.reshape(2, 3))
    return np.sum(made * np.arange(18.0).reshape(2, 3, 3)) + np.piecewise(x[0], x[0] > 0, [np.exp, 0.5])


PROGRAMS = [
    a_loop_variable, a_counter, a_list_that_grows, a_draw, an_array_that_changes, a_tracked_array_that_changes,
    its_own_row, memory_around, matrices_of_rows,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_they_run_once(program: Callable[[Any], Any]) -> None:
    expected = np.array([(program(X + 1e-6 * e) - program(X - 1e-6 * e)) / 2e-6 for e in np.eye(6)])
    value, gradient = bridge.value_and_grad(program, engine="native")(X)
    assert value == program(X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)
    along = np.arange(1.0, 7.0)
    np.testing.assert_allclose(bridge.jvp(program, (X,), (along,))[1], expected @ along, rtol=1e-6)


@pytest.mark.parametrize("call", [
    lambda x: np.piecewise(x, [x > 0], [1.0, 2.0, 3.0]),
    lambda x: np.apply_along_axis(np.sum, 3, x),
    lambda x: np.apply_along_axis(np.sum, 0, x[:0].reshape(2, 0)),
    lambda x: np.apply_over_axes(lambda a, axis: np.sum(a), x.reshape(2, 3), [0]),
])  # fmt: skip
def test_what_numpy_refuses(call: Callable[[Any], Any]) -> None:
    with pytest.raises((ValueError, AttributeError)) as expected:
        call(X)
    with pytest.raises(type(expected.value)):
        bridge.grad(lambda x: np.sum(call(x)))(X)


def swallowed(x: Any) -> Any:
    try:
        s = np.sum(np.sort_complex(x + 1j).real)
    except Exception:
        s = 0.0
    return s + np.sum(x)


def swallowed_in_a_loop(x: Any) -> Any:
    for function in (np.sort_complex, np.sum):
        try:
            return np.sum(np.real(function(x)))
        except TypeError:
            continue


def swallowed_without_a_rule(x: Any) -> Any:
    special = pytest.importorskip("scipy.special")
    try:
        return np.sum(special.mathieu_a(1.0, x))
    except NoRuleError:
        return np.sum(x)


@pytest.mark.parametrize("program", [swallowed, swallowed_in_a_loop, swallowed_without_a_rule])
def test_a_refusal_that_the_program_swallows(program: Callable[[Any], Any]) -> None:
    """A program that goes on would be another one."""
    with pytest.raises((RefusedError, NoRuleError), match=r"sort_complex|mathieu_a") as caught:
        bridge.grad(program, engine="native")(np.abs(X))
    assert "test_callbacks.py" in str(caught.value)
    with pytest.raises((RefusedError, NoRuleError)):
        bridge.vjp(program, np.abs(X), engine="native")


def test_the_result_of_piecewise_lies_as_its_argument_does() -> None:
    def program(x: Any) -> Any:
        y = np.piecewise(x, [x > 0], [lambda v: 0.5 * v, np.sin])
        y.flat = y.T
        return np.sum(y * y)

    x = np.asfortranarray(np.array([[-0.5, 1.25, 0.75], [0.25, -1.5, -0.25], [1.0, 0.5, -1.0]]))
    assert bridge.value_and_grad(program)(x)[0] == program(x.copy(order="K"))
