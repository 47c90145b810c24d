"""Views of views of views: a place far from its root is found by its address, at a cost that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

STEPS = 1200
X = np.linspace(0.2, 1.7, 24)

STEP: dict[str, Callable[[Any], Any]] = {
    "transposed": lambda u: u.T,
    "reversed": lambda u: u[::-1],
    "sliced": lambda u: u[:, :],
    "axes swapped": lambda u: np.swapaxes(u, 0, 1)[::-1, ...],
    "an axis more and less": lambda u: u[None][0],
    "reshaped": lambda u: u.reshape(u.shape),
}


@pytest.mark.ci
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", STEP)
def test_views_that_are_rebound_often(name: str, engine: str) -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        u = y.reshape(4, 6)
        for _ in range(STEPS):
            u = STEP[name](u)
        u[0] = np.sin(u[1])
        return np.sum(y * np.arange(24.0)) + np.sum(u[1] ** 3)

    value, gradient = bridge.value_and_grad(f, engine=engine)(X)
    assert value == pytest.approx(f(X.copy()))
    steps = np.eye(24) * 1e-6
    differences = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6)


def test_a_view_that_gets_shorter_and_is_read_and_written() -> None:
    def f(x: Any) -> Any:
        y = np.repeat(x, 40)
        u, s = y, 0.0
        while u.size > 1:
            u = u[1:]
            u[0] *= 1.001
            u[:1] += 0.5
            s = s + u[0] * u.size
        return s

    steps = np.eye(24) * 1e-6
    differences = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(bridge.grad(f)(X), differences, rtol=1e-6)
    _, tangent = bridge.jvp(f, (X,), (np.ones(24),))
    assert tangent == pytest.approx(sum(differences))


def test_second_derivatives_through_deep_views() -> None:
    def f(x: Any) -> Any:
        u = x.reshape(4, 6)
        for _ in range(60):
            u = u.T[::-1]
        return np.sum(u[0] ** 3)

    moved = bridge.grad(lambda x: np.sum(bridge.grad(f)(x)))(X)
    np.testing.assert_allclose(moved, np.where(bridge.grad(f)(X) != 0, 6 * X, 0))


LYING: dict[str, Callable[[Any], Any]] = {
    "C's order": lambda x: x.reshape(6, 4) * 1.0,
    "Fortran's order": lambda x: x.reshape(4, 6).T * 1.0,
    "three axes": lambda x: (x.reshape(2, 3, 4).transpose(1, 2, 0) * 1.0)[:, :, 0],
}


@pytest.mark.parametrize("name", STEP)
@pytest.mark.parametrize("lying", LYING)
def test_views_of_an_array_that_lies_otherwise(name: str, lying: str) -> None:
    """Addresses are those of memory: it lies as that from which it was computed."""

    def f(x: Any) -> Any:
        y = LYING[lying](x)
        u = y
        for _ in range(61):
            u = STEP[name](u)
        u[0] = np.sin(u[1])
        return np.sum(y * np.arange(float(y.size)).reshape(y.shape)) + np.sum(u[1] ** 3) + np.sum(y**2)

    steps = np.eye(24) * 1e-6
    differences = [(f(X + step) - f(X - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(bridge.grad(f)(X), differences, rtol=1e-6, atol=1e-6)
