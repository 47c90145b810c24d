"""Statistical models: likelihoods, expectation-maximisation, iterations to convergence."""

import math
import statistics
from itertools import groupby

import numpy as np
from scipy import linalg, stats
from scipy.optimize import minimize
from scipy.special import gammaln, logsumexp

from tests.programs_as_they_stand.record import Field

program = Field("statistics")

RNG = np.random.default_rng(8)
DESIGN = np.column_stack([np.ones(14), RNG.standard_normal(14), RNG.uniform(-1, 1, 14)])
LABELS = (DESIGN @ [0.3, 1.0, -2.0] + RNG.standard_normal(14) > 0).astype(float)
SAMPLE = np.concatenate([RNG.normal(-1, 0.6, 9), RNG.normal(2, 0.8, 7)])


def irls(ridge, X):
    beta = np.zeros(X.shape[1])
    for iteration in range(25):
        p = 1.0 / (1.0 + np.exp(-(X @ beta)))
        w = p * (1 - p)
        H = X.T @ (w[:, None] * X) + ridge * np.eye(X.shape[1])
        delta = np.linalg.solve(H, X.T @ (LABELS - p) - ridge * beta)
        beta = beta + delta
        if np.max(np.abs(delta)) < 1e-13:
            break
    return beta @ beta


program("logistic regression by reweighted least squares", lambda: irls, 0.5, DESIGN, argnums=(0, 1))


class GaussianMixture:
    def __init__(self, k=2, max_iter=8):
        self.k, self.max_iter = k, max_iter

    def fit(self, x, start):
        self.mu_, self.var_, self.pi_ = np.array(start), np.ones(self.k), np.full(self.k, 1 / self.k)
        for _ in range(self.max_iter):
            resp = self._e_step(x)
            self._m_step(x, resp)
        return self

    def _e_step(self, x):
        log_p = np.empty((len(x), self.k))
        for j in range(self.k):
            log_p[:, j] = np.log(self.pi_[j]) - 0.5 * np.log(self.var_[j]) - 0.5 * (x - self.mu_[j]) ** 2 / self.var_[j]
        self.loglik_ = logsumexp(log_p, axis=1).sum()
        return np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))

    def _m_step(self, x, resp):
        Nk = resp.sum(axis=0)
        for j in range(self.k):
            self.mu_[j] = (resp[:, j] * x).sum() / Nk[j]
            self.var_[j] = (resp[:, j] * (x - self.mu_[j]) ** 2).sum() / Nk[j] + 1e-3
        self.pi_ = Nk / Nk.sum()


def mixture_likelihood(x, start):
    return GaussianMixture().fit(x, start).loglik_


program("a Gaussian mixture that is made and fitted", lambda: mixture_likelihood, SAMPLE, [-0.5, 0.7], argnums=(0, 1))


def gp_nll(theta, X, y):
    amp, scale, noise = np.exp(theta)
    d2 = (X[:, None] - X[None, :]) ** 2
    K = amp * np.exp(-0.5 * d2 / scale**2)
    K[np.diag_indices_from(K)] += noise
    c, lower = linalg.cho_factor(K, lower=True)
    alpha = linalg.cho_solve((c, lower), y)
    return 0.5 * y @ alpha + np.log(np.diag(c)).sum() + 0.5 * len(y) * np.log(2 * np.pi)


program(
    "a Gaussian process with cho_factor",
    lambda: gp_nll,
    np.array([0.1, -0.3, -2.0]),
    SAMPLE,
    np.sin(SAMPLE),
    argnums=(0, 1),
)


def hmm_forward(log_odds, emission):
    stay = 1 / (1 + np.exp(-log_odds))
    A = np.array([[stay, 1 - stay], [1 - stay, stay]])
    pi = np.array([0.5, 0.5])
    obs = [0, 1, 1, 0, 0, 2, 1, 2, 2]
    alpha = np.zeros((len(obs), 2))
    scale = np.zeros(len(obs))
    alpha[0] = pi * emission[:, obs[0]]
    scale[0] = alpha[0].sum()
    alpha[0] /= scale[0]
    for t in range(1, len(obs)):
        alpha[t] = (alpha[t - 1] @ A) * emission[:, obs[t]]
        scale[t] = alpha[t].sum()
        alpha[t] /= scale[t]
    return -np.log(scale).sum()


EMISSION = np.array([[0.6, 0.3, 0.1], [0.1, 0.4, 0.5]])
program("a hidden Markov model, scaled row by row", lambda: hmm_forward, 1.2, EMISSION, argnums=(0, 1))


def arma_css(phi, theta, mu):
    y = SAMPLE - mu
    eps = np.zeros_like(y)
    for t in range(len(y)):
        ar = sum(phi[i] * y[t - 1 - i] for i in range(len(phi)) if t - 1 - i >= 0)
        ma = sum(theta[j] * eps[t - 1 - j] for j in range(len(theta)) if t - 1 - j >= 0)
        eps[t] = y[t] - ar - ma
    return np.sum(eps[2:] ** 2)


program(
    "ARMA residuals with zeros_like of a tracked array",
    lambda: arma_css,
    np.array([0.5, -0.2]),
    [0.3],
    0.4,
    argnums=(0, 1, 2),
)


def cox(beta, covariates):
    times = [5, 3, 9, 7, 2, 8]
    event = [True, True, False, True, True, True]
    order = sorted(range(6), key=lambda i: -times[i])
    risk, loglik = 0.0, 0.0
    for i in order:
        eta = covariates[i] @ beta
        risk += math.exp(eta)
        if event[i]:
            loglik += eta - math.log(risk)
    return loglik


program("Cox's partial likelihood", lambda: cox, np.array([0.4, -0.3, 0.2]), DESIGN[:6], argnums=(0, 1))


def soft_threshold(z, g):
    if z > g:
        return z - g
    elif z < -g:
        return z + g
    return 0.0


def lasso(lam, y):
    X = DESIGN - DESIGN.mean(axis=0)
    n, p = X.shape
    beta = np.zeros(p)
    residual = y - y.mean()
    for sweep in range(30):
        for j in range(1, p):
            residual += X[:, j] * beta[j]
            rho = X[:, j] @ residual / n
            beta[j] = soft_threshold(rho, lam) / (X[:, j] @ X[:, j] / n)
            residual -= X[:, j] * beta[j]
    return np.sum(residual**2) + np.abs(beta).sum()


program("lasso by coordinate descent", lambda: lasso, 0.1, SAMPLE[:14] ** 2, argnums=(0, 1), step=1e-4)


def pava(y):
    blocks = [[value, 1] for value in y]
    i = 0
    while i < len(blocks) - 1:
        if blocks[i][0] > blocks[i + 1][0]:
            (a, m), (b, n) = blocks[i], blocks.pop(i + 1)
            blocks[i] = [(a * m + b * n) / (m + n), m + n]
            i = max(i - 1, 0)
        else:
            i += 1
    fitted = np.repeat([v for v, _ in blocks], [n for _, n in blocks])
    return np.sum((fitted - y) ** 2) + fitted[3]


program(
    "isotonic regression, blocks merged in a list",
    lambda: pava,
    np.array([1.0, 0.4, 2.0, 1.9, 1.2, 3.0, 2.5]),
    step=1e-3,
)


def box_cox(lmbda):
    y = np.exp(SAMPLE / 3)
    z = (y**lmbda - 1) / lmbda if lmbda != 0 else np.log(y)
    return (lmbda - 1) * np.sum(np.log(y)) - len(y) / 2 * np.log(np.var(z))


program("Box and Cox, branching on zero", lambda: box_cox, 0.7)


def poisson_map(scale, counts):
    def negative_log_posterior(b):
        rate = np.exp(DESIGN[:5] @ b)
        return np.sum(rate - counts * np.log(rate) + gammaln(counts + 1)) + 0.5 * np.sum(b**2) / scale**2

    result = minimize(negative_log_posterior, np.zeros(3), method="BFGS", options={"gtol": 1e-9})
    return np.sum(result.x**2)


program(
    "a posterior mode with scipy.optimize.minimize",
    lambda: poisson_map,
    1.5,
    np.array([2.0, 0.0, 1.0, 4.0, 1.0]),
    argnums=(0, 1),
    tolerance=1e-4,
)


def by_group(effects, sigma):
    rows = [("a", 1.0), ("a", 1.4), ("b", 0.2), ("c", 2.2), ("c", 1.8), ("c", 2.9)]
    total = 0
    for (label, group), effect in zip(groupby(rows, key=lambda r: r[0]), effects):
        values = [value for _, value in group]
        total += stats.norm.logpdf(values, loc=effect, scale=sigma).sum()
        total += stats.norm.logpdf(effect, statistics.mean(values), 2.0)
    return total


program("groups with groupby and scipy.stats", lambda: by_group, np.array([1.1, 0.3, 2.0]), 0.7, argnums=(0, 1))


def jackknife(x, power):
    n = len(x)
    estimates = np.array([np.mean(np.delete(x, i) ** power) ** (1 / power) for i in range(n)])
    full = np.mean(x**power) ** (1 / power)
    bias = (n - 1) * (estimates.mean() - full)
    return full - bias + np.sqrt((n - 1) / n * np.sum((estimates - estimates.mean()) ** 2))


program("the jackknife with np.delete", lambda: jackknife, np.abs(SAMPLE[:7]) + 0.5, 1.5, argnums=(0, 1))


def kernel_density(bandwidth, points):
    grid = np.linspace(-3, 4, 15)
    density = np.zeros(len(grid))
    for p in points:
        density += np.exp(-0.5 * ((grid - p) / bandwidth) ** 2)
    density /= len(points) * bandwidth * math.sqrt(2 * math.pi)
    return np.trapezoid(density**2, grid)


program("a kernel density, roughness", lambda: kernel_density, 0.5, SAMPLE, argnums=(0, 1))


def dirichlet_fit(alpha):
    data = np.array([[0.2, 0.5, 0.3], [0.4, 0.4, 0.2], [0.1, 0.7, 0.2]])
    ll = 0.0
    for row in data:
        ll += gammaln(alpha.sum()) - gammaln(alpha).sum() + np.dot(alpha - 1, np.log(row))
    return ll / len(data)


program("a Dirichlet likelihood with gammaln", lambda: dirichlet_fit, np.array([2.0, 4.0, 2.5]), step=1e-3)
