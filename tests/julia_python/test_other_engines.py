"""Other engines of Julia behind the same callable: right where they differentiate, named errors where they do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, JuliaError, JuliaNotAvailable, ReplayError, RuleError

pytestmark = pytest.mark.julia

# A Julia function that mutates an ordinary array: Zygote refuses it, these engines do not.
SCAN = "(x, a) -> (y = copy(x); for i in 2:length(y) y[i] = tanh(y[i] + a * y[i-1]) end; sum(y))"


def scan(x: Any, a: Any) -> Any:
    for i in range(1, len(x)):
        x[i] = np.tanh(x[i] + a * x[i - 1])
    return np.sum(x)


def engine(name: str, code: str) -> Any:
    try:
        return bridge.julia.function(code, ad=name)
    except JuliaNotAvailable as missing:
        pytest.skip(f"ad={name!r}: {missing.what}")


@pytest.mark.parametrize("ad", ["forwarddiff", "mooncake", "enzyme"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_unmodified_mutating_function(ad: str, dtype: Any) -> None:
    x, a = np.array([0.3, -0.5, 1.1, 0.2], dtype), 0.7
    value, found = bridge.value_and_grad(engine(ad, SCAN), argnums=(0, 1))(x, a)
    expected_value, expected = bridge.value_and_grad(scan, argnums=(0, 1))(x, a)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(value, expected_value, rtol=tolerance)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)
    assert found[0].dtype == dtype


@pytest.mark.parametrize("ad", ["zygote", "forwarddiff", "mooncake", "enzyme"])
def test_inside_a_numpy_program(ad: str) -> None:
    function = engine(ad, "(w, x) -> tanh.(w * x)")
    w, x = np.array([[0.2, -0.4], [1.0, 0.3]]), np.array([0.5, -1.0])

    def program(w: Any) -> Any:
        h = function(w, x)
        h[0] *= 3.0
        return np.sum(h**2)

    def twin(w: Any) -> Any:
        h = np.tanh(w @ x)
        h[0] *= 3.0
        return np.sum(h**2)

    np.testing.assert_allclose(bridge.grad(program)(w), bridge.grad(twin)(w), rtol=1e-12)


def test_zygote_refuses_the_same_function_by_name() -> None:
    with pytest.raises(JuliaError, match=r"mutates a plain Vector.*\n*.*Buffer"):
        bridge.grad(bridge.julia.function(SCAN, ad="zygote"))(np.ones(3), 0.5)


OTHERS = ("forwarddiff", "reversediff", "mooncake", "enzyme")
X = np.array([0.3, -0.5, 1.1])


@pytest.mark.parametrize("ad", OTHERS)
def test_containers_complex_numbers_and_aux(ad: str) -> None:
    nested = engine(ad, '(p, n) -> (y = copy(p.w); y[1] *= p.more[1]; (sum(abs2, y) * n, (y=y, name="aux")))')
    (value, aux), found = bridge.value_and_grad(nested, has_aux=True)({"w": X, "more": (0.5,)}, 2)
    y = X * [0.5, 1, 1]
    assert value == pytest.approx(2 * np.sum(y**2)) and aux["name"] == "aux"
    np.testing.assert_allclose(aux["y"], y)
    np.testing.assert_allclose(found["w"], 4 * y * [0.5, 1, 1])
    assert found["more"][0] == pytest.approx(4 * y[0] * X[0])
    squares = engine(ad, "z -> (y = copy(z); y .*= 2im; sum(abs2, y))")
    z = X + 1j * X[::-1]
    np.testing.assert_allclose(bridge.grad(squares)(z), 8 * z)


@pytest.mark.parametrize("ad", OTHERS)
def test_pulls_of_several_outputs(ad: str) -> None:
    function = engine(ad, "x -> (y = copy(x); y[1] = y[2]^2; (y, (total=sum(x), n=3)))")
    value, pull = bridge.vjp(function, X)
    seed = (np.array([1.0, 0, 2]), {"total": np.float64(3), "n": None})
    for _ in range(2):
        np.testing.assert_allclose(pull(seed)[0], [3, 2 * X[1] + 3, 5])
    assert value[1]["n"] == 3


@pytest.mark.parametrize("ad", OTHERS)
def test_one_draw_and_no_state(ad: str) -> None:
    value, found = bridge.value_and_grad(engine(ad, "x -> (y = copy(x); y .*= rand(3); sum(y))"))(X)
    assert value == pytest.approx(found @ X)
    bridge.julia.using("Random")
    own = engine(ad, "let own = Random.Xoshiro(1); x -> rand(own) * sum(x) end")
    with pytest.raises(ReplayError, match="gave other values when it was run again for its derivative"):
        bridge.grad(own)(X)


@pytest.mark.parametrize("ad", [*OTHERS, "auto"])
def test_state_moves_on_once_a_gradient(ad: str) -> None:
    counting = engine("zygote" if ad == "auto" else ad, "let n = Ref(0.0); x -> (n[] += 1; n[] * sum(x)) end")
    counting = bridge.julia.function(counting, ad=ad)
    for k in range(1, 4):
        np.testing.assert_allclose(bridge.grad(counting)(X), np.full(3, k))
    assert counting(X) == pytest.approx(4 * np.sum(X))


@pytest.mark.parametrize("ad", [*OTHERS, "auto"])
def test_state_moves_on_once_a_pull(ad: str) -> None:
    """Of several outputs: engines may run the function once for each number, or while they prepare."""
    counting = engine("zygote" if ad == "auto" else ad, "let n = Ref(0.0); x -> (n[] += 1; n[] .* x) end")
    counting = bridge.julia.function(counting, ad=ad)
    seed = np.array([1.0, 2.0, 3.0])
    for k in range(1, 4):
        value, pull = bridge.vjp(counting, X)
        np.testing.assert_allclose(value, k * X)
        np.testing.assert_allclose(pull(seed)[0], k * seed)


@pytest.mark.parametrize("ad", OTHERS)
def test_arguments_keep_their_bits_and_writes_are_declared(ad: str) -> None:
    x = X.copy()
    with pytest.raises(RuleError, match=r"writes its array argument number 0.*not declared"):
        bridge.grad(engine(ad, "x -> (x[1] = 5.0; sum(x))"))(x)
    assert np.array_equal(x, X)
    sometimes = engine(ad, "(x, flag) -> (flag && (x[1] = 5.0); sum(x))")
    for flag in (False, False, True):
        large = np.ones(10_000)
        if flag:
            with pytest.raises(RuleError, match="not declared"):
                bridge.grad(sometimes)(large, flag)
        else:
            np.testing.assert_array_equal(bridge.grad(sometimes)(large, flag), large)
        assert np.array_equal(large, np.ones(10_000))


@pytest.mark.parametrize("ad", [*OTHERS, "auto"])
def test_mutates_also_where_the_signature_takes_no_buffer(ad: str) -> None:
    code = "function taken!(u::AbstractVector, a::Real); for i in 2:length(u); u[i] += a * u[i-1]; end; u; end"
    function = engine("zygote" if ad == "auto" else ad, code)
    function = bridge.julia.function(function, mutates="u", ad=ad)
    if ad == "auto" and "Mooncake" not in bridge.julia.status().engines:
        pytest.skip("there is no Mooncake")

    def program(u: Any) -> Any:
        function(u[1:], 0.5)
        return np.sum(u**2)

    u = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(bridge.grad(program)(u), [2.0, 8, 8])
    np.testing.assert_allclose(bridge.hessian(program)(u), [[2, 0, 0], [0, 2.5, 1], [0, 1, 2]])
    assert np.array_equal(u, [1.0, 2, 3])


@pytest.mark.parametrize("ad", [*OTHERS, "auto"])
def test_second_derivatives_of_writing_functions(ad: str) -> None:
    code = "x -> (y = copy(x); for i in 2:3 y[i] *= y[i-1] end; y[3]^2)"
    function = engine(ad, code)
    if ad == "auto" and "Mooncake" not in bridge.julia.status().engines:
        pytest.skip("there is no Mooncake")
    a, b, c = X
    right = 2 * np.array(
        [
            [b * b * c * c, 2 * a * b * c * c, 2 * a * b * b * c],
            [2 * a * b * c * c, a * a * c * c, 2 * a * a * b * c],
            [2 * a * b * b * c, 2 * a * a * b * c, a * a * b * b],
        ]
    )
    np.testing.assert_allclose(bridge.hessian(function)(X), right, rtol=1e-10)
    np.testing.assert_allclose(bridge.hvp(function, (X,), (np.ones(3),)), right @ np.ones(3), rtol=1e-10)
    np.testing.assert_allclose(bridge.hessian(lambda x: function(x * 1.0))(X), right, rtol=1e-10)


def test_a_package_that_is_not_there_is_named() -> None:
    try:
        bridge.julia.function("x -> sum(x)", ad="enzyme")  # the project may have it
    except JuliaNotAvailable as missing:
        assert "Enzyme" in str(missing)
    with pytest.raises(ArgumentError, match=r"use one of 'auto', 'zygote', 'forwarddiff', 'reversediff', 'mooncake'"):
        bridge.julia.function("x -> sum(x)", ad="tapenade")
