"""Julia functions inside NumPy programs: order of writes, constants, several outputs, orders of derivatives."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError, ReplayError
from tests.helpers import finite_differences

pytestmark = pytest.mark.julia

X = np.array([0.3, -0.8, 1.2])


@pytest.fixture(scope="module")
def loss() -> Any:
    return bridge.julia.function("(w, x) -> sum(abs2, tanh.(w * x))")


@pytest.fixture(scope="module")
def squares() -> Any:
    return bridge.julia.function("x -> x .^ 2 ./ 2")


def check(program: Any, *inputs: np.ndarray, orders: int = 2) -> None:
    """Reverse and forward mode, and the Hessian product both ways, against differences."""
    argnums = tuple(range(len(inputs)))
    gradients = bridge.grad(program, argnums)(*inputs)
    for found, expected in zip(gradients, finite_differences.gradient(program, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    tangents = finite_differences.random_tangents(inputs)
    _, derivative = bridge.jvp(program, inputs, tangents)
    assert derivative == pytest.approx(finite_differences.inner(gradients, tangents), rel=1e-10)
    if orders < 2:
        return
    products = bridge.hvp(program, inputs, tangents)
    products = products if isinstance(products, tuple) else (products,)

    def along(*args: Any) -> Any:
        found = bridge.grad(program, argnums)(*args)
        return sum(np.sum(g * t) for g, t in zip(found, tangents, strict=True))

    by_reverse = bridge.grad(along, argnums)(*inputs)
    h = 1e-5
    ahead = bridge.grad(program, argnums)(*(x + h * t for x, t in zip(inputs, tangents, strict=True)))
    behind = bridge.grad(program, argnums)(*(x - h * t for x, t in zip(inputs, tangents, strict=True)))
    for found, again, a, b in zip(products, by_reverse, ahead, behind, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * h), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(again, found, rtol=1e-9, atol=1e-10)


def test_memory_is_what_it_was_when_the_function_ran(loss: Any) -> None:
    def program(w: Any, x: Any) -> Any:
        w = w.copy()
        first = loss(w, x)
        w[0] *= x
        x = x + 0.0
        second = loss(w, x)
        x[...] = w[1]
        w[...] = 0
        return first * second + np.sum(x) + loss(w + 1, x)

    check(program, np.random.default_rng(0).normal(size=(3, 3)), X)


@pytest.mark.parametrize("size", [4, 3000])
def test_large_memory_too(squares: Any, size: int) -> None:
    x = np.linspace(0.5, 1.5, size)

    def program(x: Any) -> Any:
        y = x * 1.0
        a = squares(y)
        y *= 3
        b = squares(y[::2])
        y[:] = 7
        return np.sum(a) + np.sum(b)

    weights = np.where(np.arange(size) % 2 == 0, 1 + 9, 1)
    np.testing.assert_allclose(bridge.grad(program)(x), weights * x)
    _, pull = bridge.vjp(program, x)
    for factor in (1.0, 2.0):
        np.testing.assert_allclose(pull(np.float64(factor))[0], factor * weights * x)


@pytest.mark.parametrize("size", [3, 5000])
def test_constants_that_change_later_are_remembered(size: int) -> None:
    weighted = bridge.julia.function("(x, c) -> sum(x .* c)")
    x, constant = np.ones(size), np.full(size, 2.0)

    def program(x: Any) -> Any:
        first = weighted(x, constant)
        constant[:] = 5
        second = weighted(x, constant)
        constant[:] = 100
        return first + second

    np.testing.assert_array_equal(bridge.grad(program)(x), np.full(size, 7.0))


def test_views_transposes_and_orders(loss: Any) -> None:
    def program(w: Any) -> Any:
        return loss(w.T, w[:, 0]) + loss(w[:, ::-1], w[0, ::-1]) + loss(np.reshape(w, (9,))[:9:1].reshape(3, 3), w[2])

    check(program, np.random.default_rng(1).normal(size=(3, 3)))
    turned = bridge.julia.function("(w, x) -> sum(abs2, tanh.(transpose(w) * x))", order="reversed")
    check(lambda w: turned(w, w[0]) * w[1, 1], np.random.default_rng(1).normal(size=(3, 3)))
    w = np.random.default_rng(1).normal(size=(3, 3))
    assert turned(w, w[0]) == pytest.approx(loss(w, w[0]))
    np.testing.assert_allclose(bridge.grad(turned)(w, X), bridge.grad(loss)(w, X))
    np.testing.assert_allclose(bridge.vjp(turned, w, X)[1](np.float64(1))[0], bridge.grad(loss)(w, X))


def test_several_outputs_in_containers() -> None:
    function = bridge.julia.function('(x, s) -> (sum(x), (squares=x .^ 2, parts=[(s * x[1])], name="n", count=3))')

    def program(x: Any) -> Any:
        total, more = function(x, x[1])
        assert more["name"] == "n" and more["count"] == 3
        return total * np.sum(more["squares"] * x) + np.sum(more["parts"])

    check(program, X)

    def unused(x: Any) -> Any:
        return np.sum(function(x, 2.0)[1]["squares"])

    check(unused, X)


def test_containers_and_numbers_as_arguments() -> None:
    function = bridge.julia.function("(p; scale=1.0) -> sum(p.w .* p.parts[1]) * p.parts[2] * scale")
    check(lambda x: function({"w": x * 2, "parts": [x**2, x[0]]}, scale=3.0), X)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_dtypes_stay(squares: Any, dtype: str) -> None:
    x = np.arange(1, 4).astype(dtype) * (1 + 2j if dtype.startswith("c") else 1)

    def program(x: Any) -> Any:
        y = squares(x)
        assert y.dtype == np.dtype(dtype)
        return np.sum(np.abs(y * 2) ** 2) if dtype.startswith("c") else np.sum(y * 2)

    gradient = bridge.grad(program)(x)
    assert gradient.dtype == np.dtype(dtype)
    expected = 4 * np.abs(x) ** 2 * x if dtype.startswith("c") else 2 * x
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    if dtype == "complex128":
        v = np.array([1j, 1, 2 - 1j])
        _, derivative = bridge.jvp(program, (x,), (v,))
        assert derivative == pytest.approx(np.sum(np.real(np.conj(expected) * v)))


def test_jacobians_of_programs(squares: Any) -> None:
    def program(x: Any) -> Any:
        return squares(x) * x[0]

    expected = np.diag(X * X[0]) + np.outer(X**2 / 2, [1, 0, 0])
    np.testing.assert_allclose(bridge.jacrev(program)(X), expected)
    np.testing.assert_allclose(bridge.jacfwd(program)(X), expected)

    def total(x: Any) -> Any:
        return np.sum(program(x))

    first = np.array([1.0, 0, 0])
    second = X[0] * np.eye(3) + np.outer(first, X) + np.outer(X, first)
    np.testing.assert_allclose(bridge.hessian(total)(X), second)
    np.testing.assert_allclose(bridge.jacfwd(bridge.grad(total))(X), bridge.hessian(total)(X))


def test_random_draws_are_those_of_the_forward_run() -> None:
    noisy = bridge.julia.function("x -> sum(x .^ 2 .* rand(length(x)))")

    def program(x: Any) -> Any:
        return noisy(x) * 1.0

    for _ in range(3):
        value, gradient = bridge.value_and_grad(program)(X)
        assert value == pytest.approx(gradient @ X / 2)
        value, derivative = bridge.jvp(program, (X,), (X,))
        assert derivative == pytest.approx(2 * value)


def test_a_function_that_changes_between_runs_is_named() -> None:
    bridge.julia.using("Random")
    drawing = bridge.julia.function("let own = Random.Xoshiro(1); x -> sum(x) * rand(own) end")
    assert np.ptp(bridge.grad(lambda x: drawing(x) * 1.0)(X)) == 0
    with pytest.raises(ReplayError, match="gave other values when it was run again"):
        bridge.jvp(lambda x: drawing(x) * 1.0, (X,), (X,))


def test_state_moves_on_once_a_derivative() -> None:
    counting = bridge.julia.function("let n = Ref(0.0); x -> (n[] += 1; sum(x .^ 2) * n[]) end")
    for k, made in enumerate(
        (
            lambda: bridge.grad(lambda x: counting(x) * 1.0)(X) / (2 * X),
            lambda: bridge.jvp(lambda x: counting(x) * 1.0, (X,), (X,))[1] / (2 * X @ X),
            lambda: bridge.jvp(counting, (X,), (X,))[1] / (2 * X @ X),
            lambda: np.diag(bridge.hessian(counting)(X)) / 2,
            lambda: bridge.hvp(counting, (X,), (X,)) / (2 * X),
            lambda: bridge.jacfwd(counting)(X) / (2 * X),
        ),
        start=1,
    ):
        np.testing.assert_allclose(made(), k)


def test_forward_mode_finds_out_a_memo() -> None:
    memo = bridge.julia.function("let kept = Dict{UInt,Any}(); x -> sum(get!(() -> x .^ 2, kept, hash(x)) .* x) end")
    value = memo(X)
    for made in (
        lambda: bridge.jvp(memo, (X,), (X,)),
        lambda: bridge.jacfwd(memo)(X),
        lambda: bridge.hessian(memo)(X),
        lambda: bridge.hvp(memo, (X,), (X,)),
    ):
        with pytest.raises(JuliaError, match=r"writes memory that outlives the call \(the captured kept\)"):
            made()
        assert memo(X) == value and isinstance(memo(X), float)
    other = X + 1
    np.testing.assert_allclose(bridge.jvp(memo, (other,), (other,))[1], 3 * np.sum(other**3))


def test_integers_and_unused_results(squares: Any) -> None:
    def program(x: Any, n: Any) -> Any:
        squares(x)
        return np.sum(squares(x) * squares(n)) + squares(x)[1]

    n = np.array([1, 2, 3])
    np.testing.assert_allclose(bridge.grad(program)(X, n), X * n**2 / 2 + [0, X[1], 0])


def test_the_pullbacks_go_with_the_log(squares: Any) -> None:
    kept = bridge.julia.function("() -> length(MutationBridge.Python.KEPT)")

    def program(x: Any) -> Any:
        for _ in range(10):
            x = squares(x)
        return np.sum(x)

    bridge.grad(program)(X)
    gc.collect()
    kept()
    before = kept()
    for _ in range(5):
        bridge.grad(program)(X)
    gc.collect()
    kept()
    assert kept() <= before


def test_julia_inside_a_checkpoint(squares: Any) -> None:
    def program(x: Any) -> Any:
        return np.sum(bridge.checkpoint(lambda y: squares(squares(y) * y))(x))

    np.testing.assert_allclose(bridge.grad(program)(X), bridge.grad(lambda x: np.sum(squares(squares(x) * x)))(X))


@pytest.mark.parametrize("engine", ["native", "julia", "eager"])
def test_under_every_engine(loss: Any, engine: str) -> None:
    w = np.random.default_rng(0).normal(size=(3, 3))

    def program(w: Any) -> Any:
        return loss(w * 2, w[0]) + np.sum(w)

    np.testing.assert_allclose(bridge.grad(program, engine=engine)(w), bridge.grad(program)(w))
