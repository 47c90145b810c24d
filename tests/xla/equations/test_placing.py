"""Writes of most of an array: in place where what is written is not computed from the array's own neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

RANDOM = np.random.default_rng(0)
A, B = RANDOM.random(24), RANDOM.random(24)


def alternating(a: Any, b: Any) -> Any:
    for _ in range(4):
        b[1:-1] = 0.3 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.3 * (b[:-2] + b[1:-1] + b[2:])
    return np.sum(a * b)


def alone(a: Any, b: Any) -> Any:
    for _ in range(4):
        a[1:-1] = 0.3 * (a[:-2] + a[1:-1] * b[1:-1] + a[2:])
    return np.sum(a * a)


def staggered(a: Any, b: Any) -> Any:
    for _ in range(4):
        a[1:] = a[1:] - 0.5 * (b[1:] - b[:-1])
        b[:-1] = b[:-1] * a[:-1] - 0.7 * (a[1:] - a[:-1])
    return np.sum(np.sin(a) * b)


def twice(a: Any, b: Any) -> Any:
    """What is written second needs what was there before the first write."""
    for _ in range(4):
        old = a[:-2] * a[2:]
        a[1:-1] = b[1:-1] * 2.0
        a[1:-1] = 0.1 * old + b[:-2]
        b[2:] = a[:-2] * 0.5
    return np.sum(a * b)


def shifted(a: Any, b: Any) -> Any:
    for _ in range(4):
        a[1:] = a[:-1]
        a[0] = b[3] * b[4]
    return np.sum(a * a * b)


def reversed_(a: Any, b: Any) -> Any:
    for _ in range(3):
        a[2:-1] = a[2:-1][::-1] * b[2:-1]
        b[1:] = a[1:] + b[1:]
    return np.sum(a * b)


def rows(a: Any, b: Any) -> Any:
    c, d = np.outer(a, b), np.outer(b, b)
    for _ in range(3):
        c[1:] = d[1:] * c[1:] - d[:-1]
        d[:, 1:] = c[:, :-1] * 0.5
        d[2:-2] = 0.5
    return np.sum(c * d)


def through_a_sum(a: Any, b: Any) -> Any:
    for _ in range(3):
        a[1:] = b[1:] * np.sum(a)
        b[:-1] = np.cumsum(a)[1:] * 0.01
    return np.sum(a * b)


def unrolled(a: Any, b: Any) -> Any:
    a[1:] = b[:-1]
    b[1:] = a[:-1] * b[1:]
    a[:-1] = b[1:] + a[1:]
    return np.sum(a * b)


def copies(a: Any, b: Any) -> Any:
    for _ in range(4):
        c = a.copy()
        a[1:-1] = c[:-2] * c[2:] + b[1:-1]
    return np.sum(a)


def two_in_turn(a: Any, b: Any) -> Any:
    """The views change their names in each turn."""
    for _ in range(4):
        a[1:-1] = b[:-2] + b[2:]
        b[1:-1] *= a[1:-1]
        a, b = b, a
    return np.sum(a * b * b)


PROGRAMS = [
    alternating, alone, staggered, twice, shifted, reversed_, rows, through_a_sum, unrolled, copies, two_in_turn,
]  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_as_eager(program: Callable[..., Any]) -> None:
    arguments = A.copy(), B.copy()
    value, found = bridge.value_and_grad(program, argnums=(0, 1), engine="xla")(*arguments)
    np.testing.assert_allclose(value, program(A.copy(), B.copy()), rtol=1e-12)
    expected = bridge.grad(program, argnums=(0, 1))(A.copy(), B.copy())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def writes_in_place(program: Callable[..., Any]) -> bool:
    """Whether a compiled program has writes into its arrays."""
    text = bridge.xla(program).compile(A.copy(), B.copy()).as_text()
    return any(f"f64[{A.size}]" in line and " dynamic-update-slice(" in line for line in text.splitlines())


@pytest.mark.parametrize("program", [alternating, staggered, two_in_turn])
def test_what_comes_from_elsewhere_is_written_in_place(program: Callable[..., Any]) -> None:
    assert writes_in_place(program)


@pytest.mark.parametrize("program", [alone, copies])
def test_what_moves_itself_is_one_pass(program: Callable[..., Any]) -> None:
    assert not writes_in_place(program)
