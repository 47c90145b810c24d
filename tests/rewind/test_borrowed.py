"""Large arguments are the caller's memory until they are written: neither program nor caller sees a difference."""

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError
from bridge.rewind import borrowed
from bridge.rewind.borrowed import mark_of
from tests.helpers.memory import peak_of

N = 48


@pytest.fixture(autouse=True)
def small_ones_too(monkeypatch):
    monkeypatch.setattr(borrowed, "LARGE", 1)


def only_read(a, b):
    return np.sum((a @ b) @ a) + np.sum(np.sin(a) * b)


def written_at_once(a, b):
    a *= b
    return np.sum(a * a)


def views_before_the_write(a, b):
    row, turned, back, flat = a[3], a.T, a[::-1, ::2], a.reshape(-1)
    inner = turned[2:5][:, ::3]
    before = np.sum(row * row) + np.sum(inner**3)
    a[2:6] = b[2:6] * 2
    row += 1.0
    flat[7] = flat[8] * 3
    return before + np.sum(row * row) + np.sum(inner * inner) + np.sum(back[0] * b[0, ::2]) + np.sum(np.sin(flat))


def written_through_a_view(a, b):
    part = a[1:-1, 1:-1]
    whole = np.sum(a * b)
    part[...] = part * b[1:-1, 1:-1]
    part[0, 0] = a[0, 0]
    for row in a:
        row[1] *= row[0]
    return whole + np.sum(a * a)


def read_again_by_what_was_logged(a, b):
    y = a @ b
    z = a * a
    a[...] = np.cos(a)
    w = a * z
    a[0] = 0.0
    return np.sum(y * y) / N + np.sum(z) + np.sum(w) + np.sum(a)


def gathered(a, b):
    k = np.array([1, 3, 3])
    before = a[k] * 2
    a[k, k] = before[:, 0]
    np.add.at(a, (k, 0), b[0, :3])
    a[a > 0.5] *= 2.0
    return np.sum(before * before) + np.sum(a * a)


def both_written(a, b):
    t = a[0] * b[0]
    a[0], b[0] = b[1] * 1.0, t
    np.multiply(a, b, out=b)
    np.copyto(a, b)
    return np.sum(a * b)


def in_a_checkpoint(a, b):
    def body(a, b):
        y = a[0] * b[0]
        a[1:] *= y[1:, None]
        return np.sum(a) + np.sum(y)

    return bridge.checkpoint(body)(a, b) + np.sum(a * a)


def inner_gradient(a, b):
    def inner(x):
        x[0] *= 2.0
        return np.sum(x * x * b)

    g = bridge.grad(inner)(a)
    a[1] += g[2]
    return np.sum(g * a)


PROGRAMS = [
    only_read, written_at_once, views_before_the_write, written_through_a_view, read_again_by_what_was_logged, gathered,
    both_written, in_a_checkpoint, inner_gradient,
]  # fmt: skip


def arguments(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, N)), rng.normal(size=(N, N))


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs(program, argnums, monkeypatch):
    a, b = arguments()
    value, gradient = bridge.value_and_grad(program, argnums=argnums, engine="native")(a, b)
    np.testing.assert_array_equal((a, b), arguments())
    for one in gradient if type(gradient) is tuple else (gradient,):
        assert not np.shares_memory(one, a) and not np.shares_memory(one, b)
    monkeypatch.setattr(borrowed, "LARGE", 1 << 60)
    copied_value, copied = bridge.value_and_grad(program, argnums=argnums, engine="native")(a, b)
    assert value == copied_value == program(a.copy(), b.copy())
    np.testing.assert_allclose(gradient, copied, rtol=1e-12, atol=1e-12)


def test_a_diagonal_stays_read_only():
    def program(a):
        diagonal = np.diagonal(a)
        a[0] = 1.0
        diagonal[...] = 2.0
        return np.sum(a)

    with pytest.raises(AliasError, match="read-only"):
        bridge.grad(program, engine="native")(arguments()[0])


def test_after_an_error_the_argument_holds_what_it_held():
    def program(a):
        a[...] = 0.0
        raise KeyError("stop")

    a = arguments()[0]
    with pytest.raises(KeyError):
        bridge.grad(program, engine="native")(a)
    np.testing.assert_array_equal(a, arguments()[0])


def double(a):
    a *= 2.0


def negate(a):
    a *= -1.0


def swap_rows(a):
    a[[0, 1]] = a[[1, 0]]


def swap_signs(a):
    a[0, :2] = -a[0, :2]


def last_element(a):
    a[-1, -1] += 1e-12


@pytest.mark.parametrize("large", [1, 1 << 60])
@pytest.mark.parametrize("source", [True, False])
@pytest.mark.parametrize("change", [double, negate, swap_rows, swap_signs, last_element])
@pytest.mark.parametrize("write", [False, True])
@pytest.mark.parametrize("first", [False, True])
def test_somebody_else_writes_it(change, write, first, source, large, monkeypatch):
    monkeypatch.setattr(borrowed, "LARGE", large)
    a = np.eye(N) + np.arange(N) % 3
    before = a.copy()

    def program(x):
        if write and first:
            x[0, 0] = x[0, 1]
        change(a)
        if write and not first:
            x[0, 0] = x[0, 1]
        return np.sum(x * x)

    if source:
        # In code that is read the argument stands for the array: who writes one has written both.
        gradient = bridge.grad(program, engine="native")(a)
        np.testing.assert_array_equal(a, before)
        monkeypatch.setattr(borrowed, "LARGE", 1 << 60)
        np.testing.assert_array_equal(gradient, bridge.grad(program, engine="native")(a))
        return
    with pytest.raises(AliasError, match=r"wrote into an argument|read under a global or captured name"):
        bridge.grad(program, engine="native", source=False)(a)


def test_the_pull_of_vjp_keeps_its_own():
    a, b = arguments()
    _, pull = bridge.vjp(only_read, a, b, engine="native")
    expected = bridge.grad(only_read, argnums=(0, 1), engine="native")(a, b)
    a[...] = 7.0
    np.testing.assert_allclose(pull(1.0), expected, rtol=1e-12, atol=1e-12)


def test_containers_and_results_that_are_arguments():
    a, b = arguments()

    def program(given):
        return np.sum(given["a"] * given["b"][0]), (given["a"], given["b"][0].T)

    gradient, (same, turned) = bridge.grad(program, has_aux=True, engine="native")({"a": a, "b": [b]})
    np.testing.assert_array_equal(gradient["a"], b)
    np.testing.assert_array_equal(same, a)
    np.testing.assert_array_equal(turned, b.T)
    assert not np.shares_memory(same, a) and not np.shares_memory(turned, b)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex64, np.complex128])
@pytest.mark.parametrize("size", [1, 5, 4096, 4097, 70001])
def test_marks_tell_every_bit(dtype, size):
    x = np.random.default_rng(1).normal(size=size).astype(dtype)
    mark = mark_of(x)
    np.testing.assert_array_equal(mark, mark_of(x.copy()))
    data = x.view(np.uint8)
    rng = np.random.default_rng(2)
    for k in {0, len(data) - 1, *rng.integers(0, len(data), 40).tolist()}:
        for bit in (1, 128):
            data[k] ^= bit
            assert not np.array_equal(mark, mark_of(x))
            data[k] ^= bit
    np.testing.assert_array_equal(mark, mark_of(x))


@pytest.mark.parametrize(
    "change", [lambda x: 2 * x, lambda x: -x, lambda x: x[::-1], lambda x: np.roll(x, 4096), lambda x: np.sort(x)]
)
@pytest.mark.parametrize("kind", ["normal", "signs", "eye"])
def test_marks_tell_changes_of_many(change, kind):
    rng = np.random.default_rng(3)
    x = {"normal": rng.normal(size=65536), "signs": rng.choice([-1.0, 1.0], 65536), "eye": np.eye(256).ravel()}[kind]
    x[0] = 3.0
    assert not np.array_equal(mark_of(x), mark_of(np.ascontiguousarray(change(x))))


def test_memory(monkeypatch):
    monkeypatch.setattr(borrowed, "LARGE", 1 << 20)
    a, x = np.ones((1500, 1000)), np.ones(1000)

    def program(a, x):
        return np.sum((a @ x) @ a)

    gradient = bridge.grad(program, argnums=(0, 1), engine="native")
    gradient(np.ones((4, 3)), np.ones(3))
    assert peak_of(gradient, a, x) < 1.2 * a.nbytes
