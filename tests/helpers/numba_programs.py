"""Programs of Numba's users: each is a function of one array, compiled or calling what is compiled, with an example."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import float64, jit, njit, prange, vectorize

PROGRAMS: dict[str, tuple[Callable[..., Any], np.ndarray]] = {}


def program(x: np.ndarray) -> Callable[[Any], Any]:
    """Register a program, by its name, with the array at which it is differentiated."""

    def register(f: Any) -> Any:
        PROGRAMS[f.__name__] = f, x
        return f

    return register


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Numbers between 0.5 and 1.5."""
    return np.random.default_rng(seed).uniform(0.5, 1.5, shape)


@program(numbers(4, 3))
@njit
def n_body(p):
    n = p.shape[0]
    v = np.zeros((n, 3))
    q = p.copy()
    for _ in range(5):
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = q[j] - q[i]
                    r2 = d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 0.01
                    for k in range(3):
                        v[i, k] += 0.01 * d[k] / (r2 * np.sqrt(r2))
        for i in range(n):
            for k in range(3):
                q[i, k] += 0.01 * v[i, k]
    return np.sum(q * q)


SPINS = np.where(np.random.default_rng(1).random((6, 6)) < 0.5, -1, 1)


@njit
def _ising(spins, couplings):
    n = spins.shape[0]
    energy = 0.0
    for i in range(n):
        for j in range(n):
            s = spins[i, j]
            energy -= couplings[i, j] * s * (spins[(i + 1) % n, j] + spins[i, (j + 1) % n])
    return energy


@program(numbers(6, 6))
def ising_energy(couplings):
    return _ising(SPINS, couplings) / SPINS.size


@njit(cache=True)
def _solve_tridiagonal(a, b, c, d):
    n = len(d)
    c2, d2, x = np.empty(n), np.empty(n), np.empty(n)
    c2[0] = c[0] / b[0]
    d2[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c2[i - 1]
        c2[i] = c[i] / m
        d2[i] = (d[i] - a[i] * d2[i - 1]) / m
    x[n - 1] = d2[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d2[i] - c2[i] * x[i + 1]
    return x


@program(numbers(8))
def tridiagonal(d):
    x = _solve_tridiagonal(0.3 * d, 2.0 + d, -0.5 * d, d**2)
    return x @ x


@njit
def _lotka_volterra(y, p, dy):
    dy[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    dy[1] = p[2] * y[0] * y[1] - p[3] * y[1]


@program(numbers(4))
@njit
def lotka_volterra_rk4(p):
    y = np.array([1.0, 0.5])
    k1, k2, k3, k4 = np.empty(2), np.empty(2), np.empty(2), np.empty(2)
    h = 0.05
    for _ in range(40):
        _lotka_volterra(y, p, k1)
        _lotka_volterra(y + h / 2 * k1, p, k2)
        _lotka_volterra(y + h / 2 * k2, p, k3)
        _lotka_volterra(y + h * k3, p, k4)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y[0] ** 2 + y[1]


@program(numbers(7, 7))
@njit(parallel=True)
def life_like(u):
    n, m = u.shape
    for _ in range(3):
        new = np.empty_like(u)
        for i in prange(n):
            for j in range(m):
                around = 0.0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            around += u[(i + di) % n, (j + dj) % m]
                new[i, j] = u[i, j] * around / 8 if around > 6.0 else 0.5 * around
        u = new
    return u.sum()


@njit
def _histogram(values, weights, low, high, bins=10):
    counts = np.zeros(bins)
    width = (high - low) / bins
    for k in range(values.size):
        b = int((values[k] - low) / width)
        if b < 0 or b >= bins:
            continue
        counts[b] += weights[k]
    return counts


VALUES = np.random.default_rng(2).normal(size=40)


@program(numbers(40))
def histogram(weights):
    counts = _histogram(VALUES, weights, -2.0, high=2.0, bins=8)
    return np.sum(np.log(1.0 + counts))


@program(numbers(30))
@njit(fastmath=True)
def exponential_average(x):
    alpha, total = 0.3, 0.0
    average = x[0]
    for value in x[1:]:
        average = alpha * value + (1 - alpha) * average
        total += (value - average) ** 2
    return total / (len(x) - 1)


@program(numbers(12) - 0.4)
@njit
def mandelbrot_like(c):
    total = 0.0
    for k in range(c.shape[0]):
        x = y = 0.0
        n = 0
        while x * x + y * y < 4.0 and n < 12:
            x, y = x * x - y * y + c[k] - 0.8, 2 * x * y + 0.3 * c[k]
            n += 1
        total += n + math.log(1.0 + math.sqrt(x * x + y * y))
    return total


@njit(inline="always")
def _polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


@njit
def _moments(x):
    mean = second = 0.0
    for value in x:
        mean += value
        second += value * value
    n = x.size
    return mean / n, second / n - (mean / n) ** 2


@program(numbers(9))
@njit
def tuples_returned(x):
    mean, variance = _moments(x)
    r, phi = _polar(mean, variance)
    return r * phi


@njit
def _huber(r, delta=0.2):
    if abs(r) <= delta:
        return 0.5 * r * r
    return delta * (abs(r) - 0.5 * delta)


@program(numbers(10))
@njit
def early_returns_and_defaults(x):
    total = 0.0
    for i in range(len(x)):
        total += _huber(x[i] - 1.0) + _huber(x[i] - 1.0, delta=0.1)
    return total


@program(numbers(25))
@njit(parallel=True)
def reduction_in_prange(x):
    total = 0.0
    for i in prange(len(x)):
        total += math.exp(-x[i] * x[i])
    return total


@program(numbers(5, 4))
@njit
def matrix_product(a):
    n, m = a.shape
    c = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            s = 0.0
            for k in range(m):
                s += a[i, k] * a[j, k]
            c[i, j] = s
    return np.trace(c @ c)


@program(numbers(6))
@njit("float64(float64[:])")
def signature_as_text(x):
    return (x**2).sum() * x[0]


@njit(float64(float64, float64))
def _kernel(a, b):
    return math.exp(-((a - b) ** 2))


@program(numbers(6))
def signature_of_types(x):
    return sum(_kernel(x[i], x[j]) for i in range(len(x)) for j in range(i))


@vectorize
def _soft(x, t):
    if x > t:
        return x - t
    if x < -t:
        return x + t
    return 0.0 * x


@vectorize([float64(float64, float64)], nopython=True)
def _logistic(x, k):
    return 1.0 / (1.0 + math.exp(-k * x))


@program(numbers(4, 3) - 0.9)
def vectorize_lazily(x):
    return np.sum(_soft(x, 0.1) ** 2) + np.sum(_soft(x[:, None], x))


@program(numbers(5))
def vectorize_with_a_signature(x):
    return np.sum(_logistic(x, 2.0)) * _logistic(x[0], x[1])


@njit
def _with_ufunc(x):
    total = 0.0
    for i in range(x.size):
        total += _logistic(x[i], 1.5)
    return total


@program(numbers(5))
def vectorize_in_njit(x):
    return _with_ufunc(x)


def _power(n):
    @njit
    def power(x):
        found = 1.0
        for _ in range(n):
            found *= x
        return found

    return power


_cube = _power(3)


@njit
def _mapped(f, x):
    found = np.empty(x.size)
    for i in range(x.size):
        found[i] = f(x[i])
    return found


@program(numbers(6))
def closures_as_arguments(x):
    return _mapped(_cube, x) @ x


class Solver:
    """An object with a compiled function as an attribute."""

    def __init__(self, step: Any) -> None:
        self.step = step

    def run(self, u: Any, count: int) -> Any:
        for _ in range(count):
            self.step(u, 0.1)
        return u


@njit
def _diffused(u, k):
    before = u.copy()
    for i in range(1, u.size - 1):
        u[i] += k * (before[i - 1] - 2 * before[i] + before[i + 1])


@program(numbers(12))
def attribute_of_an_object(u):
    return np.sum(Solver(_diffused).run(u, 6) ** 2)


@njit(nogil=True, error_model="numpy")
def _step(u, v, dt, dx):
    n, m = u.shape
    for i in range(1, n - 1):
        for j in range(1, m - 1):
            v[i, j] = u[i, j] + dt / dx**2 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1] - 4 * u[i, j])


@program(numbers(8, 8))
def heat_in_two_arrays(u):
    v = u.copy()
    for _ in range(7):
        _step(u, v, 0.1, 1.0)
        u, v = v, u
    return np.sum(u**2)


@program(numbers(14))
@njit
def dynamic_time_warping(x):
    n = x.size // 2
    cost = np.full((n + 1, n + 1), np.inf)
    cost[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            d = abs(x[i - 1] - x[n + j - 1])
            cost[i, j] = d + min(cost[i - 1, j], cost[i, j - 1], cost[i - 1, j - 1])
    return cost[n, n]


@jit(nopython=True)
def _cholesky(a):
    n = a.shape[0]
    lower = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= lower[i, k] * lower[j, k]
            if i == j:
                lower[i, j] = np.sqrt(s)
            else:
                lower[i, j] = s / lower[j, j]
    return lower


@program(numbers(4, 4))
def cholesky(x):
    lower = _cholesky(x @ x.T + 4 * np.eye(4))
    return np.sum(np.log(np.diag(lower)))


@program(numbers(9))
@njit
def newton(x):
    total = 0.0
    for i in range(len(x)):
        z = 1.0
        for _ in range(30):
            dz = (z**3 + x[i] * z - 2.0) / (3 * z * z + x[i])
            z -= dz
            if abs(dz) < 1e-12:
                break
        total += z
    return total


COLUMNS = np.array([0, 2, 1, 0, 3, 2], np.int32)
STARTS = np.array([0, 2, 3, 5, 6], np.int32)


@njit
def _sparse_product(data, columns, starts, x, out):
    for row in range(len(starts) - 1):
        found = 0.0
        for k in range(starts[row], starts[row + 1]):
            found += data[k] * x[columns[k]]
        out[row] = found


@program(numbers(6))
def sparse_product(data):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    out = np.empty(4)
    for _ in range(3):
        _sparse_product(data, COLUMNS, STARTS, x, out)
        x[:] = out / np.sqrt(np.sum(out**2))
    return np.sum(x * np.arange(4.0))


@program(numbers(20))
@njit
def running_maximum_and_cumulative_sum(x):
    best, total = x[0], 0.0
    out = np.zeros_like(x)
    for i, value in enumerate(x):
        total += value
        best = max(best, value)
        out[i] = total * best
    return out[-1] + np.mean(out)


@njit
def _fibonacci_like(n, a, b):
    if n <= 1:
        return a
    return b * _fibonacci_like(n - 1, a, b) + 0.5


@program(numbers(2))
def recursion(x):
    return _fibonacci_like(5, x[0], x[1])


@program(numbers(6))
@njit
def prange_of_the_module(x):
    out = np.empty(x.size)
    for i in numba.prange(1, x.size - 1):
        out[i] = x[i - 1] * x[i + 1]
    out[0] = out[-1] = 0.0
    return out.sum()
