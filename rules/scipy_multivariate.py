"""Densities of the multivariate distributions of `scipy.stats`: normal, Dirichlet, multinomial."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from bridge.extend import TrackedObject, as_array, known, needs, refuse, stand_in
from bridge.rules.scipy_systems import triangular

stats = needs("scipy.stats")
sp = needs("scipy.special")


def _squeezed(x: Any) -> Any:
    x = np.squeeze(x)
    return x[()] if x.ndim == 0 else x


def _double(x: Any) -> Any:
    x = as_array(x)
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _mean_and_covariance(mean: Any, cov: Any) -> tuple[int, Any, Any]:
    """The dimension, and both parameters as arrays, completed and checked as SciPy does it."""
    if isinstance(cov, stats.Covariance):
        cov = cov.covariance
    cov = _double(1.0 if cov is None else cov)
    mean = None if mean is None else _double(mean)
    size = (1 if cov.ndim < 2 else cov.shape[0]) if mean is None else mean.size
    mean = np.zeros(size) if mean is None else mean
    if size == 1:
        mean, cov = np.reshape(mean, (1,)), np.reshape(cov, (1, 1))
    if mean.ndim != 1:
        raise ValueError(f"Array 'mean' must be a vector of length {size}.")
    if cov.ndim == 0:
        cov = cov * np.eye(size)
    elif cov.ndim == 1:
        cov = np.diag(cov)
    if cov.shape != (size, size):
        raise ValueError(f"Dimension mismatch: 'cov' is of shape {cov.shape}, but 'mean' is a vector of length {size}.")
    return size, mean, cov


def _normal_logpdf(x, mean, cov, allow_singular):
    """By a Cholesky factor: of the covariance only the lower triangle is read, as in SciPy."""
    size, mean, cov = _mean_and_covariance(mean, cov)
    if allow_singular and known(cov) is not None and np.linalg.matrix_rank(known(cov), hermitian=True) < size:
        refuse("scipy.stats.multivariate_normal of a singular covariance", "leave out the directions without variance")
    factor = np.linalg.cholesky(cov)
    x = _double(x)
    if x.ndim < 2:
        x = np.reshape(x, (-1, 1)) if size == 1 else np.reshape(x, (1, -1))
    deviation = np.reshape(x - mean, (-1, size))
    whitened = triangular(factor, deviation.T, True, 0, False)
    distance = np.reshape(np.sum(whitened * whitened, axis=0), x.shape[:-1])
    half_log_det = np.sum(np.log(np.diagonal(factor)))
    return _squeezed(-size * math.log(2 * math.pi) / 2 - half_log_det - distance / 2)


def _dirichlet_logpdf(x, alpha):
    alpha, x = _double(alpha), _double(x)
    if known(alpha) is not None and known(x) is not None:
        stats.dirichlet.logpdf(known(x), known(alpha))  # Raises for what is no point of the simplex.
    if x.shape[0] + 1 == alpha.shape[0]:
        x = np.concatenate([x, np.expand_dims(1 - np.sum(x, axis=0), 0)])
    norm = np.sum(sp.gammaln(alpha)) - sp.gammaln(np.sum(alpha))
    return _squeezed(np.sum(sp.xlogy(alpha - 1, x.T).T, axis=0) - norm)


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # SciPy 1.17 announces the change
    _COMPLETES = bool(np.isfinite(stats.multinomial.logpmf([1, 0], 1, [0.5, 0.6])))
"""Whether the last probability is what the others leave, if they do not sum to one: since SciPy 1.18 these are NaN."""


def _multinomial_logpmf(x, n, p):
    p = as_array(p)
    sums_to_one = 10 * np.finfo(np.result_type(p.dtype, np.float32)).eps
    p, counts, n = _double(p), _double(x), _double(n)
    apart = np.abs(1 - np.sum(p, axis=-1)) > sums_to_one
    if _COMPLETES:
        last = np.where(np.expand_dims(apart, -1), 1 - np.sum(p[..., :-1], axis=-1, keepdims=True), p[..., -1:])
        p = np.concatenate([p[..., :-1], last], axis=-1)
    if counts.shape[-1] != p.shape[-1]:
        raise ValueError(f"Size of each quantile should be size of p: received {counts.shape[-1]}")
    whole = np.all((counts >= 0) & (np.floor(counts) == counts), axis=-1) & (np.sum(counts, axis=-1) == n)
    good = np.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0) & (_COMPLETES | ~apart)
    safe = np.where(np.expand_dims(whole, -1), counts, 0)
    found = sp.gammaln(n + 1) + np.sum(sp.xlogy(safe, p) - sp.gammaln(safe + 1), axis=-1)
    found = np.where(good, np.where(whole, found, -np.inf), np.nan)
    return found[()] if found.ndim == 0 else found


def _register(distribution: Any, log_density: Any, name: str, frozen_parameters: Any) -> None:
    """The stand-ins of a density and its logarithm, of the distribution, its frozen form, and of freezing it."""
    kind = type(distribution)

    def logarithm(owner, x, *args, **kwds):
        return log_density(x, *args, **kwds)

    def density(owner, x, *args, **kwds):
        return np.exp(log_density(x, *args, **kwds))

    class FrozenMultivariate(TrackedObject):
        """The distribution with parameters of which some are tracked."""

        def __init__(self, *args: Any, **kwds: Any) -> None:
            self._args, self._kwds = args, kwds

        def __getattr__(self, method: str) -> Any:
            if method.startswith("_") or method == "place":
                raise AttributeError(method)
            if method not in (name, f"log{name}"):
                refuse(f"scipy.stats: {kind.__name__}.{method} of tracked numbers", "use its density, or bridge.detach")
            compute = logarithm if method.startswith("log") else density
            return lambda x: compute(None, x, *self._args, **self._kwds)

    stand_in(getattr(kind, f"log{name}"))(logarithm)
    stand_in(getattr(kind, name))(density)
    stand_in(kind.__call__)(lambda owner, *args, **kwds: FrozenMultivariate(*args, **kwds))
    frozen, parameters = frozen_parameters
    stand_in(getattr(frozen, f"log{name}"))(lambda owner, x: log_density(x, *parameters(owner)))
    stand_in(getattr(frozen, name))(lambda owner, x: np.exp(log_density(x, *parameters(owner))))


def _normal(x, mean=None, cov=1, allow_singular=False, seed=None):
    return _normal_logpdf(x, mean, cov, allow_singular)


def _dirichlet(x, alpha, seed=None):
    return _dirichlet_logpdf(x, alpha)


def _multinomial(x, n, p, seed=None):
    return _multinomial_logpmf(x, n, p)


_register(
    stats.multivariate_normal,
    _normal,
    "pdf",
    (type(stats.multivariate_normal()), lambda own: (own.mean, own.cov_object.covariance, own.allow_singular)),
)
_register(stats.dirichlet, _dirichlet, "pdf", (type(stats.dirichlet([1.0, 1.0])), lambda own: (own.alpha,)))
_register(stats.multinomial, _multinomial, "pmf", (type(stats.multinomial(1, [0.5, 0.5])), lambda own: (own.n, own.p)))
