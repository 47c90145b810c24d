"""Places and integers that one run of a body finds, and the next run of it has to find again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

N = 5


def previous_of_an_outer_index(a: Any, limit: Any) -> Any:
    """Counted from the end in the first turn alone, and written in a branch of an inner loop."""
    c = 1
    for i in range(N):
        for j in range(N - i):
            if j != (c in (1, 3)):
                a[0, i - 1] = 0.5
    return np.sum(np.sin(a))


def previous_in_a_while(a: Any, limit: Any) -> Any:
    """The loops lie in a branch, where what they read is held."""
    if np.sum(a[0] ** 2) >= limit:
        for i in reversed(range(N)):
            k = 1
            while True:
                if not (k < N):
                    break
                a[k, i - 1] *= 0.9
                k += 1
            a[i, i] *= 0.5
    return np.sum(np.sin(a))


def a_place_that_two_parts_compute(a: Any, limit: Any) -> Any:
    """A place is computed in a branch of an inner loop, and after it in the loop around both."""
    x, u = a[2] * 1.0, np.zeros(N)
    k = 1
    while k < N and a[0, 0] > -10.0 * limit:
        for _ in a[0, :]:
            if 0 < k < N - 1:
                for j in range(k + 1):
                    x[N - 1 - k], u[k] = u[N - 1 - k], x[-1 - j]
                break
            w = a[N - 1 - k][max(k - 1, 0) : N - 1]
            w -= w[::-1].copy()
        k += 1
    return np.sum(np.sin(x + 0.1)) + np.sum(np.sin(a + 0.2)) + np.sum(np.sin(u + 0.3))


def windows_beyond_the_edges(a: Any, limit: Any) -> Any:
    """The first window is empty and the last one is cut, as the first run shows; the next one is to know it."""
    k = 0
    while k < N and np.sum(a) > -100.0 * limit:
        a[1, k - 1 : k + 2] *= np.sqrt(1.0 + a[1, k - 1 : k + 2] ** 2)
        k += 1
    return np.sum(np.sin(a))


@pytest.mark.ci
@pytest.mark.parametrize(
    "program",
    [
        previous_of_an_outer_index,
        previous_in_a_while,
        a_place_that_two_parts_compute,
        windows_beyond_the_edges,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("n", [N, 9])
def test_as_eager(program: Callable[..., Any], n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "N", n)
    a = np.random.default_rng(0).standard_normal((n, n))
    value, gradient = bridge.value_and_grad(program, engine="xla")(a.copy(), 0.6)
    expected, expected_gradient = bridge.value_and_grad(program)(a.copy(), 0.6)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-11, atol=1e-12)
