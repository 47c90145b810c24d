"""bridge.random against jax.random, in NumPy and compiled; gradients of the engines that use JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import random
from tests.random.test_random import DISCRETE, FROZEN, reparameterised

jax = pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

# What the rule book's tests prove, once more under another engine: .ci/run has it.
pytestmark = pytest.mark.ci

KEY, THEIRS = random.key(7), jax.random.key(7)
ENGINES = pytest.mark.parametrize("engine", ["jax", "xla"])
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
RNG = np.random.default_rng(0)
LOGITS = RNG.normal(size=(3, 4, 5))


@pytest.fixture(autouse=True)
def wide_integers() -> Iterator[None]:
    """JAX with 64 bits, as bridge computes."""
    from bridge.xla.lowering.lower import x64

    with x64():
        yield


def words(key: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(key))


Pair = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]

EXACT: list[Pair] = [
    ("split", lambda k: random.split(k, 3), lambda k: words(jax.random.split(k, 3))),
    ("split into two axes", lambda k: random.split(k, (2, 3)), lambda k: words(jax.random.split(k, (2, 3)))),
    ("fold in", lambda k: random.fold_in(k, 2**32 - 5), lambda k: words(jax.random.fold_in(k, 2**32 - 5))),
    ("uint8", lambda k: random.bits(k, (3, 5), "u1"), lambda k: jax.random.bits(k, (3, 5), "u1")),
    ("uint16", lambda k: random.bits(k, (3, 5), "u2"), lambda k: jax.random.bits(k, (3, 5), "u2")),
    ("uint32", lambda k: random.bits(k, (3, 5)), lambda k: jax.random.bits(k, (3, 5), "u4")),
    ("uint64", lambda k: random.bits(k, (3, 5), "u8"), lambda k: jax.random.bits(k, (3, 5), "u8")),
    ("single", lambda k: random.uniform(k, (999,), "f"), lambda k: jax.random.uniform(k, (999,), "f")),
    ("double", lambda k: random.uniform(k, (999,)), lambda k: jax.random.uniform(k, (999,), float)),
    ("one uniform", random.uniform, lambda k: jax.random.uniform(k, dtype=float)),
    ("bernoulli", lambda k: random.bernoulli(k, 0.3, (99,)), lambda k: jax.random.bernoulli(k, 0.3, (99,))),
    ("categorical", lambda k: random.categorical(k, LOGITS), lambda k: jax.random.categorical(k, LOGITS)),
    (
        "categorical of an axis, several",
        lambda k: random.categorical(k, LOGITS, 1, (7, 3, 5)),
        lambda k: jax.random.categorical(k, LOGITS, 1, (7, 3, 5)),
    ),
    ("permutation", lambda k: random.permutation(k, 5000), lambda k: jax.random.permutation(k, 5000)),
    ("permuted", lambda k: random.permutation(k, LOGITS, 2), lambda k: jax.random.permutation(k, LOGITS, 2)),
    (
        "permuted independently",
        lambda k: random.permutation(k, LOGITS, 1, True),
        lambda k: jax.random.permutation(k, LOGITS, 1, True),
    ),
]
NAMED = pytest.mark.parametrize(("ours", "theirs"), [pair[1:] for pair in EXACT], ids=[pair[0] for pair in EXACT])


@pytest.mark.ci
@NAMED
def test_the_same_bits(ours: Callable[[Any], Any], theirs: Callable[[Any], Any]) -> None:
    found, expected = ours(KEY), np.asarray(theirs(THEIRS))
    assert np.shape(found) == expected.shape
    assert np.asarray(found).tobytes() == expected.tobytes()


@pytest.mark.ci
@NAMED
def test_the_same_bits_compiled_with_a_traced_key(ours: Callable[[Any], Any], theirs: Callable[[Any], Any]) -> None:
    assert np.asarray(bridge.xla(ours)(KEY)).tobytes() == np.asarray(theirs(THEIRS)).tobytes()


@pytest.mark.parametrize("seed", [0, 1, 2**31, 2**32 - 1, 2**40 + 5, -3])
def test_keys_are_those_of_jax(seed: int) -> None:
    np.testing.assert_array_equal(random.key(seed), words(jax.random.key(seed)))
    np.testing.assert_array_equal(bridge.xla(lambda s: random.key(s[0]))(np.array([seed])), random.key(seed))


def test_settings_of_jax_do_not_matter() -> None:
    program = bridge.xla(lambda key: random.normal(random.fold_in(key, 3), (5,)))
    with jax.threefry_partitionable(False), jax.default_prng_impl("rbg"):
        found = program(KEY)
    np.testing.assert_allclose(found, random.normal(random.fold_in(KEY, 3), (5,)), rtol=1e-13)


def test_typed_keys_are_taken() -> None:
    np.testing.assert_array_equal(random.normal(THEIRS, (3,)), random.normal(KEY, (3,)))
    with pytest.raises(bridge.errors.ArgumentError, match="threefry2x32"):
        random.normal(jax.random.key(0, impl="rbg"))


@pytest.mark.ci
@BOTH
@pytest.mark.parametrize("name", ["normal", "exponential", "gumbel"])
def test_floats_are_those_of_jax_to_rounding(name: str, dtype: Any) -> None:
    """The stated tolerance: 4 units of the last place of float32, 1e-13 of float64, of the number or of 1."""
    expected = np.asarray(getattr(jax.random, name)(THEIRS, (100_000,), dtype))
    found = getattr(random, name)(KEY, (100_000,), dtype)
    tolerance = 5e-7 if dtype == np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    compiled = bridge.xla(lambda key: getattr(random, name)(key, (100_000,), dtype))(KEY)
    np.testing.assert_array_equal(compiled, expected)


@BOTH
def test_scaled_uniform_numbers(dtype: Any) -> None:
    low, high = np.linspace(-3, 1, 1000).astype(dtype), np.linspace(-2, 4, 1000).astype(dtype)
    found = random.uniform(KEY, (50, 1000), None, low, high)
    expected = np.asarray(jax.random.uniform(THEIRS, (50, 1000), dtype, low, high))
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * np.finfo(dtype).eps)
    assert found.dtype == dtype


@pytest.mark.ci
@BOTH
def test_gamma_numbers_are_those_of_jax(dtype: Any) -> None:
    a = RNG.gamma(0.5, 3.0, 3000).astype(dtype) + dtype(0.01)
    expected = np.asarray(jax.random.gamma(THEIRS, a, dtype=dtype))
    tolerance = 2e-4 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(random.gamma(KEY, a), expected, rtol=tolerance, atol=np.finfo(dtype).tiny)
    np.testing.assert_allclose(bridge.xla(random.gamma)(KEY, a), expected, rtol=1e-6, atol=np.finfo(dtype).tiny)


@pytest.mark.ci
def test_gamma_gradient_is_that_of_jax() -> None:
    a = RNG.gamma(0.5, 3.0, 300) + 0.01
    expected = jax.grad(lambda a: jax.random.gamma(THEIRS, a).sum())(a)
    np.testing.assert_allclose(bridge.grad(lambda a: np.sum(random.gamma(KEY, a)))(a), expected, rtol=1e-11)


def gammas(x: Any) -> Any:
    return np.sum(np.sin(random.gamma(KEY, x, (4, 3)) * np.arange(1, 4.0)))


@pytest.mark.ci
@ENGINES
@pytest.mark.parametrize("f", [reparameterised, gammas])
def test_gradients_are_those_of_the_rule_book(f: Callable[[Any], Any], engine: str) -> None:
    x = np.array([0.3, 1.2, 2.0])
    value, gradient = bridge.value_and_grad(f, engine="native")(x)
    found = bridge.value_and_grad(f, engine=engine)(x)
    assert found[0] == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(found[1], gradient, rtol=1e-11)
    slope = bridge.jvp(f, (x,), (np.arange(3.0),), engine=engine)[1]
    assert slope == pytest.approx(np.sum(gradient * np.arange(3.0)), rel=1e-11)


@pytest.mark.ci
@ENGINES
def test_second_derivatives_of_gamma(engine: str) -> None:
    x = np.array([0.3, 1.2, 2.0])
    expected = bridge.hvp(gammas, (x,), (np.ones(3),), engine="native")
    np.testing.assert_allclose(bridge.hvp(gammas, (x,), (np.ones(3),), engine=engine), expected, rtol=1e-10)


@ENGINES
@pytest.mark.parametrize("f", FROZEN)
def test_frozen_draws(f: Callable[[Any], Any], engine: str) -> None:
    x = np.array([0.3, 1.2, 2.0])
    np.testing.assert_allclose(bridge.grad(f, engine=engine)(x), bridge.grad(f, engine="native")(x), rtol=1e-12)


@ENGINES
@pytest.mark.parametrize("f", DISCRETE)
def test_discrete_draws_raise(f: Callable[[Any], Any], engine: str) -> None:
    with pytest.raises(bridge.errors.RandomGradientError, match="has no derivative along its path") as caught:
        bridge.grad(f, engine=engine)(np.array([0.3, 0.2, 0.5]))
    assert "test_random.py" in str(caught.value.where)
    if engine == "xla":
        assert np.isfinite(bridge.xla(f)(np.array([0.3, 0.2, 0.5])))


@pytest.mark.ci
def test_keys_in_compiled_loops() -> None:
    def noisy(key: Any, x: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            y[i] += x[i] * random.normal(random.fold_in(key, i)) + random.gamma(random.fold_in(key, i + 10), x[i])
            return y

        return np.sum(bridge.fori_loop(0, 4, body, x.copy()) ** 2)

    x = np.array([0.5, 1.0, 2.0, 4.0])
    expected = bridge.value_and_grad(noisy, argnums=1)(KEY, x)
    found = bridge.value_and_grad(noisy, argnums=1, engine="xla")(KEY, x)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11)


@pytest.mark.ci
def test_jax_differentiates_and_batches_compiled_draws() -> None:
    f = bridge.xla(lambda key, a: np.sum(random.gamma(key, a)))
    a = np.array([0.5, 2.0])
    theirs = jax.grad(lambda a: jax.random.gamma(THEIRS, a).sum())(a)
    np.testing.assert_allclose(jax.grad(f, argnums=1)(jax.numpy.asarray(KEY), jax.numpy.asarray(a)), theirs, rtol=1e-11)
    keys = jax.numpy.asarray(random.split(KEY, 3))
    found = jax.vmap(bridge.xla(lambda key: random.normal(key, (2,))))(keys)
    np.testing.assert_allclose(found, [random.normal(key, (2,)) for key in np.asarray(keys)], rtol=1e-13)
