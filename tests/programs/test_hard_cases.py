"""The table of hard cases: what mutating programs do, each as a user would meet it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.helpers.assertions import assert_gradient

X = np.array([0.7, -0.4, 1.3, 0.2])


def overwrites_what_an_earlier_operation_needs(x: Any) -> Any:
    a = x.copy()
    y = np.sin(a)
    a[:] = 0.0
    return np.sum(y * y + a)


def accumulates_rows_in_place(x: Any) -> Any:
    rows = np.reshape(x, (2, 2)).copy()
    acc = rows[0]
    acc += rows[1]
    return np.sum(rows * rows)


def rebinds_scalars(x: Any) -> Any:
    acc = x[0]
    acc += x[1]
    s = np.sum(x)
    s += 1
    return acc * s * x[0]


def ignores_the_result_of_a_mutating_call(x: Any) -> Any:
    a = x.copy()

    def deep(v: Any) -> None:
        def deeper(w: Any) -> Any:
            np.multiply(w, w, out=w)
            return 7

        deeper(v)

    deep(a)
    return np.sum(a * x)


def reads_before_and_after_a_write(x: Any) -> Any:
    a = x.copy()
    before = np.sum(a[1:3] ** 2)
    a[1:3] = x[0] * x[1]
    return before + np.sum(a[1:3] * x[2:])


def mixes_views(x: Any) -> Any:
    a = np.reshape(x.copy(), (2, 2))
    t = a.T
    flipped = t[::-1]
    flipped[0] *= 3.0
    line = t.reshape(-1)
    a.ravel()[1:3] += line[:2]
    return np.sum(a * flipped * t)


def shifts_over_itself(x: Any) -> Any:
    a = x.copy()
    a[1:4] = a[0:3]
    a[0:3] += a[1:4]
    np.add(a[:-1], a[1:], out=a[1:])
    return np.sum(a * x)


def reads_sliding_windows(x: Any) -> Any:
    windows = np.lib.stride_tricks.sliding_window_view(x, 3)
    return np.sum(windows**2 * np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])) + np.sum(np.broadcast_to(x, (3, 4)) ** 3)


def writes_duplicates(x: Any) -> Any:
    a = x.copy()
    a[[1, 1, 2]] = x[[0, 3, 0]] ** 2
    a[np.array([0, 0])] += x[2:]
    np.add.at(a, [3, 3], x[:2])
    return np.sum(a * a)


def changes_a_plain_operand(x: Any) -> Any:
    w = np.ones(4)
    y = x * w
    w[:] = 5.0
    big = np.ones(4000)
    z = np.sum(x[0] * big)
    big[:] = 2.0
    return np.sum(y * y) + z * z + np.sum(x[1] * big) ** 2


def branches_on_values(x: Any) -> Any:
    s = x[0]
    n = 0
    while s < 5.0:
        s = s * 2.0 if x[1] < 0 else s * 3.0
        n += 1
    return s * n + max(x[2], x[3])


def copies(x: Any) -> Any:
    a, b = copy.copy(x), copy.deepcopy(x)
    a[0] = 0.0
    b[1] = 0.0
    return np.sum(a * b * x)


def uses_a_zero_dimensional_view(x: Any) -> Any:
    a = x.copy()
    view = a[0, ...]
    view *= x[1]
    view += x[2]
    return np.sum(a * a)


PROGRAMS: list[Callable[[Any], Any]] = [
    overwrites_what_an_earlier_operation_needs,
    accumulates_rows_in_place,
    rebinds_scalars,
    ignores_the_result_of_a_mutating_call,
    reads_before_and_after_a_write,
    mixes_views,
    shifts_over_itself,
    reads_sliding_windows,
    writes_duplicates,
    changes_a_plain_operand,
    branches_on_values,
    copies,
    uses_a_zero_dimensional_view,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_program_is_right(program: Callable[[Any], Any]) -> None:
    assert_gradient(program, X)


def test_arguments_are_mutated_and_the_callers_keep_their_bits() -> None:
    def f(x: Any) -> Any:
        y = np.log(x)
        x[:] = 0.0
        return np.sum(y + x)

    x = np.array([1.0, 2.0, 3.0])
    kept = x.copy()
    np.testing.assert_allclose(bridge.grad(f)(x), 1 / kept)
    assert x.tobytes() == kept.tobytes()


def test_arguments_keep_their_bits_when_the_function_raises() -> None:
    def f(x: Any) -> Any:
        x[:] = 7.0
        raise KeyError("half-way")

    x = X.copy()
    with pytest.raises(KeyError, match="half-way"):
        bridge.grad(f)(x)
    assert x.tobytes() == X.tobytes()
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(x * x))(x), 2 * X)


def test_float32_stays_float32() -> None:
    def f(x: Any) -> Any:
        a = x.copy()
        a *= 2
        a[0] = a[1] * 3.5
        return np.sum(a / 2 * x)

    x = X.astype(np.float32)
    value, g = bridge.value_and_grad(f)(x)
    assert value.dtype == g.dtype == np.float32
    assert bridge.jvp(f, (x,), (np.ones_like(x),))[1].dtype == np.float32


def test_complex_gradients() -> None:
    z = np.array([1.0 + 2j, -0.5 + 0.3j])
    g = bridge.grad(lambda z: np.sum(np.abs(z) ** 2))(z)
    np.testing.assert_allclose(g, 2 * z)
    g = bridge.grad(lambda z: np.sum(z * z).real)(z)
    np.testing.assert_allclose(g, 2 * np.conj(z))


def test_views_of_another_dtype() -> None:
    def f(x: Any) -> Any:
        z = x.copy().view(complex)
        z *= 1j
        return np.sum(z.real * z.imag + np.abs(z) ** 2)

    assert_gradient(f, X)
    with pytest.raises(errors.RefusedError, match="view"):
        bridge.grad(lambda x: np.sum(x.view(np.int64)))(X)


def test_a_call_that_returns_views_and_fresh_arrays() -> None:
    def f(x: Any) -> Any:
        a, b, c = np.atleast_1d(x[0], x[1:], 3.0)
        b *= 2.0
        return np.sum(a * b) * np.sum(c) + np.sum(x)

    assert_gradient(f, X)


def test_nested_sequences_of_arrays() -> None:
    def f(x: Any) -> Any:
        blocks = np.block([[x[:2, None], x[2:, None]], [np.ones((1, 1)), x[0] * np.ones((1, 1))]])
        return np.sum(blocks**2)

    assert_gradient(f, X)


def test_constants_in_linear_functions_have_no_tangent() -> None:
    def f(x: Any) -> Any:
        ends = np.concatenate([[1, 2], x, np.array([3.0])])
        return np.sum(x, initial=5.0) ** 2 + np.sum(ends**2) + np.sum(np.hstack([x, 1.0]) ** 3)

    assert_gradient(f, X)


def test_memory_maps_are_snapshotted(tmp_path: Any) -> None:
    mapped = np.memmap(tmp_path / "data", float, "w+", shape=(4,))
    mapped[:] = 2.0

    def f(x: Any) -> Any:
        y = x * mapped
        mapped[:] = 100.0
        return np.sum(y)

    np.testing.assert_allclose(bridge.grad(f)(X), np.full(4, 2.0))
