"""Functions of `scipy.special` that are no ufuncs, multivariate densities and summaries of `scipy.stats`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.special as sp
import scipy.stats as st

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_in_rows import Row, assert_same, name_of, right_gradient, row, same_value, stand_in_for

RNG = np.random.default_rng(0)
X = RNG.uniform(0.2, 0.9, (2, 3))
Y = RNG.uniform(1.2, 2.5, 3)
S = RNG.uniform(0.2, 0.9, (4, 5))


def special() -> Iterator[Row]:
    for axis in (None, 0, -1, (0, 1)):
        yield row(sp.logsumexp, X, axis)
        yield row(sp.logsumexp, X, axis, Y, keepdims=True)
        yield row(sp.logsumexp, 1j * X + X, axis)
        yield replace(row(sp.logsumexp, X, axis, Y - 1.5, return_sign=True), loss=lambda found: np.sum(found[0]))
        if axis != (0, 1):
            yield row(sp.softmax, X, axis)
            yield row(sp.log_softmax, X, axis)
    yield row(sp.logsumexp, Y, 0, X)
    yield row(sp.logsumexp, [0, 1, 2])
    yield row(sp.polygamma, 2, X)
    yield row(sp.zeta, 3.0, Y)
    yield row(sp.lambertw, X)
    yield row(sp.lambertw, X - 2, -1)
    yield row(sp.comb, Y + 2, X[0])
    yield row(sp.comb, np.array([3.5, -1.0, 2.0]), np.array([1.5, 2.0, 4.5]))
    yield row(sp.comb, Y + 2, X[0], repetition=True)
    yield row(sp.perm, Y + 2, X[0])
    yield row(sp.factorial, np.array([0.5, 3.0, -1.5]))
    yield row(sp.multigammaln, Y + 2, 3)
    for function in (sp.spherical_jn, sp.spherical_yn, sp.spherical_in, sp.spherical_kn):
        yield row(function, 2, Y)
        yield row(function, np.array([0, 1, 2]), Y, derivative=True)


def multivariate() -> Iterator[Row]:
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    for method in ("logpdf", "pdf"):
        normal, dirichlet = getattr(st.multivariate_normal, method), getattr(st.dirichlet, method)
        yield row(normal, Y[:2], Y[1:], covariance)
        yield row(normal, RNG.normal(size=(4, 3, 2)), Y[1:], covariance)
        yield row(normal, Y, None, np.array(2.0))
        yield row(normal, Y[0], np.array(0.3))
        yield row(normal, X, Y, Y)
        yield row(normal, X, Y, np.array(1.5), allow_singular=True)
        yield row(dirichlet, [0.2, 0.3, 0.5], Y)
        yield row(dirichlet, np.array([0.2, 0.3]), Y)
        yield row(dirichlet, np.array([[0.2, 0.1], [0.3, 0.4]]), Y)
    for method in ("logpmf", "pmf"):
        multinomial = getattr(st.multinomial, method)
        yield row(multinomial, [1, 2, 1], 4, [0.2, 0.3, 0.5])
        yield row(multinomial, [[1, 2, 1], [0, 4, 1]], 4, [0.2, 0.3, 0.5])


def summaries() -> Iterator[Row]:
    for axis in (0, 1, None):
        yield row(st.zscore, S, axis)
        yield row(st.zscore, S, axis, 1)
        yield row(st.gmean, S, axis)
        yield row(st.sem, S, axis)
        yield row(st.entropy, S, S[::-1] + 0.5, 2, axis)
        yield row(st.entropy, S, axis=axis)
        for order in (1, 2, 3):
            yield row(st.moment, S, order, axis)
    yield row(st.gmean, S, 1, weights=S[0])
    for axis, bias in ((1, True), (None, True), (None, False)):
        yield row(st.skew, S, axis, bias)
        yield row(st.kurtosis, S, axis, True, bias)
    yield row(st.kurtosis, S, 1, fisher=False, keepdims=True)


ROWS = [*special(), *multivariate(), *summaries()]


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_its_value_is_scipys(row: Row) -> None:
    same_value(row)


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_its_gradient_is_proved(row: Row) -> None:
    if any(isinstance(x, np.ndarray) for x in row.args):
        right_gradient(row)


def test_lists_of_tracked_numbers_are_arrays() -> None:
    bridge.check_gradient(lambda x: stand_in_for(sp.logsumexp)([x[0], 2 * x[1], 0.5]))(np.array([0.3, 0.7]))


def test_the_probabilities_of_a_multinomial_distribution() -> None:
    def program(z: Any) -> Any:
        return stand_in_for(st.multinomial.logpmf)([1, 2, 1], 4, z / np.sum(z))

    bridge.check_gradient(program)(Y)


@pytest.mark.parametrize("method", ["logpmf", "pmf"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.filterwarnings("ignore:Some rows of `p` do not sum:FutureWarning")
def test_probabilities_that_do_not_sum_to_one(method: str, kind: Any) -> None:
    """The last one is what the others leave; since SciPy 1.18 there is no number for them."""
    for p in ([0.2, 0.3, 0.6], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5 + 1e-9], [[0.2, 0.3, 0.6], [0.2, 0.3, 0.5]]):
        same_value(row(getattr(st.multinomial, method), [1, 2, 1], 4, np.asarray(p, kind)))


def test_frozen_multivariate_distributions() -> None:
    covariance = np.array([[2.0, 0.5], [0.5, 1.0]])
    x = RNG.normal(size=(3, 2))
    plain = st.multivariate_normal(Y[1:], covariance)
    assert_same(stand_in_for(st.multivariate_normal)(Y[1:], covariance).logpdf(x), plain.logpdf(x))
    assert_same(stand_in_for(plain.logpdf)(x), plain.logpdf(x))
    assert_same(stand_in_for(st.dirichlet(Y).pdf)([0.2, 0.3, 0.5]), st.dirichlet(Y).pdf([0.2, 0.3, 0.5]))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: stand_in_for(sp.comb)(3, 2, exact=True), "scipy.special.comb with exact=True"),
        (lambda: stand_in_for(st.zscore)(X, nan_policy="omit"), "scipy.stats.zmap with nan_policy"),
        (
            lambda: stand_in_for(st.multivariate_normal.logpdf)([1.0, 2.0], None, np.ones((2, 2)), allow_singular=True),
            "singular covariance",
        ),
        (lambda: stand_in_for(st.multivariate_normal)(Y).rvs(), "multivariate_normal_gen.rvs of tracked numbers"),
    ],
)
def test_what_it_does_not_do_is_refused_by_name(call: Any, what: str) -> None:
    with pytest.raises(RefusedError, match=what):
        call()
