"""jax#3702: what the gradient of a random function is, and who says so.

https://github.com/jax-ml/jax/issues/3702; the three readings are in docs/random.md.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge import random
from bridge.errors import BridgeError, EscapeError
from tests.reported.agreement import ENGINES, assert_agreement, needed

KEY = random.key(42)
X = np.array([10.0, 0.5])


def scaled(x: Any) -> Any:
    """The report's first program: a number times a draw."""
    return np.sum(x * random.uniform(KEY))


def bounds(x: Any) -> Any:
    """The draw itself depends on the argument: its bounds do."""
    return np.sum(random.uniform(KEY, (6,), minval=x[1], maxval=x[0]) ** 2)


def located_and_scaled(x: Any) -> Any:
    first, second = random.split(KEY)
    return np.mean(np.tanh(x[1] + x[0] * random.normal(first, (5,)))) + x[1] * random.exponential(second)


def below_a_threshold(x: Any) -> Any:
    """The report's second kind: the draw decides, so that only the expectation depends on the argument."""
    return np.sum(random.bernoulli(KEY, x[1], (4,)))


@pytest.mark.ci
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("program", [scaled, bounds, located_and_scaled], ids=lambda f: f.__name__)
def test_with_its_key_a_random_function_is_a_function(program: Any, engine: str) -> None:
    needed(engine)
    assert_agreement(program, X, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_decision_drawn_with_a_tracked_parameter_is_an_error_and_not_zero(engine: str) -> None:
    needed(engine)
    with pytest.raises(BridgeError, match=r"test_gradients_of_random_functions\.py:\d+") as caught:
        bridge.grad(below_a_threshold, engine=engine)(X)
    assert "frozen" in str(caught.value)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_frozen_draw_is_data(engine: str) -> None:
    needed(engine)

    def program(x: Any) -> Any:
        chosen = random.bernoulli(KEY, x[1], (4,), gradient="frozen")
        noise = random.uniform(KEY, (4,), maxval=x[0], gradient="frozen")
        return np.sum(np.where(chosen, noise, 1.0) * x[1])

    data = program(X) / X[1]
    np.testing.assert_allclose(bridge.grad(program, engine=engine)(X), [0.0, data], rtol=1e-12)


@pytest.mark.parametrize("engine", ENGINES)
def test_error_refuses_every_tracked_parameter(engine: str) -> None:
    needed(engine)
    with pytest.raises(BridgeError):
        bridge.grad(lambda x: np.sum(random.uniform(KEY, (2,), maxval=x[0], gradient="error")), engine=engine)(X)


def test_the_expectation_has_another_gradient_and_two_estimates_of_it() -> None:
    """E[(x + sigma z)**2] = x**2 + sigma**2: pathwise and score-function estimates agree with its slope, 2x."""
    x, sigma, draws = 0.7, 0.3, 20_000
    z = random.normal(KEY, (draws,))

    def mean(v: Any) -> Any:
        return np.mean((v + sigma * z) ** 2)

    sample = x + sigma * z

    def score(v: Any) -> Any:
        return np.mean(sample**2 * (-((sample - v) ** 2) / (2 * sigma**2)))

    error = 5 / np.sqrt(draws)
    assert bridge.grad(mean)(x) == pytest.approx(2 * x, abs=error)
    assert bridge.grad(score)(x) == pytest.approx(2 * x, abs=4 * error)


def test_the_hidden_state_of_a_generator_is_no_place_for_a_tracked_value() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(EscapeError):
        bridge.grad(lambda x: np.sum(rng.normal(x)))(X)


def test_the_same_numbers_as_jax() -> None:
    jax = pytest.importorskip("jax")
    key = jax.random.PRNGKey(42)
    value, slope = jax.value_and_grad(lambda x: x * jax.random.uniform(key, dtype="float32"))(np.float32(10.0))
    found, gradient = bridge.value_and_grad(lambda x: x * random.uniform(KEY, dtype=np.float32))(np.float32(10.0))
    assert (np.float32(found), np.float32(gradient)) == (np.float32(value), np.float32(slope))
    assert jax.grad(lambda p: jax.random.bernoulli(key, p, (4,)).sum().astype("float32"))(0.5) == 0.0
