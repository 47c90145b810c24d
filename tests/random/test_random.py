"""bridge.random: the bits of JAX, gradients that are what the call says, and errors for everything else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import scipy.stats

import bridge
from bridge import random
from bridge.errors import ArgumentError, BridgeError, RandomGradientError, RefusedError
from bridge.proof.programs.check_gradient import check_gradient
from bridge.random import threefry
from bridge.rules import gamma_quantiles

KEY = random.key(7)
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
EAGER = pytest.mark.parametrize("engine", ["native", "eager"])


def test_cipher_gives_the_known_answers_of_its_authors() -> None:
    ones = 0xFFFFFFFF
    for key, counter, block in (
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((ones, ones), (ones, ones), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ):
        words = [np.array([word], np.uint32) for word in (*key, *counter)]
        found = threefry.cipher((words[0], words[1]), (words[2], words[3]))
        assert tuple(int(word[0]) for word in found) == block


def test_keys_are_plain_arrays() -> None:
    key = random.key(2**40 - 3)
    assert (key.dtype, key.shape, key.tolist()) == (np.uint32, (2,), [255, 2**32 - 3])
    assert random.key(-1).tolist() == [2**32 - 1] * 2
    first, second, third = random.split(key, 3)
    assert len({tuple(one.tolist()) for one in (key, first, second, third, random.fold_in(key, 7))}) == 5
    # As in JAX: a key is either split or folded into.
    assert random.fold_in(key, 0).tolist() == first.tolist()
    assert random.split(key, (2, 3)).shape == (2, 3, 2)


@BOTH
@pytest.mark.parametrize("name", ["uniform", "normal", "exponential", "gumbel"])
def test_draws_have_shape_dtype_and_distribution(name: str, dtype: Any) -> None:
    draw = getattr(random, name)
    sample = draw(KEY, (40, 500), dtype)
    assert (sample.shape, sample.dtype) == ((40, 500), dtype)
    assert type(draw(KEY, (), dtype)) is dtype
    assert draw(KEY, (0, 3), dtype).shape == (0, 3)
    law = {"uniform": "uniform", "normal": "norm", "exponential": "expon", "gumbel": "gumbel_r"}[name]
    assert scipy.stats.kstest(sample.ravel().astype(float), law).pvalue > 1e-3


@pytest.mark.parametrize("a", [0.05, 0.7, 1.0, 3.5, 200.0])
def test_gamma_numbers_have_their_distribution(a: float) -> None:
    assert scipy.stats.kstest(random.gamma(KEY, a, (20000,)), "gamma", (a,)).pvalue > 1e-3


def test_discrete_draws_have_their_distribution() -> None:
    p = np.array([0.1, 0.6, 0.3])
    counts = np.bincount(random.categorical(KEY, np.log(p), shape=(20000,)), minlength=3)
    assert scipy.stats.chisquare(counts, 20000 * p).pvalue > 1e-3
    assert abs(np.mean(random.bernoulli(KEY, 0.3, (20000,))) - 0.3) < 0.01
    order = random.permutation(KEY, 1000)
    assert sorted(order.tolist()) == list(range(1000)) and abs(np.corrcoef(order, range(1000))[0, 1]) < 0.1


def test_the_dtype_is_that_of_the_parameters_as_numpy_promotes() -> None:
    single = np.ones(3, np.float32)
    assert random.gamma(KEY, single).dtype == np.float32
    assert random.uniform(KEY, (3,), maxval=single).dtype == np.float32
    assert random.uniform(KEY, (3,), maxval=single, minval=np.zeros(3)).dtype == np.float64
    assert random.gamma(KEY, [1, 2]).dtype == np.float64
    assert random.uniform(KEY, (3,), np.float32, 0.1, 0.7).dtype == np.float32
    assert random.categorical(KEY, single).dtype == np.int64


def reparameterised(x: Any) -> Any:
    one, two, three, four = random.split(KEY, 4)
    u = random.uniform(one, (5,), minval=x[0], maxval=x[1])
    n = x[0] + x[2] * random.normal(two, (5,))
    e = random.exponential(three, (5,)) / x[2]
    g = np.tanh(x[1] + random.gumbel(four, (4,)))
    return np.sum(u * u * n) + np.sum(e) + np.sum(g) + np.sum(random.permutation(one, x) * np.arange(3.0))


@EAGER
def test_pathwise_gradients_agree_with_finite_differences_at_a_fixed_key(engine: str) -> None:
    x = np.array([0.3, 1.2, 2.0])
    check_gradient(reparameterised)(x)
    gradient = bridge.grad(reparameterised, engine=engine)(x)
    for k, tangent in enumerate(np.eye(3)):
        assert bridge.jvp(reparameterised, (x,), (tangent,), engine=engine)[1] == pytest.approx(gradient[k], rel=1e-12)
    hessian = bridge.hessian(reparameterised, engine=engine)(x)
    step = 1e-5 * np.eye(3)
    slopes = [(bridge.grad(reparameterised)(x + h) - bridge.grad(reparameterised)(x - h)) / 2e-5 for h in step]
    np.testing.assert_allclose(hessian, slopes, rtol=1e-6, atol=1e-6)


def test_gradients_keep_single_precision() -> None:
    x = np.array([0.3, 1.2, 2.0], np.float32)

    def f(x: Any) -> Any:
        return np.sum(random.gamma(KEY, x) * random.uniform(KEY, (3,), maxval=x))

    gradient = bridge.grad(f)(x)
    assert gradient.dtype == np.float32


def at_quantile(u: np.ndarray) -> Callable[[Any], Any]:
    return lambda a: scipy.special.gammaincinv(a, u)


@pytest.mark.ci
@BOTH
def test_gamma_moves_with_its_quantile(dtype: Any) -> None:
    a = np.array([0.1, 0.8, 1.0, 2.5, 30.0, 900.0], dtype)
    sample = random.gamma(KEY, a)
    slope = bridge.grad(lambda a: np.sum(random.gamma(KEY, a)))(a)
    wide, step = a.astype(float), 1e-4 * a.astype(float)
    quantile = at_quantile(scipy.special.gammainc(wide, sample.astype(float)))
    expected = (quantile(wide + step) - quantile(wide - step)) / (2 * step)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)
    assert slope.dtype == dtype
    curve = bridge.hessian(lambda a: np.sum(random.gamma(KEY, a)))(a)
    second = (quantile(wide + step) - 2 * quantile(wide) + quantile(wide - step)) / step**2
    np.testing.assert_allclose(np.diag(curve), second, rtol=2e-3, atol=1e-5)


def test_gamma_gradient_is_that_of_the_expectation() -> None:
    """Mean and mean of squares of gamma numbers are a and a + a**2."""
    x = np.array([0.4, 3.0])

    def moments(x: Any) -> Any:
        sample = random.gamma(KEY, x, (40000, 2))
        return np.sum(np.mean(sample, axis=0) + np.mean(sample * sample, axis=0))

    np.testing.assert_allclose(bridge.grad(moments)(x), 2 + 2 * x, rtol=0.03)


@pytest.mark.ci
def test_gamma_slope_at_its_edges() -> None:
    slope = gamma_quantiles.gamma_slope
    assert slope(np.array([1e-3]), np.array([0.0]))[0] == 0.0
    assert np.isnan(slope(np.array([0.0, -1.0, np.nan, 1.0]), np.array([1.0, 1.0, 1.0, np.inf]))).all()
    # The expansion for large parameters joins the fraction and the series.
    for z in (-3.0, 0.1, 4.0):
        below, above = (slope(np.array([a]), np.array([a + z * np.sqrt(a)]))[0] for a in (99999.9, 100000.1))
        assert below == pytest.approx(above, rel=1e-8)
    np.testing.assert_array_equal(np.isnan(random.gamma(KEY, [-1.0, np.nan, 1.0])), [True, True, False])


def test_third_derivatives_of_gamma_are_refused_by_name() -> None:
    second = bridge.grad(bridge.grad(lambda a: random.gamma(KEY, a), engine="native"), engine="native")
    assert np.isfinite(second(2.0))
    with pytest.raises(BridgeError, match="gamma_slope_in_shape"):
        bridge.grad(second, engine="native")(2.0)


FROZEN: list[Callable[[Any], Any]] = [
    lambda x: np.sum(random.uniform(KEY, (3,), minval=x[0], maxval=x[1], gradient="frozen") * x),
    lambda x: np.sum(random.gamma(KEY, x, gradient="frozen") * x),
    lambda x: np.sum(random.bernoulli(KEY, x / 3, gradient="frozen") * x),
    lambda x: x[random.categorical(KEY, x, gradient="frozen")],
]


@EAGER
@pytest.mark.parametrize("f", FROZEN)
def test_frozen_draws_are_constants(f: Callable[[Any], Any], engine: str) -> None:
    x = np.array([0.3, 1.2, 2.0])
    constant = np.array([f(x + h) for h in 1e-9 * np.eye(3)]) - f(x)
    gradient = bridge.grad(f, engine=engine)(x)
    if f is not FROZEN[0] and f is not FROZEN[1]:
        # A discrete draw does not move at all, so finite differences see a constant too.
        np.testing.assert_allclose(gradient, constant / 1e-9, atol=1e-5)
    draw = {0: lambda: random.uniform(KEY, (3,), minval=0.3, maxval=1.2), 1: lambda: random.gamma(KEY, x)}
    for k, expected in draw.items():
        if f is FROZEN[k]:
            np.testing.assert_array_equal(gradient, expected())
    assert bridge.jvp(f, (x,), (np.ones(3),), engine=engine)[1] == pytest.approx(np.sum(gradient))


def test_frozen_is_frozen_for_every_context_around_it() -> None:
    f = FROZEN[1]
    np.testing.assert_array_equal(bridge.hessian(f)(np.array([0.3, 1.2, 2.0])), np.zeros((3, 3)))


DISCRETE = [lambda x: np.sum(random.bernoulli(KEY, x[0], (4,)) * x[1]), lambda x: x[random.categorical(KEY, x)]]


@EAGER
@pytest.mark.parametrize("f", DISCRETE)
def test_a_discrete_draw_with_a_tracked_parameter_is_an_error_that_names_its_line(
    f: Callable[[Any], Any], engine: str
) -> None:
    x = np.array([0.3, 0.2, 0.5])
    attempts: list[Callable[[], Any]] = [
        lambda: bridge.grad(f, engine=engine)(x),
        lambda: bridge.jvp(f, (x,), (x,), engine=engine),
        lambda: bridge.hessian(f, engine=engine)(x),
    ]
    for attempt in attempts:
        with pytest.raises(RandomGradientError, match="has no derivative along its path") as caught:
            attempt()
        assert "test_random.py" in str(caught.value.where)
        for remedy in ('gradient="frozen"', "relaxation", "score function"):
            assert remedy in str(caught.value.remedy)


def test_a_discrete_draw_whose_parameter_does_not_depend_on_what_is_differentiated_is_none() -> None:
    def f(x: Any, logits: Any) -> Any:
        return x[random.categorical(KEY, logits)] * np.sum(random.bernoulli(KEY, 0.5, (4,)))

    x = np.array([0.3, 0.2, 0.5])
    assert np.count_nonzero(bridge.grad(f)(x, x)) == 1


def test_error_refuses_every_tracked_parameter() -> None:
    calls: list[tuple[str, Callable[[Any], Any]]] = [
        ("minval", lambda x: np.sum(random.uniform(KEY, (3,), minval=x, gradient="error"))),
        ("a", lambda x: np.sum(random.gamma(KEY, x, gradient="error"))),
        ("p", lambda x: np.sum(random.bernoulli(KEY, x, gradient="error"))),
        ("logits", lambda x: np.sum(random.categorical(KEY, x, gradient="error"))),
    ]
    for name, f in calls:
        f(np.array([0.3, 0.2, 0.5]))
        with pytest.raises(RandomGradientError, match=rf'gradient="error"\): {name} depends'):
            bridge.grad(f)(np.array([0.3, 0.2, 0.5]))


def test_programs_that_write_draws_into_arrays() -> None:
    def walk(x: Any) -> Any:
        path = np.zeros(6, like=x)
        for k, key in enumerate(random.split(KEY, 5)):
            path[k + 1] = path[k] + x[0] + x[1] * random.normal(key)
        path[2:] *= random.uniform(KEY, (4,), minval=x[0], maxval=x[1])
        return np.sum(path * path)

    check_gradient(walk)(np.array([0.3, 1.2]))


def test_lists_of_tracked_numbers_are_arrays() -> None:
    x = np.array([0.5, 1.0, 1.5])

    def f(x: Any) -> Any:
        bounds = random.uniform(KEY, (2,), minval=[x[0], 0.0], maxval=[2.0, x[1]])
        return np.sum(random.gamma(KEY, [x[0], 2.0])) * bounds[0] + random.permutation(KEY, [x[0], x[1], x[2]])[0]

    def g(x: Any) -> Any:
        return f(x) * bridge.detach(x[0])

    gradient = bridge.grad(f)(x)
    np.testing.assert_array_equal(bridge.grad(g)(x), gradient * x[0])
    assert np.count_nonzero(gradient) == 2


def test_a_parameter_without_a_number_harms_only_its_own_draw() -> None:
    a = np.array([-1.0, 2.0, 0.5])
    gradient = bridge.grad(lambda a: np.sum(random.gamma(KEY, a)[1:]))(a)
    assert gradient[0] == 0.0 and np.all(gradient[1:] > 0.0)
    np.testing.assert_array_equal(
        bridge.grad(lambda a: np.sum(np.where(a > 0, random.gamma(KEY, a), 0.0)))(a), gradient
    )


def test_checkpoints_draw_the_same_numbers_again() -> None:
    def f(a: Any) -> Any:
        return np.sum(random.gamma(KEY, a) * random.normal(KEY, (2,)) * a)

    a = np.array([0.3, 0.5])
    np.testing.assert_allclose(bridge.grad(bridge.checkpoint(f))(a), bridge.grad(f)(a), rtol=1e-14)
    with pytest.raises(RandomGradientError):
        bridge.grad(bridge.checkpoint(DISCRETE[0]))(a)


BAD: list[tuple[str, Callable[[], Any]]] = [
    ("the key is None", lambda: random.normal(None)),
    ("the key is 3, which is no key", lambda: random.normal(3)),
    ("Generator", lambda: random.normal(np.random.default_rng(0))),
    ("dtype float64, shape", lambda: random.normal(np.zeros(2))),
    (r"shape \(3,\)", lambda: random.normal(np.zeros(3, np.uint32))),
    (r"take one of them, keys\[0\]", lambda: random.split(random.split(KEY))),
    ("negative length", lambda: random.normal(KEY, (2, -1))),
    ("not made of integers", lambda: random.normal(KEY, (2.5,))),
    ("draws of dtype float16", lambda: random.normal(KEY, (2,), np.float16)),
    ("draws of dtype complex128", lambda: random.uniform(KEY, dtype=complex)),
    ("maxval has dtype complex128", lambda: random.uniform(KEY, maxval=1j)),
    (r"give shape=\(3,\)", lambda: random.uniform(KEY, maxval=np.ones(3))),
    ("a has shape", lambda: random.gamma(KEY, np.ones(3), (2,))),
    ("gradient='zero'", lambda: random.gamma(KEY, 1.0, gradient="zero")),  # type: ignore[arg-type]
    ("the seed is 0.5", lambda: random.key(0.5)),
    ("more than 64 bits", lambda: random.key(2**63)),
    ("the data is -1", lambda: random.fold_in(KEY, -1)),
    ("uint8, uint16", lambda: random.bits(KEY, (), np.int32)),
    ("have no axis 2", lambda: random.categorical(KEY, np.ones(3), 2)),
    ("has no axis 1", lambda: random.permutation(KEY, np.ones(3), 1)),
    ("each draw has shape", lambda: random.categorical(KEY, np.ones((2, 3)), shape=(3,))),
]


@pytest.mark.parametrize(("message", "call"), BAD)
def test_bad_arguments_are_named(message: str, call: Callable[[], Any]) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        call()
    assert "test_random.py" in str(caught.value.where) and caught.value.remedy


def test_a_generator_of_numpy_does_not_take_a_tracked_parameter() -> None:
    with pytest.raises(bridge.errors.EscapeError):
        bridge.grad(lambda x: np.sum(x + np.random.default_rng(0).normal(0.0, x)))(np.ones(2))


def test_the_rule_that_is_not_in_the_book_says_what_it_is_for() -> None:
    with pytest.raises(RefusedError, match="third derivatives"):
        gamma_quantiles._no_third_derivative(1.0, 1.0, 1.0, 1.0)


def differences(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    f(x)
    step = 1e-6 if x.dtype == np.float64 else np.float32(2.0**-9)
    return np.array([(f(x + h) - f(x - h)) / (2 * step) for h in step * np.eye(x.size, dtype=x.dtype)])


@pytest.mark.parametrize("f", [*FROZEN, lambda x: np.sum(np.sin(random.gamma(KEY, x, (4, 3))) * x), reparameterised])
def test_held_draws_move_as_their_gradients_say(f: Callable[[Any], Any]) -> None:
    x = np.array([0.3, 1.2, 2.0])
    with random.held():
        slopes = differences(f, x)
        inside = bridge.grad(f)(x)
    gradient = bridge.grad(f)(x)
    np.testing.assert_allclose(slopes, gradient, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(inside, gradient)


@pytest.mark.parametrize("f", [*FROZEN, lambda x: np.sum(np.sin(random.gamma(KEY, x, (4, 3))) * x), reparameterised])
def test_held_draws_are_the_same_in_another_dtype(f: Callable[[Any], Any]) -> None:
    x = np.array([0.25, 1.25, 2.0], np.float32)
    value, gradient = bridge.value_and_grad(f)(x)
    with random.held():
        f(x)
        wide, slopes = bridge.value_and_grad(f)(x.astype(float))
    assert wide == pytest.approx(value, rel=1e-5)
    assert slopes.dtype == np.float64
    np.testing.assert_allclose(slopes, gradient, rtol=1e-4, atol=1e-5)


def test_held_draws_are_told_apart_by_line_key_and_shape() -> None:
    def f(x: Any) -> Any:
        one = random.gamma(KEY, x, gradient="frozen")
        two = random.gamma(KEY, 2 * x, gradient="frozen")
        return one, two, random.gamma(random.fold_in(KEY, 1), x, gradient="frozen")

    x = np.array([0.3, 1.2])
    expected = f(x)
    with random.held():
        f(x)
        found = f(x + 1.0)
        found[0][...] = 0.0
        again = f(x)
    np.testing.assert_array_equal(again, expected)
    assert not np.array_equal(f(x + 1.0)[0], expected[0])


def test_held_noise_is_the_same_in_the_dtype_that_is_asked_for() -> None:
    with random.held():
        single, double = (random.normal(KEY, (3,), kind) for kind in (np.float32, np.float64))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(single, double)
    assert not np.array_equal(single, random.normal(KEY, (3,)).astype(np.float32))


@pytest.mark.ci
def test_check_gradient_and_crosscheck_hold_draws() -> None:
    def f(a: Any) -> Any:
        return np.sum(
            random.gamma(KEY, a) * random.gamma(KEY, a, gradient="frozen") * random.normal(KEY, (3,), a.dtype)
        )

    for dtype in (np.float64, np.float32):
        check_gradient(f)(np.array([0.5, 1.0, 2.0], dtype))
        report = bridge.crosscheck(f, engines=("native",))(np.array([0.5, 1.0, 2.0], dtype))
        assert report.ok, str(report)
