"""Models of Flux.jl: gradients by structs and by weights in a vector, against Zygote alone and finite differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import JuliaError

pytestmark = pytest.mark.julia

REFERENCE = """
module OfFlux
using Flux, Random, Zygote
function by_zygote(loss, model, x)
    weights, rebuild = Flux.destructure(model)
    Random.seed!(1)
    return Zygote.gradient(w -> loss(rebuild(w), x), weights)[1]
end
function by_differences(loss, model, x)
    weights, rebuild = Flux.destructure(model)
    at(k, step) = (w = copy(weights); w[k] += step; Random.seed!(1); loss(rebuild(w), x))
    return [(at(k, 1e-5) - at(k, -1e-5)) / 2e-5 for k in eachindex(weights)]
end
struct Tied{W}
    W::W
end
Flux.@layer Tied
(m::Tied)(x) = m.W' * tanh.(m.W * x)
end
"""
NOT_TRAINED = {"μ", "σ²", "ϵ", "momentum", "p"}
"""Fields with floats that Flux does not train."""

SIGNALS = np.random.default_rng(0).normal(size=(2, 5))
IMAGES = np.random.default_rng(1).normal(size=(6, 6, 1, 2))
SQUARES = "(m, x) -> sum(abs2, m(x))"
MODELS: dict[str, tuple[str, str, np.ndarray]] = {
    "Dense": ("Chain(Dense(2 => 3, tanh), Dense(3 => 1))", SQUARES, SIGNALS),
    "BatchNorm": ("trainmode!(Chain(Dense(2 => 3), BatchNorm(3), Dense(3 => 1)))", SQUARES, SIGNALS),
    "Dropout": ("trainmode!(Chain(Dense(2 => 3), Dropout(0.5), Dense(3 => 1)))", SQUARES, SIGNALS),
    "LayerNorm": ("Chain(Dense(2 => 3), LayerNorm(3), Dense(3 => 1))", SQUARES, SIGNALS),
    "LSTM": ("Chain(LSTM(2 => 3), Dense(3 => 1))", SQUARES, SIGNALS),
    "a loop over a GRU's cell, which writes": (
        "GRUCell(2 => 3)",
        "using MutationBridge: Buffer; function (cell, x) h, out = zeros(3), Buffer(zeros(3, size(x, 2))); "
        "for t in axes(x, 2); h = last(cell(x[:, t], h)); out[:, t] = h; end; sum(abs2, copy(out)) end",
        SIGNALS,
    ),
    "Conv": ("Chain(Conv((3, 3), 1 => 2, tanh), MaxPool((2, 2)), Flux.flatten, Dense(8 => 1))", SQUARES, IMAGES),
    "Embedding": ("Chain(Embedding(5 => 3), Dense(3 => 1))", SQUARES, np.array([1, 2, 2, 5])),
    "one-hot": (
        "Dense(2 => 3)",
        "(m, x) -> Flux.logitcrossentropy(m(x), Flux.onehotbatch([1, 2, 3, 1, 2], 1:3))",
        SIGNALS,
    ),
    "one array, used twice": ("OfFlux.Tied(randn(3, 2))", "(m, x) -> sum(abs2, m(x) - x)", SIGNALS),
    "weight decay": (
        "Chain(Dense(2 => 3), Dense(3 => 1))",
        "(m, x) -> sum(abs2, m(x)) + sum(p -> sum(abs2, p), Flux.trainables(m)) / 10",
        SIGNALS,
    ),
}


@pytest.fixture(scope="module", autouse=True)
def flux() -> None:
    from bridge.julia.session import session

    if not session().has("Flux"):
        pytest.skip("Flux is not in the Julia project")
    bridge.julia.using("Flux", "Random", "Zygote")
    own(REFERENCE)


def own(code: str) -> Any:
    """A Julia value that stays one."""
    import juliacall

    return juliacall.Main.seval(code)


def model_of(code: str) -> Any:
    return own(f"Random.seed!(2); Flux.f64({code})")


def trained(gradient: Any) -> np.ndarray:
    """The gradient of what Flux trains, as `destructure` orders it."""
    if isinstance(gradient, dict):
        parts = [trained(part) for name, part in gradient.items() if name not in NOT_TRAINED]
    elif isinstance(gradient, tuple):
        parts = [trained(part) for part in gradient]
    else:
        return np.empty(0) if gradient is None else np.ravel(gradient, order="F")
    return np.concatenate([np.empty(0), *parts])


@pytest.mark.parametrize("name", MODELS)
def test_gradients_by_models(name: str) -> None:
    code, loss, x = MODELS[name]
    f, model = bridge.julia.function(loss), model_of(code)
    by_zygote, by_differences = (
        np.asarray(bridge.julia.function(f"OfFlux.{way}")(f.julia_value, model_of(code), x))
        for way in ("by_zygote", "by_differences")
    )
    own("Random.seed!(1)")
    found = trained(bridge.grad(f)(model, x))
    np.testing.assert_allclose(found, by_zygote, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found, by_differences, rtol=1e-5, atol=1e-7)


def test_weights_in_a_vector_are_tracked_in_a_numpy_program() -> None:
    weights, rebuild = bridge.julia.eval(
        "Random.seed!(2); Flux.destructure(Flux.f64(Chain(Dense(2 => 3, tanh), Dense(3 => 2))))"
    )
    network = bridge.julia.function("(rebuild, weights, x) -> rebuild(weights)(x)")

    def program(weights: Any) -> Any:
        state = SIGNALS.copy()
        for _ in range(3):
            state += network(rebuild, weights, state) / 3
        return np.sum(state**2)

    by_differences = [
        (program(weights + step) - program(weights - step)) / 2e-5 for step in 1e-5 * np.eye(len(weights))
    ]
    np.testing.assert_allclose(bridge.grad(program)(weights), by_differences, rtol=1e-6, atol=1e-7)


def test_running_means_move_once_a_gradient() -> None:
    code, loss, x = MODELS["BatchNorm"]
    f, means = bridge.julia.function(loss), bridge.julia.function("m -> copy(m.layers[2].μ)")
    alone, model = model_of(code), model_of(code)
    bridge.julia.function("(f, m, x) -> (Zygote.gradient(m -> f(m, x), m); nothing)")(f.julia_value, alone, x)
    bridge.grad(f)(model, x)
    assert np.any(means(model))
    np.testing.assert_array_equal(means(model), means(alone))


def test_a_layer_in_two_places_has_a_gradient_in_each() -> None:
    f = bridge.julia.function(SQUARES)
    twice = own("Random.seed!(2); let layer = Flux.f64(Dense(2 => 2, tanh)); Chain(layer, layer) end")
    first, second = bridge.grad(f)(twice, SIGNALS)["layers"]
    tied = bridge.julia.function("OfFlux.by_differences")(f.julia_value, twice, SIGNALS)
    np.testing.assert_allclose(trained(first) + trained(second), tied, rtol=1e-6, atol=1e-7)


def test_gather_into_an_array_that_is_there_is_refused() -> None:
    f = bridge.julia.function("x -> sum(abs2, Flux.NNlib.gather!(zeros(2, 2), x, [1, 1]))", ad="zygote")
    with pytest.raises(JuliaError, match="gather! has a rule of ChainRules, which cannot tell"):
        bridge.grad(f)(SIGNALS)
