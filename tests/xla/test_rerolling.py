"""Python loops that repeat themselves become loops of the compiled program, and mean the same."""

from __future__ import annotations

import importlib.util

import numpy as onp
import pytest

import bridge
import bridge.numpy as np


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    from bridge.xla.rerolling import rerolling

    monkeypatch.setattr(rerolling, "LONG", 40)


pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")

X = onp.random.default_rng(0).normal(size=120) * 0.5


def whiles(f, *args):
    """How many loops the traced value has."""
    return bridge.xla(f).lower(*args).as_text().count("stablehlo.while")


def same(f, *args, loops=None, rtol=1e-11):
    """Value and gradient as `engine="native"` has them."""
    value, gradient = bridge.value_and_grad(f, engine="xla")(*args)
    expected, native = bridge.value_and_grad(f, engine="native")(*args)
    onp.testing.assert_allclose(value, expected, rtol=rtol, atol=1e-12)
    onp.testing.assert_allclose(gradient, native, rtol=rtol, atol=1e-12)
    assert gradient.dtype == native.dtype
    if loops is not None:
        assert whiles(f, *args) == loops


def slice_writes(x):
    b = np.zeros_like(x)
    for i in range(60):
        b[i * 2 : (i + 1) * 2] = np.sin(x[i * 2 : (i + 1) * 2]) * 2 + b[i * 2 : i * 2 + 2]
    return np.sum(b * b)


def heat(u):
    u = u.copy()
    for _ in range(80):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) * np.cos(u[1:-1])
    return np.sum(u * u * u)


def recurrence(x):
    s = 0.0
    for i in range(120):
        s = s * x[i] + 1
    return s


def fibonacci(x):
    a, b = x[0], x[1]
    for i in range(2, 100):
        a, b = b, 0.3 * a + np.sin(b) * x[i]
    return a * b


def rows(x):
    a = np.reshape(x, (30, 4))
    b = np.zeros_like(a)
    for i in range(1, 30):
        b[i] = np.tanh(a[i] * b[i - 1]) + a[i] @ b[i - 1] + a[-i, 2]
    return np.sum(b)


def accumulation(x):
    total = np.zeros(4, like=x)
    for i in range(30):
        total += x[4 * i : 4 * i + 4] * x[i]
    return np.sum(total * total)


def carried_array(x):
    s = np.zeros(4)
    for i in range(60):
        s = np.cos(s) * x[i : i + 4] + i
    return np.sum(s) + s[2]


def double(x):
    a = np.reshape(x, (12, 10))
    b = np.zeros_like(a)
    for i in range(12):
        for j in range(10):
            b[i, j] = a[i, j] * np.sin(a[i, j]) + i + 2 * j
    return np.sum(b * b)


def triangle(x):
    total = 0.0
    for i in range(13):
        for j in range(i):
            total = total + x[i] * x[j] * j
    return total


def number_of_iteration(x):
    b = x.copy()
    for i in range(40):
        b[i] = b[i] * i + x[i + 1] ** 2 - i
    return np.sum(b)


def from_the_end(x):
    b = x.copy()
    for i in range(1, 60):
        b[-i] = b[-i - 1] * x[i] + b[i - 1]
    return np.sum(b * x)


def downwards(x):
    b = x.copy()
    for i in range(118, -1, -1):
        b[i] = b[i + 1] * x[i] + 1
    return np.sum(b * x)


def every_second_differs(x):
    b = x.copy()
    for i in range(100):
        b[i] = np.sin(b[i]) if i % 2 else b[i] * x[i + 1]
    return np.sum(b * x)


def special_ends(x):
    s = x[0] * 3
    for i in range(80):
        if i == 0:
            s = s + 2
        elif i == 79:
            s = s * x[5]
        else:
            s = s * x[i] + np.sin(s)
    return s * s


def not_affine(x):
    b = x.copy()
    for i in range(25):
        b[i * i % 97] = np.sin(x[i]) * b[i]
    return np.sum(b * x)


def other_numbers(x):
    b = x.copy()
    for i in range(25):
        b[i] = np.sin(x[i] * (0.1 * i))
    return np.sum(b * x)


ROLLED = {
    slice_writes: 1, heat: 1, recurrence: 1, fibonacci: 1, rows: 1, accumulation: 1, carried_array: 1,
    double: 1, not_affine: 1, other_numbers: 1, number_of_iteration: 1, from_the_end: None,
    downwards: 1, every_second_differs: 1, special_ends: 1, triangle: None,
}  # fmt: skip


@pytest.mark.parametrize("f", ROLLED, ids=lambda f: f.__name__)
def test_rolled(f):
    same(f, X, loops=ROLLED[f])
    assert whiles(f, X) >= 1


def one_differs(x):
    b = x.copy()
    for i in range(8):
        for j in range(6):
            b[i + j] = b[i + j] * x[i] if (i, j) not in ((3, 2), (5, 5), (6, 1)) else np.sin(b[i + j])
        b[i * i % 50] = np.cos(x[i]) * b[i]
    return np.sum(b)


def collected(x):
    found = []
    for i in range(25):
        found.append(np.sin(x[i]) * x[i + 1] + x[i])
    return np.sum(np.stack(found) ** 2)


def widening(x):
    total = 0.0
    for i in range(25):
        total = total + np.sum(x[: i + 1] * x[0])
    return total


def detached(x):
    s = x[0]
    for i in range(25):
        s = s * x[i] + bridge.detach(s) * np.sin(s)
    return s


def branches(x):
    s = x[0]
    for i in range(25):
        s = bridge.cond(s > x[i], lambda s: s * 0.5, lambda s: s + 0.1, s)
    return s * s


def of_two_before(x):
    a, b, c = x[0], x[1], x[2]
    for i in range(3, 100):
        a, b, c = b, c, np.sin(a) * x[i] + b
    return a * b * c


STRAIGHT = [one_differs, collected, widening]


@pytest.mark.parametrize("f", STRAIGHT, ids=lambda f: f.__name__)
def test_left_as_it_is(f):
    same(f, X, loops=0)


@pytest.mark.parametrize("f", [branches, of_two_before, detached], ids=lambda f: f.__name__)
def test_right_whatever_becomes_of_it(f):
    same(f, X)


def test_small_programs_are_not_touched():
    def small(x):
        for i in range(12):
            x[i] = x[i] * 2
        return np.sum(x)

    same(small, X, loops=0)
