"""Julia functions that write their arguments: on arrays in place, in programs as logged writes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, ArgumentError, JuliaError, RuleError
from tests.helpers import finite_differences

pytestmark = pytest.mark.julia

X = np.array([0.3, -0.8, 1.2])


@pytest.fixture(scope="module")
def scale() -> Any:
    bridge.julia.eval("function squares!(u, c); for i in eachindex(u); u[i] = u[i]^2 * c; end; return nothing; end")
    return bridge.julia.function("squares!", mutates="u")


@pytest.fixture(scope="module")
def step() -> Any:
    bridge.julia.eval("function step!(du, u, p); du .= p .* u .+ du; return du; end")
    return bridge.julia.function("step!", mutates=(0,))


def check(program: Any, *inputs: np.ndarray) -> None:
    argnums = tuple(range(len(inputs)))
    gradients = bridge.grad(program, argnums)(*inputs)
    for found, expected in zip(gradients, finite_differences.gradient(program, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
    tangents = finite_differences.random_tangents(inputs)
    _, derivative = bridge.jvp(program, inputs, tangents)
    assert derivative == pytest.approx(finite_differences.inner(gradients, tangents), rel=1e-9)
    products = bridge.hvp(program, inputs, tangents)
    h = 1e-5
    ahead = bridge.grad(program, argnums)(*(x + h * t for x, t in zip(inputs, tangents, strict=True)))
    behind = bridge.grad(program, argnums)(*(x - h * t for x, t in zip(inputs, tangents, strict=True)))
    for found, a, b in zip(products if isinstance(products, tuple) else (products,), ahead, behind, strict=True):
        np.testing.assert_allclose(found, (a - b) / (2 * h), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("size", [3, 100_000])
def test_plain_arrays_are_written_in_place(scale: Any, size: int) -> None:
    for layout in ("C", "F", "strided", "byte-swapped"):
        x = np.linspace(1, 2, size)
        if layout == "strided":
            x = np.repeat(x, 2)[::2]
        if layout == "byte-swapped":
            x = x.astype(">f8")
        expected = 2 * x**2
        for _ in range(2):
            given = x.copy() if layout != "strided" else np.repeat(x, 2)[::2]
            assert scale(given, 2.0) is None
            np.testing.assert_allclose(given, expected)
    matrix = np.arange(6.0).reshape(2, 3)
    bridge.julia.function("m -> (m[1, 3] = 50.0; m)", mutates=0)(matrix)
    assert matrix[0, 2] == 50


def test_an_array_of_numpys_is_not_resized() -> None:
    for code in ("push!(u, 1.0)", "pop!(u)", "append!(u, u)", "(push!(u, 1.0); u[1] = 5; pop!(u))"):
        resize = bridge.julia.function(f"u -> (u[2] = 7; {code}; nothing)", mutates=0)
        u = np.linspace(1, 2, 3000)
        with pytest.raises((JuliaError, RuleError), match="resize"):
            resize(u)
        np.testing.assert_array_equal(u, np.linspace(1, 2, 3000))


@pytest.mark.parametrize("size", [0, 1, 5])
@pytest.mark.parametrize("code", ["push!(u, 1.0)", "append!(u, [1.0, 2.0])", "resize!(u, 9)"])
def test_an_array_that_grows_is_written(code: str, size: int) -> None:
    grow = bridge.julia.function(f"u -> ({code}; sum(u))")
    with pytest.raises(RuleError, match="argument number 0"):
        grow(np.ones(size))


def test_what_is_returned_is_the_argument(step: Any) -> None:
    du, u = np.ones(3), np.full(3, 2.0)
    assert step(du, u, 3.0) is du and np.array_equal(du, np.full(3, 7.0)) and np.array_equal(u, np.full(3, 2.0))


def test_written_buffers(scale: Any) -> None:
    def program(x: Any) -> Any:
        u = x * 1.0
        scale(u, 2.0)
        s = np.sum(u * x)
        scale(u[1:], 3.0)
        u[0] *= x[2]
        return s + np.sum(u)

    check(program, X)


def test_an_argument_of_the_program_may_be_written(scale: Any) -> None:
    def program(x: Any, y: Any) -> Any:
        before = np.sum(x * y)
        scale(x, 2.0)
        return before + np.sum(x * y)

    x, y = X.copy(), np.array([1.0, 2.0, 3.0])
    by_x, by_y = bridge.grad(program, (0, 1))(x, y)
    np.testing.assert_allclose(by_x, y + 4 * X * y)
    np.testing.assert_allclose(by_y, X + 2 * X**2)
    np.testing.assert_array_equal(x, X)


def test_steps_of_a_solver_and_results(step: Any) -> None:
    def program(u: Any, p: Any) -> Any:
        du = np.zeros_like(u)
        for _ in range(4):
            back = step(du, u, p[0])
            assert back is du
            u += 0.1 * du
            du *= 0.5
        return np.sum(u**2) + p[1] * du[0]

    check(program, X, np.array([0.7, 1.1]))


def test_numbers_returned_beside_the_write() -> None:
    norm = bridge.julia.function("normalise!(u) = (n = sqrt(sum(abs2, copy(u))); u .= copy(u) ./ n; n)", mutates="u")

    def program(x: Any) -> Any:
        u = x * 2.0
        length = norm(u)
        return length * u[0] + u[1]

    bridge.julia.eval("normalise!(u::Array) = (n = sqrt(sum(abs2, u)); u ./= n; n)")
    u = X * 2
    assert norm(u) == pytest.approx(np.linalg.norm(2 * X)) and np.linalg.norm(u) == pytest.approx(1)
    gradient = bridge.grad(program)(X)
    length = np.linalg.norm(X)
    expected = np.array([2.0, 0, 0]) + (np.array([0, 1, 0]) - X[1] * X / length**2) / length
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)


def test_a_rule_in_julia_is_used() -> None:
    bridge.julia.eval(
        """
        module Ruled
        using MutationBridge
        calls = Ref(0)
        function double!(u::Array{Float64})
            for k in eachindex(u)
                unsafe_store!(pointer(u), 2 * u[k], k)
            end
            return u
        end
        @mutating_rule double!(u) writes(u) pull(ct, u) = (calls[] += 1; 2 .* ct)
        end
        """
    )
    double = bridge.julia.function("Ruled.double!", mutates="u")

    def program(x: Any) -> Any:
        u = x * x
        double(u)
        return np.sum(u * x)

    np.testing.assert_allclose(bridge.grad(program)(X), 6 * X**2)
    assert bridge.julia.eval("Ruled.calls[]") == 1


def test_without_a_rule_or_a_method_for_buffers_the_error_shows_how_to_write_one() -> None:
    strict = bridge.julia.function("strict!(u::Vector{Float64}) = (u .*= 2; u)", mutates="u", ad="zygote")
    u = X.copy()
    strict(u)
    np.testing.assert_array_equal(u, 2 * X)

    def program(x: Any) -> Any:
        u = x * 1.0
        strict(u)
        return np.sum(u)

    with pytest.raises(RuleError, match=r"no mutating rule in Julia[\s\S]*@mutating_rule"):
        bridge.grad(program)(X)


def test_wrong_declarations_are_named(scale: Any, step: Any) -> None:
    with pytest.raises(ArgumentError, match=r"mutates='w', and the parameters of squares! are \(u, c\)"):
        bridge.julia.function("squares!", mutates="w")
    read_only = X.copy()
    read_only.flags.writeable = False
    with pytest.raises(ArgumentError, match="writes its argument 0, which is read-only"):
        scale(read_only, 2.0)
    with pytest.raises(ArgumentError, match="writes its argument 0, which is a float"):
        scale(1.0, 2.0)
    x = X.copy()
    with pytest.raises(AliasError, match="writes its argument 0, which shares memory with another argument"):
        step(x, x, 2.0)
    with pytest.raises(AliasError, match="shares memory"):
        bridge.grad(lambda x: np.sum(step(x, x[:], 2.0)))(X)
    with pytest.raises(RuleError, match="writes its argument 0, which is not tracked here"):
        bridge.grad(lambda x: np.sum(x) + np.sum(step(np.zeros(3), x, 2.0)), source=False)(X)


def in_scratch(x: Any, step: Any) -> Any:
    stages, u = np.zeros((2, 3)), np.array([0.1, 0.2, 0.3])
    for _ in range(3):
        stages[:] = 0.5
        step(stages[0], u, x[0])
        step(stages[1], u + 0.5 * stages[0], x)
        u += 0.1 * (stages[0] + stages[1])
    return np.sum(u**2) + np.sum(stages[1] * x)


def into_what_a_function_made(x: Any, step: Any) -> Any:
    made = np.ones(6)[::2]
    assert step(made, x, 2.0) is made or np.shares_memory(step(made, x, 1.0), made)
    return np.sum(made**2 * x)


def of_an_object(x: Any, step: Any) -> Any:
    class Model:
        def __init__(self) -> None:
            self.rate = np.full(3, 0.25)

        def run(self, u: Any) -> Any:
            step(self.rate, u, 0.5)
            return self.rate

    model = Model()
    model.run(x)
    return np.sum(model.run(x * x) ** 2)


@pytest.mark.parametrize("program", [in_scratch, into_what_a_function_made, of_an_object])
def test_plain_arrays_of_a_program_that_is_read_are_written_too(program: Any, step: Any) -> None:
    check(lambda x: program(x, step), X)


def test_arrays_that_are_lent_are_put_back_after_an_error(step: Any) -> None:
    kept = np.ones(3)

    def program(x: Any) -> Any:
        step(kept, x, 2.0)
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        bridge.grad(program)(X)
    np.testing.assert_array_equal(kept, np.ones(3))


@pytest.mark.parametrize("size", [3, 100_000])
def test_undeclared_writes_are_found(size: int) -> None:
    both = bridge.julia.function("both!(u, v) = (u .= 1; v[1] = 7; nothing)", mutates="u")
    u, v = np.zeros(size), np.zeros(size)
    with pytest.raises(RuleError, match="writes its array argument number 1"):
        both(u, v)
    assert not v.any()
