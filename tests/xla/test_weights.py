"""Means and covariances whose weights depend on the arguments, compiled: values, gradients, and NumPy's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from tests.helpers.finite_differences import gradient

pytest.importorskip("jax")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 5))
W = RNG.uniform(0.5, 2.0, 5)
COUNTS = np.array([1, 2, 1, 3, 2])


class Program(NamedTuple):
    name: str
    run: Callable[[Any, Any], Any]


PROGRAMS = (
    Program("aweights", lambda x, w: np.cov(x, aweights=w)),
    Program("fweights and aweights", lambda x, w: np.cov(x, fweights=COUNTS, aweights=w)),
    Program("by position", lambda x, w: np.cov(x, None, True, False, None, COUNTS, w)),
    Program("another variable", lambda x, w: np.cov(x.T, np.sin(x[:1].T), rowvar=False, aweights=w)),
    Program("ddof", lambda x, w: np.cov(x, ddof=2, fweights=COUNTS, aweights=w)),
    Program("dtype", lambda x, w: np.cov(x, aweights=w, dtype=np.float64)),
    Program("weights of the data", lambda x, w: np.cov(x * w, aweights=np.exp(x[0]))),
    Program("complex data", lambda x, w: np.abs(np.cov(x + 1j * x[::-1] * w, aweights=w))),
    Program("average", lambda x, w: np.average(x, axis=1, weights=w)),
    Program("average by all", lambda x, w: np.average(x, weights=x * x + w)),
    Program("average and the sum", lambda x, w: sum(np.average(x, axis=1, weights=w, returned=True))),
    Program(
        "average of numbers", lambda x, w: np.average(x[0, 0] * x[1], weights=w) + np.average(x[0, 0], weights=w[0])
    ),
    Program("average of what is written", lambda x, w: np.average(written(x), axis=1, weights=written(w))),
)


def written(x: Any) -> Any:
    y = x.copy()
    y[0] = y[1] ** 2
    return y


def total(program: Program) -> Callable[[Any, Any], Any]:
    def f(x: Any, w: Any) -> Any:
        result = program.run(x, w)
        return np.sum(result * np.cos(np.arange(np.size(result)) + 1.0).reshape(np.shape(result)))

    return f


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_weights(program: Program, engine: str) -> None:
    f = total(program)
    value, found = bridge.value_and_grad(f, argnums=(0, 1), engine=engine)(X, W)
    assert value == pytest.approx(f(X.copy(), W.copy()), rel=1e-12)
    for one, expected in zip(found, gradient(f, (X, W)), strict=True):
        np.testing.assert_allclose(one, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.ci
def test_what_numpy_raises() -> None:
    def weighed(w: Any) -> Any:
        return np.sum(np.average(X, axis=1, weights=w))

    def spread(w: Any) -> Any:
        return np.sum(np.cov(X, aweights=w))

    mean, covariance = bridge.xla(weighed), bridge.xla(spread)
    assert mean(W) == pytest.approx(weighed(W)) and covariance(W) == pytest.approx(spread(W))
    with pytest.raises(ZeroDivisionError, match=r"np\.average: weights sum to zero, at .*test_weights\.py:\d+"):
        mean(np.array([1.0, -1.0, 0.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"np\.cov: aweights cannot be negative, at .*test_weights\.py:\d+"):
        covariance(W - 1.0)
