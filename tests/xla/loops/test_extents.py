"""What loops keep of memory that loops and branches inside of them write: the part in which all of it lies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

N = 40
RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((N, N)) * 0.1 + np.eye(N)
P = RANDOM.permutation(N)
Order = np.ndarray[Any, Any]


def rows(a: Any, p: Order) -> Any:
    for i in range(N):
        for j in range(i):
            a[i, j] = np.tanh(a[i, j] - a[i, :j] @ a[j, :j])
    return np.sum(a**2)


def columns_backward(a: Any, p: Order) -> Any:
    for j in range(N - 1, -1, -1):
        for i in range(j, N):
            a[i, j] *= np.cos(a[i - 1, j]) if i > 1 else 1.0
    return np.sum(a**2)


def rows_of_an_array(a: Any, p: Order) -> Any:
    """The number of the row is found in the body of the outer loop."""
    for i in range(N):
        k = p[i]
        for j in range(1, N):
            a[k, j] = np.sin(a[k, j - 1]) + a[p[j], k] ** 2
    return np.sum(a**3)


def rows_from_the_end(a: Any, p: Order) -> Any:
    for i in range(1, N):
        for j in range(1, N):
            a[-i, j] = np.sin(a[-i, j - 1]) * a[j, i]
    return np.sum(a**2)


def views(a: Any, p: Order) -> Any:
    for i in range(2, N - 2):
        row, band = a[i], a[i - 1 : i + 2, 3:7]
        for j in range(1, N):
            row[j] += 0.5 * row[j - 1] * a[j, j]
            band[:, 1] = np.tanh(band[:, 0] + row[j])
    return np.sum(a**2)


def of_two_loops(a: Any, p: Order) -> Any:
    """One loop writes a row, another a column that meets it."""
    for i in range(N):
        for j in range(i, N):
            a[i, j] = np.sin(a[i, j]) + a[j, i]
        for j in range(i + 1, N):
            a[j, i] = a[j, i] * a[i, i] + 0.1 * a[i, j]
        a[i, i] = np.tanh(a[i, i])
    return np.sum(a**2)


def branches(a: Any, p: Order) -> Any:
    for i in range(N):
        for j in range(1, N):
            if a[i, j] > 0.05:
                a[i, j] = np.sin(a[i, j - 1]) + 1.0
            else:
                a[i, j - 1] *= a[j, j]
    return np.sum(a**2)


def three_deep(a: Any, p: Order) -> Any:
    for i in range(0, N, 4):
        for j in range(0, N, 4):
            for k in range(1, 4):
                a[i + 1, j + k] = np.tanh(a[i, j + k] * a[i + 1, j + k - 1])
    return np.sum(a**2)


def whole_and_part(a: Any, p: Order) -> Any:
    for i in range(N):
        for j in range(1, N):
            a[i, j] += np.sin(a[i, j - 1])
        for _ in range(3):
            a *= 0.99
    return np.sum(a**2)


def whiles(a: Any, p: Order) -> Any:
    for i in range(N):
        j = 1
        while j < N and a[i, j] < 0.8:
            a[i, j] = 0.5 * a[i, j] + np.cos(a[i, j - 1])
            j += 1
    return np.sum(a**2)


@pytest.mark.ci
@pytest.mark.parametrize(
    "program",
    [
        rows, columns_backward, rows_of_an_array, rows_from_the_end, views, of_two_loops, branches, three_deep,
        whole_and_part, whiles,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_as_eager(program: Callable[..., Any]) -> None:
    value, gradient = bridge.value_and_grad(program, engine="xla")(A, P)
    expected, expected_gradient = bridge.value_and_grad(program)(A, P)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    scale = np.abs(expected_gradient).max()
    np.testing.assert_allclose(gradient, expected_gradient, rtol=1e-9, atol=1e-12 * scale)


@pytest.mark.ci
@pytest.mark.parametrize("program", [rows, columns_backward, rows_of_an_array, branches], ids=lambda f: f.__name__)
def test_a_turn_keeps_no_more_than_a_row(program: Callable[..., Any]) -> None:
    compiled = bridge.xla(bridge.grad(program)).compile(A, P)
    # A few copies of the matrix, and not one for each turn.
    assert compiled.memory_analysis().temp_size_in_bytes < 12 * A.nbytes


@pytest.mark.ci
@pytest.mark.parametrize("program", [rows, of_two_loops], ids=lambda f: f.__name__)
def test_second_derivatives(program: Callable[..., Any]) -> None:
    tangent = np.ones_like(A)
    found = bridge.hvp(program, (A, P), (tangent,), argnums=0, engine="xla")
    expected = bridge.hvp(program, (A, P), (tangent,), argnums=0)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())


@pytest.mark.ci
def test_under_a_bound_of_memory() -> None:
    found = bridge.grad(of_two_loops, engine="xla", memory="100KB")(A, P)
    np.testing.assert_allclose(found, bridge.grad(of_two_loops)(A, P), rtol=1e-9, atol=1e-12)


def to_a_row(a: Any, p: Order, count: Any) -> Any:
    for i in range(N):
        k = p[i] + 2
        for j in range(count[i]):
            a[k, j] *= np.sin(a[i, j])
    return np.sum(a**2)


@pytest.mark.ci
@pytest.mark.parametrize("index_mode", ["error", "clip", "drop", "fill"])
def test_an_index_may_lie_outside_where_it_is_not_used(index_mode: Any) -> None:
    count = np.where(P + 2 < N, 5, 0)
    gradient = bridge.grad(to_a_row, engine="xla", index_mode=index_mode)(A, P, count)
    np.testing.assert_allclose(gradient, bridge.grad(to_a_row)(A, P, count), rtol=1e-10)


@pytest.mark.ci
def test_an_index_that_lies_outside() -> None:
    with pytest.raises(IndexError, match=f"index {N} is out of bounds for axis 0 with size {N}"):
        bridge.grad(to_a_row)(A, np.sort(P), np.full(N, 3))
    with pytest.raises(IndexError, match=f"index {N} is out of range: -{N} to {N - 1} lie inside"):
        bridge.grad(to_a_row, engine="xla")(A, np.sort(P), np.full(N, 3))


@pytest.mark.ci
def test_an_index_that_lies_outside_and_is_clipped() -> None:
    clipped = np.minimum(P, N - 3)
    found = bridge.grad(to_a_row, engine="xla", index_mode="clip")(A, P, np.full(N, 3))
    np.testing.assert_allclose(found, bridge.grad(to_a_row)(A, clipped, np.full(N, 3)), rtol=1e-10)
