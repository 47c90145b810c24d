"""Floats that a compiled program computes from constants alone are known, until a traced value is written there."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError, RefusedError, TraceError

pytest.importorskip("jax")

X = np.array([1.0, 2.0, 3.0, 4.0])
TANGENT = np.array([1.0, 0.5, 0.2, 0.1])
Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def program(f: Program) -> Program:
    PROGRAMS.append(f)
    return f


@program
def norm_of_a_direction(x: Any) -> Any:
    if math.isclose(np.linalg.norm(np.array([1.0, 0.0])), 1.0):
        return np.sum(x * x)
    return np.sum(x)


@program
def direction_in_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(100):
        if math.isclose(np.linalg.norm(np.array([0.6, 0.8])), 1.0):
            total = total + x[i % 4] ** 2
    return total


@program
def number_of_elements(x: Any) -> Any:
    weights = np.zeros(3)
    weights[1] = 2.0
    return np.sum(x[: int(weights.sum())] ** 3)


@program
def keys_of_a_dictionary(x: Any) -> Any:
    table = {}
    for knot in np.linspace(0, 1, 4):
        table[float(knot)] = knot + x
    return sum(np.sum(table[k]) * x[j] for j, k in enumerate(sorted(table)))


@program
def keys_that_are_numbers_of_numpy(x: Any) -> Any:
    table = {value: x * value for value in np.array([1.0, 2.0])}
    return np.sum(table[2.0] ** 2)


@program
def updates_and_views(x: Any) -> Any:
    weights = np.arange(16.0).reshape(4, 4)
    weights += 1
    weights /= weights.sum()
    row = weights[1]
    row[:] = 0.5
    weights.T[0, 1] = 5.0
    assert weights[1, 0] == 5.0 and weights[1, 2] == 0.5
    return np.sum(weights @ x) * math.floor(weights[1].sum())


@program
def indices_and_masks(x: Any) -> Any:
    weights = np.zeros(4)
    weights[np.array([0, 2])] = 1.0
    chosen = x[weights > 0.5]
    weights[weights > 0.5] = 3.0
    return np.sum(chosen**2) + np.sum(weights * x)


@program
def written_in_a_loop(x: Any) -> Any:
    weights, total = np.array([0.5, 2.0]), 0.0
    for i in range(150):
        total = total + weights[0] * x[i % 4] ** 2
        weights[0] = weights[0] * 0.99
    return total * weights[0]


@program
def changed_after_a_loop_that_reads_it(x: Any) -> Any:
    weights, total = np.array([0.5, 2.0]), 0.0
    for i in range(200):
        y = x[(i + 1) % 4]
        if weights[0] < 1:
            y = y * weights[0]
        total = total + y * x[i % 4]
    weights[0] = 7.0
    if weights[0] > 1:
        total = total * 2
    return total * weights[1]


@program
def ends_a_loop(x: Any) -> Any:
    error, total, count = np.array([1.0]), 0.0, 0
    while error[0] > 1e-3:
        error[0] *= 0.5
        total = total + x[0] * error[0]
        count += 1
    return total + count * x[1] ** 2


@program
def written_by_one_side_of_a_branch(x: Any) -> Any:
    weights = np.zeros(3)
    weights[1] = 3.0
    if x[0] > 0:
        weights[0] = 2.0
    return np.sum(x) * weights[1] if weights[0] > 1.5 else np.sum(x**2)


@program
def traced_value_beside_it(x: Any) -> Any:
    weights = np.zeros(4)
    weights[1] = x[1]
    weights[2] = 3.0
    return np.sum(weights * x) if weights[2] > 2 else weights[1]


@program
def inside_an_inner_gradient(x: Any) -> Any:
    weights = np.array([2.0, 1.0, 1.0, 1.0])
    inner = bridge.grad(lambda y: np.sum(y**3 * weights) if weights[0] > 1 else np.sum(y))(x)
    weights[0] = 0.5
    return np.sum(inner * weights)


@program
def complex_roots_and_factors(x: Any) -> Any:
    roots = np.exp(2j * np.pi * np.arange(4) / 4)
    matrix = 2 * np.eye(4)
    matrix[0, 1] = 1.0
    if abs(roots[1].imag - 1) < 1e-12 and np.all(np.linalg.eigvalsh(matrix @ matrix.T) > 0):
        return np.sum(np.linalg.cholesky(matrix @ matrix.T) @ x * roots.real)
    return np.sum(x)


@program
def integers_and_floats_of_them(x: Any) -> Any:
    lengths = np.array([3, 4])
    halves = lengths.astype(float) / 2
    if math.isclose(np.linalg.norm(lengths), 5.0) and math.isclose(halves[1], 2.0):
        return np.sum(x**2) * np.sqrt(lengths)[1]
    return np.sum(x)


@program
def numbers_of_python_are_weak(x: Any) -> Any:
    tenth, narrow = float(np.array([0.1]).sum()), np.array([0.1, 0.2], np.float32)
    if narrow[0] == tenth and (narrow == tenth)[0] and math.isclose((narrow * tenth)[0], 0.01, rel_tol=1e-6):
        return np.sum(x**2)
    return np.sum(x)


@program
def integers_of_python_are_weak(x: Any) -> Any:
    sums = np.array([200], np.uint8) + int(np.array([100]).sum())
    return np.sum(x**2) if sums[0] == 44 else np.sum(x)


@program
def checkpoints_around_writes_of_traced_values(x: Any) -> Any:
    weights = np.array([2.0, 1.0])

    @bridge.checkpoint
    def body(y: Any) -> Any:
        factors = np.ones(2)
        factors *= 0.5
        return y * weights[0] + y**2 * factors[0] if weights[0] > 1 and factors[0] < 1 else y

    y = body(x)
    weights[1] = x[0]
    y = body(y)
    return np.sum(y) * weights[1]


@program
def checkpoints_that_read_integers(x: Any) -> Any:
    orders = np.array([2, 3])
    body = bridge.checkpoint(lambda y: y * orders[1] + y**2 if orders[0] > 1 else y)
    return np.sum(body(body(x)))


@program
def narrow_floats(x: Any) -> Any:
    weights = np.array([0.1, 0.2], np.float32)
    return np.sum(x**2) * weights[1] if float(weights[0]) != 0.1 else np.sum(x)


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_gradient_and_second_derivative(f: Program) -> None:
    value, gradient = bridge.value_and_grad(f, engine="xla")(X)
    np.testing.assert_allclose(value, f(X), rtol=1e-12)
    steps = 1e-6 * np.eye(4)
    np.testing.assert_allclose(gradient, [(f(X + h) - f(X - h)) / 2e-6 for h in steps], rtol=1e-5, atol=1e-6)
    found = bridge.hvp(f, (X,), (TANGENT,), engine="xla")
    expected = bridge.hvp(f, (X,), (TANGENT,), engine="native")
    np.testing.assert_allclose(found[-1], expected[-1], rtol=1e-9, atol=1e-9)


CAPTURED = np.array([1.0, 0.0])
LISTED = [1.0, 2.0]


def of_a_captured_array(x: Any) -> Any:
    return np.sum(x) if math.isclose(np.linalg.norm(np.zeros(2) + CAPTURED), 1.0) else np.sum(x * x)


def of_a_captured_list(x: Any) -> Any:
    return np.sum(x) if np.array(LISTED).sum() > 3.5 else np.sum(x * x)


@pytest.mark.parametrize("f", [of_a_captured_array, of_a_captured_list])
def test_a_call_sees_new_values_of_what_it_has_captured(f: Program) -> None:
    gradient = bridge.grad(f, engine="xla")
    for first in (1.0, 2.0, 1.0):
        LISTED[0] = CAPTURED[0] = first
        np.testing.assert_allclose(gradient(X), bridge.grad(f)(X))


def test_a_float_that_a_loop_has_written_is_not_known() -> None:
    def f(x: Any) -> Any:
        weights, total = np.array([1.0]), 0.0
        for i in range(100):
            weights[0] = weights[0] * 0.5
            total = total + weights[0] * x[i % 4]
        return total if math.ulp(weights[0]) < 1e-9 else np.sum(x)

    with pytest.raises(TraceError, match=r"math\.ulp needs the value of a traced float64 number"):
        bridge.grad(f, engine="xla")(X)


def test_memory_of_a_known_array_is_not_given_to_code_that_is_not_read() -> None:
    def f(x: Any) -> Any:
        weights = np.ones(4)
        seen = np.ctypeslib.as_array(weights)
        weights *= 2
        return np.sum(x * seen)

    with pytest.raises(TraceError, match="needs the value of a traced float64 array"):
        bridge.grad(f, engine="xla")(X)


def test_a_result_of_many_elements_is_not_known() -> None:
    def f(x: Any, length: int) -> Any:
        squares = np.multiply.outer(np.ones(length), np.ones(length))
        return np.sum(x) if math.ulp(squares[0, 0]) < 1e-9 else np.sum(x * x)

    np.testing.assert_array_equal(bridge.grad(f, engine="xla")(X, 256), np.ones(4))
    with pytest.raises(TraceError, match=r"math\.ulp needs the value"):
        bridge.grad(f, engine="xla")(X, 257)


@pytest.mark.parametrize(
    "inner",
    [
        lambda y: float(y[0]) ** 2 + np.sum(y),
        lambda y: float.fromhex(y[0].hex()) * y[1],
        lambda y: np.arange(y[1], y[0]).sum() + y[0],
        lambda y: {y[0]: 1.0}[3.0] + y[1],
    ],
    ids=["float", "hex", "arange", "hash"],
)
def test_a_known_number_that_is_differentiated_does_not_leave(inner: Program) -> None:
    def f(x: Any) -> Any:
        return np.sum(x) * np.sum(bridge.grad(inner, source=False)(np.array([3.0, 2.0])))

    for engine, error in (("native", (EscapeError, RefusedError)), ("xla", TraceError)):
        with pytest.raises(error, match=r"gradient would be lost|hash\(\)|needs the value of a traced float64 number"):
            bridge.grad(f, engine=engine, source=False)(X)


def test_decisions_follow_draws() -> None:
    def f(x: Any, generator: Any) -> Any:
        return np.sum(x) if np.array([generator.random()])[0] > 0.5 else np.sum(x * x)

    compiled = bridge.grad(f, engine="xla")
    drawn, expected = np.random.default_rng(3), np.random.default_rng(3)
    for _ in range(5):
        np.testing.assert_allclose(compiled(X, drawn), bridge.grad(f)(X, expected))
