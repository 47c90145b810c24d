"""Julia functions from Python: calls, names, files, and every transform of them, against closed forms."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, CotangentError, JuliaError, JuliaNotAvailable, RefusedError

pytestmark = pytest.mark.julia

W = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
X = np.array([0.3, -0.8, 1.2])


@pytest.fixture(scope="module")
def loss() -> Any:
    return bridge.julia.function("(w, x) -> sum(abs2, tanh.(w * x))")


def gradients_of_loss(w: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    y = np.tanh(w @ x)
    inner = 2 * y * (1 - y * y)
    return np.outer(inner, x), w.T @ inner


def test_calls_compute(loss: Any) -> None:
    assert loss(W, X) == pytest.approx(np.sum(np.tanh(W @ X) ** 2))
    assert loss(W, X) == pytest.approx(loss(np.asfortranarray(W), X), rel=1e-14)


def test_keyword_arguments() -> None:
    power = bridge.julia.function("(x; exponent=2, scale=(a=1.0,)) -> sum(x .^ exponent) * scale.a")
    assert power(X) == pytest.approx(np.sum(X**2))
    assert power(X, exponent=3, scale={"a": 2.0}) == pytest.approx(2 * np.sum(X**3))
    np.testing.assert_allclose(bridge.grad(power)(X, exponent=3), 3 * X**2)
    np.testing.assert_allclose(bridge.grad(lambda x: power(x, exponent=3) + x[0])(X), 3 * X**2 + [1, 0, 0])


def test_arguments_that_are_no_arrays() -> None:
    chosen = bridge.julia.function('(x, how, n, flag) -> how == "sum" ? sum(x) * n : flag ? prod(x) : nothing')
    assert chosen(X, "sum", 3, True) == pytest.approx(3 * np.sum(X))
    assert chosen(X, "", 3, False) is None
    np.testing.assert_allclose(bridge.grad(chosen)(X, "sum", 3, True), [3.0, 3, 3])
    found = bridge.grad(lambda x: chosen(x, "sum", 3, True) * x[0])(X)
    np.testing.assert_allclose(found, 3 * np.sum(X) * np.eye(3)[0] + 3 * X[0])


@pytest.mark.parametrize("letter", "?bhilqBHILQefdFD")
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0), (2, 1, 3)])
def test_results_have_the_types_of_their_elements(letter: str, shape: tuple[int, ...]) -> None:
    given = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(letter)
    found = bridge.julia.function("x -> x isa AbstractArray{<:Any,0} ? fill(x[]) : copy(x)")(given)
    assert found.shape == shape and found.dtype == given.dtype
    assert found.dtype.type is np.dtype(found.dtype.name).type, "int64 is numpy.int64, and none of its twins"
    np.testing.assert_array_equal(found, given)


def test_julia_objects_and_functions_as_arguments() -> None:
    mapped = bridge.julia.function("(f, x) -> sum(f.(x))")
    assert mapped(bridge.julia.function("x -> x^2"), X) == pytest.approx(np.sum(X**2))
    np.testing.assert_allclose(bridge.grad(mapped, argnums=1)(bridge.julia.function("sin"), X), np.cos(X))
    assert mapped(lambda x: float(x) + 1, X) == pytest.approx(np.sum(X) + 3)


def test_names_of_packages_and_operators() -> None:
    norm = bridge.julia.function("LinearAlgebra.norm")
    np.testing.assert_allclose(bridge.grad(norm)(X), X / np.linalg.norm(X))
    assert bridge.julia.function("Base.:+")(1, 2) == 3
    assert norm.name == "LinearAlgebra.norm" and repr(norm) == "<Julia function LinearAlgebra.norm>"
    bridge.julia.using("LinearAlgebra")
    assert bridge.julia.eval("tr([1 2; 3 4])") == 5


def test_code_of_several_lines_defines_functions() -> None:
    twice = bridge.julia.function("helper(x) = 2x\nfunction of_helper(x)\n    sum(helper.(x))\nend")
    assert twice(X) == pytest.approx(2 * np.sum(X))
    assert bridge.julia.function("of_helper")(X) == twice(X)


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.jl"
    path.write_text("module Model\ncube(x) = sum(x .^ 3)\nend\nModel.cube\n")
    for cube in (bridge.julia.function(path=path), bridge.julia.include(path), bridge.julia.function("Model.cube")):
        np.testing.assert_allclose(bridge.grad(cube)(X), 3 * X**2)
    assert bridge.julia.function("Model.cube", path=path)(X) == pytest.approx(np.sum(X**3))
    with pytest.raises(FileNotFoundError):
        bridge.julia.include(tmp_path / "none.jl")


def test_eval_gives_values() -> None:
    np.testing.assert_array_equal(bridge.julia.eval("[1.0 2.0; 3.0 4.0]"), [[1.0, 2.0], [3.0, 4.0]])
    assert bridge.julia.eval('(a=1, b="two")') == {"a": 1, "b": "two"}
    assert bridge.julia.eval("nothing") is None
    assert bridge.julia.eval("x -> x + 1")(2) == 3


def test_only_functions_are_functions() -> None:
    with pytest.raises(ArgumentError, match="is no function in Julia: it is a Int64"):
        bridge.julia.function("1 + 1")
    with pytest.raises(ArgumentError, match="ad='magic'"):
        bridge.julia.function("sum", ad="magic")
    with pytest.raises(ArgumentError, match="order='C'"):
        bridge.julia.function("sum", order="C")
    with pytest.raises(ArgumentError, match="function of nothing"):
        bridge.julia.function()
    with pytest.raises(JuliaNotAvailable, match="NoSuchPackage"):
        bridge.julia.using("NoSuchPackage")


def test_pickles_of_code_and_names_are_functions_again(loss: Any) -> None:
    again = pickle.loads(pickle.dumps(loss))
    assert again(W, X) == loss(W, X) and again.name == loss.name
    with pytest.raises(RefusedError, match="pickling of <Julia function"):
        pickle.dumps(bridge.julia.function(loss.julia_value))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0), (1,)])
def test_value_and_grad(loss: Any, argnums: Any, dtype: str) -> None:
    w, x = W.astype(dtype), X.astype(dtype)
    both = gradients_of_loss(W, X)
    for _ in range(2):
        value, gradient = bridge.value_and_grad(loss, argnums=argnums)(w, x)
        assert value == pytest.approx(loss(W, X), rel=1e-6) and value.dtype == np.dtype(dtype)
        expected = both[argnums] if isinstance(argnums, int) else tuple(both[k] for k in argnums)
        for found, right in zip(
            (gradient,) if isinstance(argnums, int) else gradient,
            (expected,) if isinstance(argnums, int) else expected,
            strict=True,
        ):
            assert found.dtype == np.dtype(dtype)
            np.testing.assert_allclose(found, right, rtol=1e-4 if dtype == "float32" else 1e-12)


def test_the_same_answers_as_through_a_numpy_program(loss: Any) -> None:
    def program(w: Any, x: Any) -> Any:
        return loss(w, x)

    tangents = (np.ones_like(W), np.array([1.0, -2.0, 0.5]))
    for transform in (
        lambda f: bridge.value_and_grad(f, argnums=(0, 1))(W, X),
        lambda f: bridge.vjp(f, W, X)[1](np.float64(2.0)),
        lambda f: bridge.jvp(f, (W, X), tangents),
        lambda f: bridge.jacrev(f, 1)(W, X),
        lambda f: bridge.jacfwd(f, 1)(W, X),
        lambda f: bridge.hessian(f, 1)(W, X),
        lambda f: bridge.hvp(f, (W, X), tangents),
    ):
        for direct, around in zip(flat(transform(loss)), flat(transform(program)), strict=True):
            assert direct.shape == around.shape and direct.dtype == around.dtype
            np.testing.assert_allclose(direct, around, rtol=1e-9, atol=1e-12)


def flat(value: Any) -> list[np.ndarray]:
    return [one for part in value for one in flat(part)] if isinstance(value, tuple) else [np.asarray(value)]


def test_second_derivatives_against_closed_forms() -> None:
    cubes = bridge.julia.function("x -> sum(x .^ 3) / 6 + x[1] * x[2]")
    hessian = np.diag(X) + np.array([[0, 1.0, 0], [1, 0, 0], [0, 0, 0]])
    np.testing.assert_allclose(bridge.hessian(cubes)(X), hessian)
    v = np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(bridge.hvp(cubes, (X,), (v,)), hessian @ v)
    np.testing.assert_allclose(bridge.jacfwd(bridge.grad(cubes))(X), hessian)


def test_jacobians_have_the_shapes_of_output_and_input() -> None:
    outer = bridge.julia.function("(x, s) -> s .* x * x'")
    expected = np.einsum("ik,j->ijk", np.eye(3), X) + np.einsum("i,jk->ijk", X, np.eye(3))
    for transform in (bridge.jacfwd, bridge.jacrev):
        np.testing.assert_allclose(transform(outer)(X, 2.0), 2 * expected)
        np.testing.assert_allclose(transform(outer, 1)(X, 2.0), np.outer(X, X))
    assert bridge.jacfwd(outer)(np.zeros(0), 2.0).shape == (0, 0, 0)
    matrix = bridge.julia.function("x -> vec(x .* [1 2; 3 4])")
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose(bridge.jacfwd(matrix)(x), bridge.jacrev(matrix)(x))


def test_vjp_pulls_often_and_owns_its_arguments() -> None:
    squares = bridge.julia.function("(x, n) -> (x .^ 2 .* n, (total=sum(x), n=n))")
    x = X.copy()
    value, pull = bridge.vjp(squares, x, 2)
    np.testing.assert_allclose(value[0], 2 * X**2)
    assert value[1]["n"] == 2
    x[:] = 100
    value[0][:] = 100
    for _ in range(2):
        seed = (np.array([1.0, 0, 2]), {"total": np.float64(3), "n": np.float64(0)})
        by_x, by_n = pull(seed)
        np.testing.assert_allclose(by_x, 4 * X * seed[0] + 3)
        assert by_n is None and np.array_equal(seed[0], [1.0, 0, 2])
        by_x[:] = 0
    with pytest.raises(CotangentError, match="structure"):
        pull(np.ones(3))
    with pytest.raises(CotangentError, match=r"shape \(2,\)"):
        pull((np.ones(2), {"total": 0.0, "n": 0.0}))


def test_aux_and_integers() -> None:
    both = bridge.julia.function('x -> (sum(x .^ 2), (doubled=2x, name="aux"))')
    (value, aux), gradient = bridge.value_and_grad(both, has_aux=True)(X)
    assert value == pytest.approx(np.sum(X**2)) and aux["name"] == "aux"
    np.testing.assert_allclose(aux["doubled"], 2 * X)
    np.testing.assert_allclose(gradient, 2 * X)
    product = bridge.julia.function("(x, n) -> sum(x) * sum(n)")
    for whole in (np.array([1, 2]), 3):
        with pytest.raises(ArgumentError, match="argument 1 has"):
            bridge.grad(product, argnums=(0, 1))(X, whole)
        by_x, by_n = bridge.grad(product, argnums=(0, 1), allow_int=True)(X, whole)
        assert by_n is None
        np.testing.assert_allclose(by_x, np.sum(whole) * np.ones(3))
    with pytest.raises(ArgumentError, match="argnums=2"):
        bridge.grad(product, argnums=2)(X, 1)


def test_numbers_have_numbers_as_gradients() -> None:
    power = bridge.julia.function("(x, y) -> x^2 * y")
    by_x, by_y = bridge.grad(power, argnums=(0, 1))(3.0, np.float32(2))
    assert (by_x, by_y) == (12.0, 9.0) and by_y.dtype == np.float32 and isinstance(by_x, float)
    found = bridge.grad(bridge.julia.function("x -> x[]^2"))(np.array(3.0))
    assert type(found) is np.ndarray and found.shape == () and found == 6


def test_random_functions_draw_once() -> None:
    random = bridge.julia.function("x -> sum(x .* rand(length(x)))")
    value, gradient = bridge.value_and_grad(random)(X)
    assert value == pytest.approx(gradient @ X)
    value, pull = bridge.vjp(random, X)
    assert value == pytest.approx(pull(np.float64(1))[0] @ X)


def test_other_engines_of_julia() -> None:
    forward = bridge.julia.function("x -> sum(abs2, x)", ad="forwarddiff")
    np.testing.assert_allclose(bridge.grad(forward)(X), 2 * X)
    assert repr(forward) == "<Julia function x -> sum(abs2, x), ad='forwarddiff'>"


def test_a_function_defined_anew_is_the_new_one() -> None:
    bridge.julia.eval("renewed(x) = sum(x)")
    renewed = bridge.julia.function("renewed")
    np.testing.assert_allclose(bridge.grad(renewed)(X), np.ones(3))
    bridge.julia.eval("renewed(x) = 2sum(x)")
    np.testing.assert_allclose(bridge.grad(renewed)(X), 2 * np.ones(3))
    assert renewed(X) == pytest.approx(2 * np.sum(X))


def test_a_rule_error_in_julia_names_the_python_line() -> None:
    with pytest.raises(JuliaError) as caught:
        bridge.julia.function("x -> sqrt(x)")(-1.0)
    assert "DomainError" in caught.value.julia_message and __file__ in str(caught.value)


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_a_program_passes_through_a_callback(raised: BaseException) -> None:
    function = bridge.julia.function(
        "(x, f) -> (MutationBridge.ChainRulesCore.ignore_derivatives(() -> f()); sum(abs2, x))"
    )
    x = np.array([1.0, 2.0])

    def ends() -> None:
        raise raised

    def fails() -> None:
        raise ValueError("of the callback")

    for run in (function, bridge.grad(function)):
        with pytest.raises(type(raised)):
            run(x, ends)
        with pytest.raises(JuliaError, match="of the callback") as caught:
            run(x, fails)
        assert isinstance(caught.value.__cause__, ValueError)
    np.testing.assert_array_equal(bridge.grad(function)(x, lambda: None), 2 * x)


@pytest.mark.parametrize("raised", [KeyboardInterrupt(), SystemExit(3)])
def test_what_ends_a_program_passes_through_a_run_beside_the_arguments(raised: BaseException) -> None:
    function = bridge.julia.function(
        "using SparseArrays; "
        "(x, f) -> (MutationBridge.ChainRulesCore.ignore_derivatives(() -> f()); "
        "sum(sparse([1.0 2.0; 3.0 4.0]) .* x))"
    )
    runs = itertools.count()

    def ends_later() -> None:
        if next(runs) > 0:
            raise raised

    with pytest.raises(type(raised)):
        bridge.grad(function)(np.array([0.0, 2.0]), ends_later)
