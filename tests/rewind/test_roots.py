"""Cotangents that nobody else holds are written and handed out in place of copies, and no others are."""

import numpy as np
import pytest

import bridge
from bridge.extend import pulls
from bridge.rewind import log
from bridge.rewind.roots import is_held_alone
from tests.helpers.memory import peak_of

N = 512


class Holder:
    def __init__(self, shadow):
        self.shadow = shadow


def test_who_is_alone():
    held = Holder(np.zeros((2, 3)))
    assert is_held_alone(held)
    other = held.shadow
    assert not is_held_alone(held)
    del other
    view = held.shadow[0]
    assert not is_held_alone(held)
    del view
    assert is_held_alone(held)


@pytest.mark.parametrize(
    ("made", "alone"),
    [
        (lambda: np.zeros(6).reshape(2, 3), True),
        (lambda: np.zeros((2, 3)).T, True),
        (lambda: np.zeros(6)[::2], False),
        (lambda: np.broadcast_to(np.zeros(3), (2, 3)), False),
        (lambda: np.frombuffer(bytearray(16)), False),
        (lambda: np.zeros((2, 3))[:, ::-1], False),
        (lambda: KEPT.reshape(2, 2), False),
        (lambda: np.float64(1.0), False),
        (lambda: None, False),
    ],
)
def test_kinds_of_arrays(made, alone):
    held = Holder(made())
    assert is_held_alone(held) == alone


KEPT = np.arange(1.0, 5.0)


@pytest.fixture
def product():
    # Its pull hands out an array that it keeps, and views of what it is given.
    return pulls(lambda x, y: x * y, lambda ct, out, x, y: KEPT, lambda ct, out, x, y: ct.reshape(2, 2).reshape(4))


def test_an_array_that_a_rule_keeps_is_not_written_and_not_handed_out(product):
    def kept_by_a_rule(x, y):
        return np.sum(product(x, y)) + np.sum(x * 3) + np.sum(y * 2)

    before = KEPT.copy()
    x = np.ones(4)
    both = bridge.grad(kept_by_a_rule, argnums=(0, 1), engine="native")(x, x + 1)
    np.testing.assert_array_equal(both[0], before + 3)
    only = bridge.grad(lambda x: np.sum(product(x, np.ones(4))), engine="native")(x)
    assert not np.shares_memory(only, KEPT)
    np.testing.assert_array_equal(only, before)
    np.testing.assert_array_equal(KEPT, before)


def sums(x, y):
    z = x + y
    return np.sum(z * z) + np.sum(z) + np.sum((x - y) ** 2)


def same_twice(x, y):
    z = x + x
    z += x
    w = z.reshape(2, 2) + z.reshape(2, 2).T
    return np.sum(w * w) + np.sum(np.sin(z) * y)


def written_between(x, y):
    z = x * 1.0
    w = z + y
    z[1:3] = w[:2] * z[1:3]
    z += w
    z[::2] += y[::2]
    return np.sum(z * w) + np.sum(z)


def whole_writes(x, y):
    x[:] = x * y + x
    y[...] = np.sin(x)
    x[::-1] = y * x
    return np.sum(x * x) + np.sum(y)


def difference(program, given, k, step=1e-6):
    found = np.zeros(4)
    for j in range(4):
        above, below = ([x.copy() for x in given] for _ in range(2))
        above[k][j] += step
        below[k][j] -= step
        found[j] = (program(*above) - program(*below)) / (2 * step)
    return found


def products(x, y):
    a = np.outer(x, y)
    return np.sum((a @ x) @ a) + np.sum(a @ a.T @ y) + np.dot(x, a @ y)


@pytest.mark.parametrize("program", [sums, same_twice, written_between, whole_writes, products])
def test_gradients(program):
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=4), rng.normal(size=4)
    found = bridge.grad(program, argnums=(0, 1), engine="native")(x, y)
    assert not np.shares_memory(*found)
    for k, gradient in enumerate(found):
        np.testing.assert_allclose(gradient, difference(program, (x, y), k), rtol=1e-6, atol=1e-7)


def bilinear(a, x):
    return np.sum((a @ x) @ a)


def in_turned(a, x):
    return np.sum(a.T @ x) + np.sum(np.sin(a @ x)) + np.dot(x, np.dot(a, x))


def with_parts(a, x):
    a[1:] *= 2.0
    return np.sum(a[: N // 2].T @ x[: N // 2]) + np.sum((a @ x) ** 2) + np.sum(np.tanh(x @ a))


def of_matrices(a, x):
    return np.sum((a @ a) ** 2) / N + np.sum(np.dot(a, a.T) @ x)


@pytest.mark.parametrize("program", [bilinear, in_turned, with_parts, of_matrices])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_that_are_added_where_the_others_are(program, order, monkeypatch):
    rng = np.random.default_rng(5)
    a, x = np.asarray(rng.normal(size=(N, N)), order=order), rng.normal(size=N)
    gradient = bridge.grad(program, engine="native")(a, x)
    monkeypatch.setattr(log, "_LARGE", a.size + 1)
    pulled = bridge.grad(program, engine="native")(a, x)
    np.testing.assert_allclose(gradient, pulled, rtol=1e-10, atol=1e-10)


def test_memory_of_large_products():
    a, x = np.ones((2000, 1000)), np.ones(1000)
    gradient = bridge.grad(bilinear, argnums=(0, 1), engine="native")
    gradient(np.ones((4, 3)), np.ones(3))
    # The copy of the argument and its gradient.
    assert peak_of(gradient, a, x) < 2.2 * a.nbytes
