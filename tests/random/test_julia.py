"""Random numbers in Julia: those of bridge.random for the same key, also inside of mixed programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge import random
from bridge.errors import JuliaError
from tests.random.test_random import reparameterised

pytestmark = pytest.mark.julia

KEY = random.key(7)
PARAMETERS = np.array([[0.3, 1.2, 2.0], [0.05, 40.0, 700.0]])


def in_julia(code: str) -> Any:
    return bridge.julia.function(f"x -> begin KR = MutationBridge.KeyedRandom; k = KR.key(7); {code} end")


@pytest.mark.parametrize(
    ("code", "ours"),
    [
        ("Int.(KR.bits(k, (3, 4)))", random.bits(KEY, (3, 4)).astype(np.int64)),
        ("KR.uniform(k, (2, 3, 4))", random.uniform(KEY, (2, 3, 4))),
        ("KR.uniform(k, (99,); T = Float32)", random.uniform(KEY, (99,), np.float32)),
        ("KR.uniform(KR.split(k, 3)[2], (9,))", random.uniform(random.split(KEY, 3)[1], (9,))),
        ("KR.uniform(KR.fold_in(k, 5), (9,))", random.uniform(random.fold_in(KEY, 5), (9,))),
        ("KR.permutation(k, 500)", random.permutation(KEY, 500) + 1),
        ("KR.categorical(k, log.(x))", random.categorical(KEY, np.log(PARAMETERS)) + 1),
        ("KR.categorical(k, log.(x); dims = 1)", random.categorical(KEY, np.log(PARAMETERS), 0) + 1),
        ("Float64.(KR.bernoulli(k, x ./ 1000))", random.bernoulli(KEY, PARAMETERS / 1000).astype(float)),
    ],
)
def test_the_same_bits(code: str, ours: np.ndarray) -> None:
    found = in_julia(code)(PARAMETERS)
    assert found.dtype == ours.dtype
    np.testing.assert_array_equal(found, ours)


@pytest.mark.parametrize("name", ["normal", "exponential", "gumbel"])
@pytest.mark.parametrize(("kind", "tolerance"), [("Float32", 5e-7), ("Float64", 1e-13)])
def test_the_same_floats_to_rounding(name: str, kind: str, tolerance: float) -> None:
    found = in_julia(f"KR.{name}(k, (20, 500); T = {kind})")(PARAMETERS)
    expected = getattr(random, name)(KEY, (20, 500), kind.lower())
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 2e-5), (np.float64, 1e-11)])
def test_gamma_numbers_and_their_gradients(dtype: Any, tolerance: float) -> None:
    x = PARAMETERS.astype(dtype)
    np.testing.assert_allclose(in_julia("KR.gamma(k, x)")(x), random.gamma(KEY, x), rtol=tolerance)
    gradient = bridge.grad(in_julia("sum(sin, KR.gamma(k, x))"))(x)
    expected = bridge.grad(lambda x: np.sum(np.sin(random.gamma(KEY, x))))(x)
    assert gradient.dtype == dtype
    np.testing.assert_allclose(gradient, expected, rtol=100 * tolerance, atol=100 * tolerance)


def test_second_derivatives_of_gamma() -> None:
    x = PARAMETERS[0]
    found = bridge.hessian(in_julia("sum(sin, KR.gamma(k, x))"))(x)
    expected = bridge.hessian(lambda x: np.sum(np.sin(random.gamma(KEY, x))))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)


def test_julia_draws_inside_of_a_numpy_program() -> None:
    noisy = in_julia("x .* KR.normal(k, (3,)) .+ KR.uniform(k, (3,); maxval = x)")

    def mixed(x: Any) -> Any:
        y = x.copy()
        y[:] *= noisy(x)
        return np.sum(y * y)

    def plain(x: Any) -> Any:
        y = x * (x * random.normal(KEY, (3,)) + random.uniform(KEY, (3,), maxval=x))
        return np.sum(y * y)

    x = PARAMETERS[0]
    np.testing.assert_allclose(bridge.grad(mixed)(x), bridge.grad(plain)(x), rtol=1e-12)


def test_a_discrete_draw_under_differentiation_is_an_error() -> None:
    with pytest.raises(JuliaError, match="RandomGradientError"):
        bridge.grad(in_julia("sum(KR.bernoulli(k, x ./ 1000) .* x)"))(PARAMETERS)
    frozen = in_julia("sum(KR.bernoulli(k, x ./ 1000; gradient = :frozen) .* x)")
    np.testing.assert_array_equal(bridge.grad(frozen)(PARAMETERS), random.bernoulli(KEY, PARAMETERS / 1000))


def test_julia_pulls_for_programs_that_draw() -> None:
    x = np.array([0.3, 1.2, 2.0])
    found = bridge.grad(reparameterised, engine="julia")(x)
    np.testing.assert_allclose(found, bridge.grad(reparameterised, engine="native")(x), rtol=1e-12)


def test_the_engine_of_julia_has_no_rule_for_gamma_numbers_and_says_so() -> None:
    with pytest.raises(bridge.errors.NoRuleError, match="gamma_moved"):
        bridge.grad(lambda x: np.sum(random.gamma(KEY, x)), engine="julia")(np.array([0.3, 1.2]))
