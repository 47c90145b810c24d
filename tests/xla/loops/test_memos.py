"""Costly calls in loops: the way back is given what they gave, and makes them no second time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

N = 5
RANDOM = np.random.default_rng(0)
A = RANDOM.standard_normal((N, N)) * 0.2 + 3.0 * np.eye(N)
B = RANDOM.standard_normal((N, 3))


def solved(a: Any, b: Any) -> Any:
    for _ in range(12):
        x = np.linalg.solve(a, b)
        b = b + 0.1 * x
        a[0] *= 1.01
    return np.sum(b**2)


def overwritten(a: Any, b: Any) -> Any:
    """What a call gave is overwritten by the program that got it."""
    total = 0.0
    for _ in range(12):
        x = np.linalg.inv(a)
        y = x
        x *= 2.0
        a += 0.01 * y
        x[0] = 1.0
        total = total + np.sum(x @ b)
    return total


def two_calls(a: Any, b: Any) -> Any:
    for _ in range(12):
        lower = np.linalg.cholesky(a @ a.T)
        b = np.linalg.solve(lower, b)
        a[:] = lower + 0.3 * lower.T
    return np.sum(b**2)


def in_a_branch(a: Any, b: Any) -> Any:
    for k in range(12):
        if b[0, 0] > 0.0:
            b = np.linalg.solve(a, b)
            b -= 0.05
        else:
            b = np.linalg.inv(a) @ b + 0.1 * k
        b[1] += np.linalg.solve(a, b)[0]
    return np.sum(b**2)


def in_an_inner_loop(a: Any, b: Any) -> Any:
    for i in range(11):
        x = np.linalg.inv(a)
        for j in range(12):
            b[:, 0] += 0.01 * j * np.linalg.solve(a, b)[:, 1]
        a += 0.01 * i * x
    return np.sum(b**2)


def of_known_matrices(a: Any, b: Any) -> Any:
    """Nothing that is solved carries a gradient at first."""
    c = 2.0 * np.eye(N)
    for _ in range(12):
        b = b * np.linalg.solve(c, np.ones((N, 3)))
        c[0, 0] += b[0, 0]
    return np.sum(b)


def whiles(a: Any, b: Any) -> Any:
    k = 0
    while np.sum(b**2) > 0.1 and k < 30:
        b = np.linalg.solve(a, b)
        k += 1
    return np.sum(b * a[:, :3])


PROGRAMS = [solved, overwritten, two_calls, in_a_branch, in_an_inner_loop, of_known_matrices, whiles]


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("memory", [None, "3KB"])
def test_as_eager(program: Callable[..., Any], memory: str | None) -> None:
    if memory is not None and program is whiles:
        memory = "10KB"
    found = bridge.value_and_grad(program, argnums=(0, 1), engine="xla", memory=memory)(A, B)
    expected = bridge.value_and_grad(program, argnums=(0, 1))(A, B)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-10)
    for one, other in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-10 * np.abs(other).max(initial=1e-300))


@pytest.mark.ci
def test_a_pull_that_is_used_twice() -> None:
    value, pull = bridge.vjp(solved, A, B, engine="xla")
    for seed in (1.0, -2.0):
        expected = bridge.vjp(solved, A, B)[1](seed)
        for one, other in zip(pull(seed), expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9)
    np.testing.assert_allclose(value, solved(A.copy(), B))


@pytest.mark.ci
@pytest.mark.parametrize("program", [solved, two_calls], ids=lambda f: f.__name__)
def test_second_derivatives(program: Callable[..., Any]) -> None:
    tangents = np.ones_like(A), np.ones_like(B)
    found = bridge.hvp(program, (A, B), tangents, argnums=(0, 1), engine="xla")
    expected = bridge.hvp(program, (A, B), tangents, argnums=(0, 1))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9 * np.abs(other).max())


@pytest.mark.ci
@pytest.mark.processor
def test_a_matrix_is_factored_as_often_as_needed() -> None:
    """Once on the way there, and the transposed one on the way back."""
    text = bridge.xla(bridge.grad(solved, argnums=(0, 1))).compile(A, B).as_text()
    assert len(re.findall(r'custom_call_target="lapack_dgetrf', text)) == 2


@pytest.mark.ci
def test_what_is_not_finite() -> None:
    """Another program is compiled then, which finds absent cotangents."""

    def program(a: Any, b: Any) -> Any:
        for _ in range(12):
            x = np.linalg.solve(a, b)
            b = np.where(b > 0, x, np.sqrt(np.abs(x) * 0.0 + 1.0))
        return np.sum(b)

    a = A.copy()
    found = bridge.grad(program, argnums=(0, 1), engine="xla")(a, np.zeros((N, 3)))
    expected = bridge.grad(program, argnums=(0, 1))(a, np.zeros((N, 3)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
