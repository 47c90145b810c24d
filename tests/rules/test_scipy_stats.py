"""Distributions of `scipy.stats` in programs that are read: values against SciPy's, gradients proved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import scipy.stats as st

import bridge
from bridge.errors import RefusedError
from tests.helpers.stand_in_rows import assert_same, right_gradient, row, stand_in_for

SHAPES = {
    st.t: (4.5,), st.gamma: (2.5,), st.invgamma: (2.5,), st.chi2: (3.5,), st.beta: (2.5, 1.5), st.f: (3.5, 6.5),
    st.lognorm: (0.7,), st.weibull_min: (1.7,), st.pareto: (2.7,), st.powerlaw: (1.7,), st.invgauss: (0.8,),
    st.skewnorm: (1.5,), st.vonmises: (2.5,), st.truncnorm: (-0.9, 1.9), st.poisson: (2.5,), st.binom: (6, 0.3),
    st.bernoulli: (0.3,), st.nbinom: (4, 0.4), st.geom: (0.3,),
}  # fmt: skip
BARE = (st.norm, st.expon, st.uniform, st.laplace, st.logistic, st.cauchy, st.halfcauchy, st.halfnorm, st.rayleigh)
CONTINUOUS = [*BARE, st.gumbel_r, st.gumbel_l, *(d for d in SHAPES if hasattr(d, "pdf"))]
DISCRETE = [d for d in SHAPES if hasattr(d, "pmf")]
PROBABILITIES = ("cdf", "sf", "logcdf", "logsf")
# Shape parameters by which SciPy's distribution functions have no closed derivative here.
HELD = {st.t, st.beta, st.f}
WITHOUT = {(st.invgauss, n) for n in (*PROBABILITIES, "ppf", "isf")} | {
    (d, n) for d in (st.skewnorm, st.vonmises) for n in (*PROBABILITIES, "ppf", "isf")
}
WITHOUT |= {(d, n) for d in (st.f, st.truncnorm, st.invgamma, st.halfcauchy) for n in ("ppf", "isf")}


def calls() -> Iterator[tuple[Any, str]]:
    for d in CONTINUOUS:
        yield from ((d, name) for name in ("pdf", "logpdf", *PROBABILITIES, "ppf", "isf") if (d, name) not in WITHOUT)
    for d in DISCRETE:
        yield from ((d, name) for name in ("pmf", "logpmf", *PROBABILITIES))


CALLS = list(calls())
IDS = [f"{d.name}.{name}" for d, name in CALLS]


def numbers(distribution: Any, name: str) -> np.ndarray:
    if name in ("ppf", "isf"):
        return np.array([0.1, 0.45, 0.8])
    if distribution is st.bernoulli:
        return np.array([0.0, 0.0, 1.0]) if name == "logpmf" else np.array([0.0, 0.0, 0.0])
    return np.array([1.0, 2.0, 3.0]) if hasattr(distribution, "pmf") else np.array([0.2, 0.85, 1.3])


@pytest.mark.parametrize(("d", "name"), CALLS, ids=IDS)
def test_its_value_is_scipys(d: Any, name: str) -> None:
    method, shapes = getattr(d, name), SHAPES.get(d, ())
    ends = np.array([-np.inf, -7.0, -1.0, 0.0, 0.5, 1.0, 1.9, 2.0, 4.0, 60.0, np.inf, np.nan])
    for x in (numbers(d, name), ends, 1, [0.5, 1]):
        for args, kwds in (
            ((), {}),
            ((0.25 if hasattr(d, "pdf") else 1,), {}),
            ((), {"loc": np.array([[0.0], [1.0]])}),
        ):
            if np.size(x) == 2 and kwds:
                continue
            with np.errstate(all="ignore"):
                assert_same(stand_in_for(method)(x, *shapes, *args, **kwds), method(x, *shapes, *args, **kwds))
    if hasattr(d, "pdf"):
        with np.errstate(all="ignore"):
            scales = np.array([2.0, 0.0, -1.0])
            assert_same(stand_in_for(method)(0.4, *shapes, scale=scales), method(0.4, *shapes, scale=scales))


@pytest.mark.parametrize("d", [*CONTINUOUS, *DISCRETE], ids=lambda d: d.name)
def test_parameters_that_are_not_valid_give_what_scipy_gives(d: Any) -> None:
    name = "logpdf" if hasattr(d, "pdf") else "logpmf"
    shapes = SHAPES.get(d, ())
    for k in range(len(shapes)):
        for wrong in (-1.0, 0.0, 1.5, np.nan):
            args = (*shapes[:k], wrong, *shapes[k + 1 :])
            with np.errstate(all="ignore"):
                assert_same(stand_in_for(getattr(d, name))(0.5, *args), getattr(d, name)(0.5, *args))


@pytest.mark.parametrize(("d", "name"), CALLS, ids=IDS)
def test_its_gradient_is_proved(d: Any, name: str) -> None:
    x, discrete = numbers(d, name), hasattr(d, "pmf")
    shapes = tuple(np.float64(s) if isinstance(s, float) else s for s in SHAPES.get(d, ()))
    if d in HELD and name not in ("pdf", "logpdf"):
        shapes = tuple(map(float, shapes))
    else:
        shapes = tuple(np.array(s) if isinstance(s, float) else s for s in shapes)
    if discrete:
        right_gradient(row(getattr(d, name), x.astype(int), *shapes))
        return
    loc = -2.5 if d in (st.pareto,) else -0.1
    right_gradient(row(getattr(d, name), x, *shapes, np.array(loc), np.array(1.7)))


@pytest.mark.parametrize("d", [st.norm, st.gamma, st.poisson], ids=lambda d: d.name)
def test_frozen_distributions(d: Any) -> None:
    name = "logpdf" if hasattr(d, "pdf") else "logpmf"
    shapes, x = SHAPES.get(d, ()), numbers(d, "pdf")
    plain = d(*shapes, loc=-1)
    tracked = stand_in_for(d)(*shapes, loc=-1)
    for method in (name, "cdf", "logsf"):
        assert_same(getattr(tracked, method)(x), getattr(plain, method)(x))
        assert_same(stand_in_for(getattr(plain, method))(x), getattr(plain, method)(x))
    for method in ("mean", "var", "std"):
        assert_same(getattr(tracked, method)(), getattr(plain, method)())


def test_the_gradient_of_a_frozen_distribution() -> None:
    def program(loc: Any, scale: Any, x: Any) -> Any:
        frozen = stand_in_for(st.norm)(loc, scale=scale)
        return np.sum(frozen.logpdf(x)) + frozen.std() * frozen.mean()

    bridge.check_gradient(program, (0, 1, 2))(np.array(0.3), np.array(1.2), np.array([0.1, 2.0]))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("d", [st.norm, st.gamma, st.beta, st.lognorm, st.nbinom], ids=lambda d: d.name)
def test_moments(d: Any, name: str) -> None:
    assert_same(stand_in_for(getattr(d, name))(*SHAPES.get(d, ()), 2), getattr(d, name)(*SHAPES.get(d, ()), 2))


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (lambda: stand_in_for(st.maxwell.logpdf)(1.0), "scipy.stats.maxwell.log_density of tracked numbers"),
        (lambda: stand_in_for(st.vonmises.cdf)(1.0, 2.0), "scipy.stats.vonmises.cdf of tracked numbers"),
        (lambda: stand_in_for(st.norm.rvs)(1.0, 2.0), "scipy.stats.norm.rvs of tracked numbers"),
        (lambda: stand_in_for(st.norm)(1.0).rvs(3), "scipy.stats.norm.rvs of tracked numbers"),
    ],
)
def test_what_it_does_not_do_is_refused_by_name(call: Any, what: str) -> None:
    with pytest.raises(RefusedError, match=what):
        call()
