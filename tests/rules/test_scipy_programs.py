"""Programs that call SciPy, as they stand: read from their source, and proved by differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.fft
import scipy.linalg
import scipy.special
import scipy.stats
from scipy import fftpack, stats
from scipy.linalg import cho_factor, cho_solve, expm, get_lapack_funcs, lapack, lu_factor, lu_solve, solve_banded

import bridge
from bridge.errors import BridgeError

RNG = np.random.default_rng(0)


def implicit_diffusion(field, conductivity):
    """Steps of an implicit scheme, each a tridiagonal system; the bands are scratch of the program."""
    n = field.shape[0]
    ab = np.zeros((3, n))
    for _ in range(3):
        flux = conductivity * 0.1
        ab[0, 1:] = -flux[:-1]
        ab[1, :] = 1 + 2 * flux
        ab[2, :-1] = -flux[1:]
        field = solve_banded((1, 1), ab, field)
    return np.sum(field**2)


def columns_by_lapack(a, b, c, d):
    """Columns of tridiagonal systems as one, as in turbulence closures of ocean models."""
    a, c = a.copy(), c.copy()
    a[..., 0] = 0
    c[..., -1] = 0
    return np.sum(lapack.dgtsv(a.flatten()[1:], b.flatten(), c.flatten()[:-1], d.flatten())[3].reshape(a.shape) ** 2)


def gaussian_process(x, y, length):
    """The log marginal likelihood of a Gaussian process."""
    covariance = np.exp(-((x[:, None] - x) ** 2) / (2 * length**2)) + 0.1 * np.eye(len(x))
    factor = cho_factor(covariance, lower=True, overwrite_a=True)
    alpha = cho_solve(factor, y)
    return -0.5 * y @ alpha - np.sum(np.log(np.diag(factor[0]))) - 0.5 * len(x) * math.log(2 * math.pi)


def posterior(theta, data):
    """Priors and a likelihood; the scale is a state that the program writes."""
    state = np.empty(2)
    state[0] = theta[0]
    state[1] = np.exp(theta[1])
    prior = stats.norm.logpdf(state[0], 0, 10) + stats.halfnorm(scale=5).logpdf(state[1])
    likelihood = stats.t(4.0, loc=state[0], scale=state[1])
    return prior + np.sum(likelihood.logpdf(data)) + stats.multivariate_normal.logpdf(theta, np.zeros(2), np.eye(2))


def spectral_step(u):
    """A pseudospectral step, and a cosine transform."""
    k = scipy.fft.fftfreq(len(u), 1 / len(u))
    ux = scipy.fft.ifft(1j * k * scipy.fft.fft(u)).real
    return np.sum(scipy.fft.dct(u - 0.1 * u * ux, norm="ortho") ** 3) + np.sum(fftpack.diff(u) ** 2)


def propagated(a, x):
    """A matrix exponential, an LU factorization used twice, and log-weights from a list."""
    moved = expm(a * 0.1) @ x
    factors = lu_factor(a + 4 * np.eye(3))
    solved = lu_solve(factors, lu_solve(factors, moved), trans=1)
    return scipy.special.logsumexp([solved[0], solved[1], 0.0]) + scipy.linalg.norm(solved)


def found_routine(d, e, b):
    (gtsv,) = get_lapack_funcs(("gtsv",), (d, b))
    return np.sum(gtsv(e, d, e, b)[3])


PROGRAMS = [
    (implicit_diffusion, (RNG.normal(size=5), RNG.uniform(1, 2, 5))),
    (columns_by_lapack, (RNG.normal(size=(2, 3)), 5 + RNG.normal(size=(2, 3)), *RNG.normal(size=(2, 2, 3)))),
    (gaussian_process, (np.linspace(0, 2, 4), RNG.normal(size=4), np.array(0.7))),
    (posterior, (np.array([0.3, -0.2]), RNG.normal(size=6))),
    (spectral_step, (RNG.normal(size=6),)),
    (propagated, (RNG.normal(size=(3, 3)), RNG.normal(size=3))),
    (found_routine, (5 + RNG.normal(size=4), RNG.normal(size=3), RNG.normal(size=4))),
]


@pytest.mark.parametrize(("program", "arguments"), PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_its_gradient_is_proved(program: Any, arguments: tuple[Any, ...]) -> None:
    found = bridge.grad(program, tuple(range(len(arguments))))(*arguments)
    for k, gradient in enumerate(found):
        differences = np.zeros(np.shape(arguments[k]))
        for at in np.ndindex(differences.shape):
            step = np.zeros(differences.shape)
            step[at] = 1e-6
            above, below = (program(*arguments[:k], arguments[k] + s, *arguments[k + 1 :]) for s in (step, -step))
            differences[at] = (above - below) / 2e-6
        np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6 * np.max(np.abs(differences)))


def test_what_has_no_rule_is_named() -> None:
    def program(x: Any) -> Any:
        return np.sum(scipy.linalg.schur(x)[0])

    with pytest.raises(BridgeError, match="schur"):
        bridge.grad(program)(RNG.normal(size=(3, 3)))
