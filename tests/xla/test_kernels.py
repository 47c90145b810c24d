"""Loops over small arrays become one kernel: which do, that nothing is kept in vain, and that they compute the same."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special

import bridge
from bridge.xla.tracing import kernels

pytestmark = pytest.mark.processor

KERNEL = re.compile(r' call\([^\n]*inlineable="false",xla_cpu_small_call="true"')
# XLA makes kernels of tiny loops by itself, without the first attribute.


def cholesky(a: Any) -> Any:
    """A triangle inside of two loops, with products of windows."""
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] -= np.dot(a[i, :j], a[j, :j])
            a[i, j] /= a[j, j]
        a[i, i] = np.sqrt(a[i, i] - np.dot(a[i, :i], a[i, :i]))
    return np.sum(np.tril(a) ** 2)


def heated(u: Any) -> Any:
    """Linear, so that its gradient needs nothing of what it overwrites."""
    for _ in range(30):
        u[1:-1] = 0.25 * u[:-2] + 0.5 * u[1:-1] + 0.25 * u[2:]
    return np.sum(u * np.arange(u.size))


def matrices(y: Any) -> Any:
    """A product of matrices, which XLA leaves to a library."""
    for _ in range(5):
        y[:] = np.tanh(y @ y * 0.1)
    return np.sum(y**2)


def texts(function: Callable[[Any], Any], x: Any) -> str:
    """What XLA makes of the gradient."""
    return bridge.xla(bridge.grad(function)).compile(x).as_text()


def positive(n: int) -> Any:
    m = np.random.default_rng(3).standard_normal((n, n))
    return m @ m.T + n * np.eye(n)


@pytest.mark.ci
def test_loops_inside_of_loops_are_one_kernel() -> None:
    # One for the way forward, one for the way back.
    assert len(KERNEL.findall(texts(cholesky, positive(12)))) == 2


@pytest.mark.ci
@pytest.mark.parametrize(
    ("function", "x"),
    [(heated, np.linspace(0, 1, kernels.LARGEST + 3)), (matrices, positive(4))],
    ids=["large arrays", "products of matrices"],
)
def test_what_does_not_fit_is_no_kernel(function: Callable[[Any], Any], x: Any) -> None:
    text = texts(function, x)
    assert " while(" in text and not KERNEL.search(text)


@pytest.mark.ci
def test_the_log_that_nobody_reads_is_not_kept() -> None:
    text = texts(heated, np.linspace(0, 1, 50))
    assert KERNEL.search(text)
    assert "f64[30," not in text


@pytest.mark.ci
def test_what_a_kernel_cannot_hold_is_compiled_without_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "_is_of_matrices", lambda operation: False)
    x = positive(8) * 0.1
    found = bridge.grad(matrices, engine="xla")(x)
    np.testing.assert_allclose(found, bridge.grad(matrices)(x), rtol=1e-10)
    assert not KERNEL.search(texts(matrices, x))


def _row(i: int, y: Any) -> None:
    y[i] = y @ y[i] * 0.1


def _sorted(i: int, y: Any) -> None:
    y[i] = np.sort(y[i]) * 1.1


def _transformed(i: int, y: Any) -> None:
    y[i] = np.abs(np.fft.fft(y[i])) * 0.1


def _duplicates(i: int, y: Any) -> None:
    np.add.at(y[i], np.array([0, 1, 1]), y[0, :3])


def _gathered(i: int, y: Any) -> None:
    y[i] = y[i][np.array([1, 0, 2, 3, 3, 1])] * 0.5


def _masked(i: int, y: Any) -> None:
    y[y > 0.5 / (i + 1)] *= 0.5


def _special(i: int, y: Any) -> None:
    y[i] = scipy.special.erf(y[i]) + scipy.special.gammaln(np.abs(y[i]) + 1) + np.cbrt(y[i] + 3) + np.expm1(y[i])


def _solved(i: int, y: Any) -> None:
    y[i] = np.linalg.solve(y + 10 * np.eye(6), y[i])


def _largest(i: int, y: Any) -> None:
    y[i] = np.max(y, axis=0) * 0.3 + np.argmax(y, axis=1) + np.prod(y, axis=0) + np.std(y, axis=0)


def _branch(i: int, y: Any) -> None:
    if np.sum(y[i]) > 0:
        y[i] *= 0.5
    else:
        y[i] += y[(i + 1) % 5]


def _turned(i: int, y: Any) -> None:
    y[:] = np.roll(y, 1, axis=0) * 0.9 + y[::-1] * 0.1 + y.T * 0.1
    y[i] = np.cumsum(y[i]) / (i + 1)


def _until(i: int, y: Any) -> None:
    while np.sum(np.abs(y[i])) > 1:
        y[i] *= 0.5


BODIES = [_row, _sorted, _transformed, _duplicates, _gathered, _masked, _special, _solved, _largest, _branch, _turned]


@pytest.mark.ci
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("body", [*BODIES, _until], ids=lambda body: body.__name__[1:])
def test_bodies_of_all_kinds_are_right(body: Callable[[int, Any], None], dtype: Any) -> None:
    def run(y: Any) -> Any:
        for i in range(5):
            body(i, y)
        return np.sum(y * y)

    x = np.random.default_rng(5).standard_normal((6, 6)).astype(dtype)
    expected, value = bridge.grad(run)(x), run(x.copy())
    found, gradient = bridge.value_and_grad(run, engine="xla")(x)
    tolerance = {"rtol": 1e-9} if dtype is np.float64 else {"rtol": 2e-3, "atol": 2e-4}
    np.testing.assert_allclose(found, value, **tolerance)
    np.testing.assert_allclose(gradient, expected, **tolerance)
