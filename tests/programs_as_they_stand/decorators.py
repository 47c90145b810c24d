"""Functions under decorators, partial applications and registries."""

import functools
import inspect
import operator
import time
from contextlib import ContextDecorator
from functools import cached_property, lru_cache, partial, singledispatch, wraps
from types import SimpleNamespace

import numpy as np

from tests.programs_as_they_stand.record import Field

program = Field("decorators")

X = np.array([0.4, 0.9, 1.3, 0.7])
MODELS = {}
TIMES = {}


def timed(function):
    @wraps(function)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            TIMES[function.__name__] = TIMES.get(function.__name__, 0.0) + time.perf_counter() - start

    return wrapper


@timed
def smooth(u, passes=3):
    """Smooth `u`."""
    out = np.zeros((passes + 1, len(u)))
    out[0] = u
    for k in range(passes):
        out[k + 1, 1:-1] = (out[k, 2:] + out[k, 1:-1] + out[k, :-2]) / 3
        out[k + 1, [0, -1]] = out[k, [0, -1]]
    return out[-1] @ out[-1]


program("a timed function", lambda: smooth, X, effects=True)


def repeat(times, combine=operator.add):
    def decorate(function):
        @wraps(function)
        def wrapper(x, *rest):
            results = []
            for k in range(times):
                results.append(function(x, k, *rest))
            return functools.reduce(combine, results)

        return wrapper

    return decorate


@timed
@repeat(3, combine=operator.mul)
def weighted(x, k, shift):
    w = np.empty(len(x))
    w[:] = np.arange(len(x)) + k
    w += shift
    return (w * x).sum()


program("two decorators, one with arguments", lambda: weighted, X, 0.5, argnums=(0, 1), effects=True)


def register(name):
    def store(function):
        MODELS[name] = function
        return function

    return store


@register("linear")
def linear(t, a, b):
    return a + b * t


@register("saturating")
def saturating(t, a, b):
    out = np.zeros(t.shape)
    rising = t > 1
    out[rising] = a * (1 - np.exp(-b * t[rising]))
    return out


def misfit(params):
    t = np.arange(4.0)
    return sum(np.sum((MODELS[name](t, *params) - X) ** 2) for name in ("linear", "saturating"))


program("models in a registry", lambda: misfit, [1.1, 0.6])


@lru_cache(maxsize=None)
def quadrature(n):
    return np.polynomial.legendre.leggauss(n)


@lru_cache
def binomial(n, k):
    return 1 if k in (0, n) else binomial(n - 1, k - 1) + binomial(n - 1, k)


def bernstein_area(control):
    nodes, weights = quadrature(4)
    t = 0.5 * (nodes + 1)
    n = len(control) - 1
    curve = np.zeros(len(t))
    for k, c in enumerate(control):
        curve += binomial(n, k) * t**k * (1 - t) ** (n - k) * c
    return 0.5 * weights @ curve**2


program("helpers that are cached", lambda: bernstein_area, X)


def residual(scale, offset, x, *, power):
    r = np.zeros(3)
    np.subtract(scale * x[:3] ** power, x[1:], out=r)
    r += offset
    return r @ r


program("a partial with keywords", lambda: partial(residual, offset=0.3, x=X, power=2), 1.4)
program("a partial of a partial", lambda: partial(partial(residual, 1.4, power=3), 0.2), X)


@singledispatch
def area(shape, scale):
    raise TypeError(f"no area of {shape!r}")


@area.register
def _(shape: float, scale):
    return np.pi * (scale * shape) ** 2


@area.register(list)
def _(shape, scale):
    sides = np.zeros(len(shape))
    for k, s in enumerate(shape):
        sides[k] = s * scale
    s = sides.sum() / 2
    return np.sqrt(s * np.prod(s - sides))


program(
    "single dispatch on another argument", lambda: lambda scale: area(2.0, scale) + area([3.0, 4.0, 4.5], scale), 1.2
)


class counted:
    def __init__(self, function):
        functools.update_wrapper(self, function)
        self.function, self.calls = function, 0

    def __call__(self, *args):
        self.calls += 1
        return self.function(*args)

    def __get__(self, instance, owner):
        return partial(self, instance)


class Oscillator:
    scratch = np.zeros(6)

    def __init__(self, mass):
        self.mass = mass

    @cached_property
    def stiffness(self):
        return np.array([3.0, 1.0]) / self.mass

    @counted
    def energy(self, x):
        return 0.5 * self.stiffness @ x[:2] ** 2 + 0.1 * x[2] * x[3]

    @staticmethod
    def damped(x, c):
        return x * np.exp(-c * np.arange(len(x)))

    def objective(self, x, c):
        self.scratch[:4] = self.damped(x, c)
        return self.energy(self.scratch[:4]) + self.scratch[3]


program(
    "a counting descriptor, a cached property, a static method",
    lambda: Oscillator(2.0).objective,
    X,
    0.3,
    argnums=(0, 1),
    effects=True,
)


class quiet(ContextDecorator):
    def __enter__(self):
        self.old = np.seterr(divide="ignore", invalid="ignore")
        return self

    def __exit__(self, *exc):
        np.seterr(**self.old)
        return False


@quiet()
def safe_entropy(p):
    total = 0.0
    parts = np.zeros((2, 4))
    parts[0] = p / p.sum()
    parts[1] = -parts[0] * np.log(parts[0])
    for v in parts[1]:
        total += 0.0 if np.isnan(v) else v
    return total


program("a context that decorates", lambda: safe_entropy, X, effects=True)


def checked(**limits):
    def decorate(function):
        signature = inspect.signature(function)

        @wraps(function)
        def wrapper(*args, **kwargs):
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            for name, (low, high) in limits.items():
                value = bound.arguments[name]
                if not low <= value <= high:
                    raise ValueError(f"{name}={value} is not within [{low}, {high}]")
            return function(*bound.args, **bound.kwargs)

        return wrapper

    return decorate


@checked(albedo=(0, 1), emissivity=(0.5, 1.0))
def planet_temperature(albedo, emissivity=0.9):
    history = np.full(60, 280.0)
    for k in range(1, 60):
        absorbed = 342 * (1 - albedo)
        history[k] = history[k - 1] + 0.2 * (absorbed - emissivity * 0.6 * 5.67e-8 * history[k - 1] ** 4)
    return history[-1]


program("arguments checked against their limits", lambda: planet_temperature, 0.3)
program(
    "arguments outside of their limits",
    lambda: planet_temperature,
    1.3,
    expected="ValueError: albedo=",
)


@np.vectorize
def piecewise(t):
    if t < 0.6:
        return t**2
    return 0.36 + 1.2 * (t - 0.6)


program("np.vectorize of a branch", lambda: lambda x: piecewise(x).sum() * x[0], X, step=1e-3)


def make_objective(config):
    ns = SimpleNamespace(**config)

    def cost(x):
        ns.buffer[...] = x
        ns.buffer *= ns.gain
        return ns.reduce(ns.buffer)

    cost.config = ns
    return cost


program(
    "a namespace of settings with a buffer",
    lambda: make_objective({"buffer": np.zeros(4), "gain": 1.5, "reduce": lambda b: np.sum(b**3)}),
    X,
)


def memoized(function):
    cache = {}

    @wraps(function)
    def wrapper(i, j):
        if (i, j) not in cache:
            cache[i, j] = function(i, j)
        return cache[i, j]

    return wrapper


def edit_distance(substitution, gap):
    a, b = "kitten", "sitting"

    @memoized
    def d(i, j):
        if i == 0 or j == 0:
            return (i + j) * gap
        cost = 0 if a[i - 1] == b[j - 1] else substitution
        return min(d(i - 1, j) + gap, d(i, j - 1) + gap, d(i - 1, j - 1) + cost)

    return d(len(a), len(b)) ** 2


program("a memo that lives within the call", lambda: edit_distance, 1.2, 0.9, argnums=(0, 1), step=1e-3)
