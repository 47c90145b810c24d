"""Compiled loops that read memory in another dtype than it has: parts of complex arrays, floats as complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.linspace(0.1, 0.6, 16)
Program = Callable[[Any], Any]
PROGRAMS: list[Program] = []


def program(f: Program) -> Program:
    PROGRAMS.append(f)
    return f


@program
def real_part_in_a_python_loop(x: Any) -> Any:
    z = 2.0 * x + 1j * x
    part, s = np.real(z * z), 0.0 * x[0]
    for k in range(16):
        s = s + part[k] ** 2
        part[k] *= 1.0 / (2.0 + np.cos(s))
    return s


@program
def real_and_imaginary_part_and_both(x: Any) -> Any:
    z = x + 1j * x[::-1]
    real, imaginary = z.real, z.imag

    def body(k: Any, s: Any) -> Any:
        real[k] += imaginary[k - 1] * real[k - 1]
        imaginary[k] *= real[k]
        z[k - 1] *= z[k]
        return s + real[k]

    return bridge.fori_loop(1, 16, body, 0.0) + np.sum(np.abs(z) ** 2)


@program
def floats_in_turn(x: Any) -> Any:
    z, s = x + 1j * x, 0.0 * x[0]
    floats = z.view(float)
    for k in range(32):
        floats[k] *= 0.5 + x[k % 4]
        s = s + floats[k] ** 2
    return s


@program
def rows_of_real_parts(x: Any) -> Any:
    z = np.zeros((16, 16), complex)
    z[0] = x
    for k in range(1, 16):
        z.real[k] = np.sin(z.real[k - 1]) + x
        z.imag[k] = z.real[k - 1] * 0.3
    return np.sum(np.abs(z) ** 2)


@program
def while_the_sum_is_small(x: Any) -> Any:
    z, s, k = x + 1j * x, 0.0 * x[0], 0
    part = z.real
    while s < 1.5 and k < 15:
        s = s + part[k] ** 2
        part[k + 1] += s
        k += 1
    return s + np.sum(np.abs(z) ** 2)


@program
def floats_as_complex_numbers(x: Any) -> Any:
    y = x.copy()
    numbers = y.view(complex)

    def body(k: Any, s: Any) -> Any:
        y[k] += np.real(numbers[k - 1])
        numbers[k] *= 1j * y[k]
        return s + np.abs(numbers[k]) ** 2

    return bridge.fori_loop(1, 8, body, 0.0) + np.sum(y * y)


@program
def single_precision(x: Any) -> Any:
    z = x.astype(np.float32) * (1 + 1j)
    part, s = z.real, 0.0 * x[0]
    for k in range(1, 16):
        part[k] += 0.5 * part[k - 1]
        s = s + part[k]
    return s


@pytest.mark.ci
@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_value_and_gradient(f: Program) -> None:
    tolerance = 1e-5 if f is single_precision else 1e-11
    value, gradient = bridge.value_and_grad(f, engine="xla")(X)
    expected, native = bridge.value_and_grad(f, engine="native")(X)
    np.testing.assert_allclose(value, f(X.copy()), rtol=tolerance)
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(gradient, native, rtol=tolerance, atol=tolerance)
