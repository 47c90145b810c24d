"""Cases of the corpus that exist in words only, spelled in NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.special

import bridge
import bridge.numpy

Check = Callable[[], None]

CHECKS: dict[str, Check] = {}
NOT_RUN: dict[str, str] = {}


def of(identifier: str) -> Callable[[Check], Check]:
    def record(check: Check) -> Check:
        CHECKS[identifier] = check
        return check

    return record


def gradient(f: Callable[..., Any], *inputs: np.ndarray) -> Any:
    with np.errstate(all="ignore"):
        return bridge.grad(f, engine="native")(*inputs)


@of("m25-refs-gradient-accumulation")
def gradients_accumulate_in_one_buffer() -> None:
    """Gradients of three small batches, added into one buffer, equal the gradient of the summed loss."""
    rng = np.random.default_rng(0)
    weights, data = rng.normal(size=(3, 4, 4)) * 0.5, rng.normal(size=(3, 5, 4))

    def loss(w: Any, batch: Any) -> Any:
        hidden = np.tanh(batch @ w[0])
        for layer in w[1:]:
            hidden[...] = np.tanh(hidden @ layer)
        return np.sum(hidden * hidden)

    total = np.zeros_like(weights)
    for batch in data:
        _, pull = bridge.vjp(lambda w, b=batch: loss(w, b), weights)
        total += pull(1.0)[0]
    np.testing.assert_allclose(total, gradient(lambda w: sum(loss(w, b) for b in data), weights), rtol=1e-12)


@of("c07-scan-stop-gradient-residuals")
def detached_loop_keeps_nothing() -> None:
    """A loop on a detached array is not recorded: its value counts as a constant."""

    def f(x: Any) -> Any:
        a = bridge.detach(x)
        for _ in range(1000):
            a = np.tanh(a) + 0.5
        return np.sum(x * a)

    x = np.array([0.3, -0.2])
    with bridge.Context() as context:
        f(context.buffer(x))
        entries = len(context.log)
    assert entries < 10, f"{entries} entries for a program with two tracked operations"
    steady = x.copy()
    for _ in range(1000):
        steady = np.tanh(steady) + 0.5
    np.testing.assert_array_equal(gradient(f, x), steady)


@of("n07-logsumexp-all-neg-inf")
def log_sum_exp_of_nothing() -> None:
    """No finite derivative exists: zero (the semiring's) or NaN, never another number."""

    def f(x: Any) -> Any:
        return np.logaddexp(-np.inf, -np.inf + x[0])

    (slope,) = gradient(f, np.array([1.0]))
    assert np.isnan(slope) or slope == 0.0


@of("n19-entropy-term-at-zero")
def entropy_at_zero() -> None:
    assert gradient(lambda x: np.sum(scipy.special.entr(x)), np.array([0.0])) == np.inf


@of("n20-arccos-at-one")
def arc_cosine_of_equal_distributions() -> None:
    """The slope of arccos at 1 is infinite, and stays loud behind a computed zero."""
    assert gradient(lambda x: np.arccos(x[0]), np.array([1.0])) == -np.inf
    p = np.full(4, 0.25)
    found = gradient(lambda q: np.arccos(np.sum(np.sqrt(p) * np.sqrt(q))), p.copy())
    assert not np.any(np.isfinite(found))


@of("d05-jit-changes-gradient-at-underflow")
def root_of_an_underflowing_square() -> None:
    """x**2 underflows to 0 in float32: eager and repeated calls agree, and nothing finite and wrong comes out."""
    x = np.array([1.1754944e-38], np.float32)
    first, second = (gradient(lambda v: np.sqrt(np.abs(v * v))[0], x) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert not np.isfinite(first[0]) or first[0] == 1.0


@of("d06-expm1-tail")
def exponential_minus_one_in_the_tail() -> None:
    found = gradient(lambda x: np.expm1(x[0]), np.array([-40.0]))
    np.testing.assert_allclose(found, [4.248354255291589e-18], rtol=1e-14)


@of("d08-float16-fd-oracle")
def checker_scales_its_step_to_the_dtype() -> None:
    bridge.check_gradient(lambda x: np.sum(np.sin(x)))(np.array([0.5, 1.0], np.float16))


@of("l11-cholesky-not-pd")
def cholesky_of_an_indefinite_matrix() -> None:
    x = np.array([[1.0, 2.0], [2.0, 1.0]])
    try:
        gradient(lambda a: np.sum(np.linalg.cholesky(a)), x)
    except np.linalg.LinAlgError:
        np.testing.assert_array_equal(x, [[1.0, 2.0], [2.0, 1.0]])
        return
    raise AssertionError("an indefinite matrix was accepted")


@of("l13-svd-scale-overflow")
def nuclear_norm_at_a_tiny_scale() -> None:
    """The Hessian grows as 1/scale: 1e-20 in float32 must not overflow on the way."""
    rng = np.random.default_rng(0)
    a, t = rng.normal(size=(2, 3, 3)).astype(np.float32)
    scale = np.float32(1e-20)

    def norm(x: Any) -> Any:
        return np.sum(np.linalg.svd(x, compute_uv=False))

    ordinary = bridge.hvp(norm, (a,), (t,))
    tiny = bridge.hvp(norm, (a * scale,), (t,))
    np.testing.assert_allclose(tiny * scale, ordinary, rtol=1e-2, atol=1e-2 * np.max(np.abs(ordinary)))


@of("q03-gamma-rejection-sampler")
def gamma_numbers_move_with_their_quantile() -> None:
    """The derivative is that of the quantile; that of the sampler at this key is made of jumps."""
    key = bridge.random.key(0)

    def f(a: Any) -> Any:
        return np.sum(bridge.random.gamma(key, a[0], (1000,)))

    a = np.array([1.0])
    level = scipy.special.gammainc(a, bridge.random.gamma(key, a[0], (1000,)))
    quantiles = [np.sum(scipy.special.gammaincinv(a + h, level)) for h in (1e-5, -1e-5)]
    np.testing.assert_allclose(gradient(f, a), [(quantiles[0] - quantiles[1]) / 2e-5], rtol=1e-6)
    np.testing.assert_allclose(gradient(f, a), [981.9], rtol=1e-4)
    slopes = np.array([(f(a + h) - f(a - h)) / (2 * h) for h in (1e-4, 1e-5, 1e-6)])
    assert np.all(slopes < -1e5), "the sampler is another one below 1"
