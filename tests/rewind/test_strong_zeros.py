"""Strong zeros: structural absence of a cotangent survives an infinite partial; the number 0.0 does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.extend import sum_to_shape
from tests.helpers.finite_differences import gradient

AT_ZERO = np.array([0.0, 4.0])


def selected_by_where(x: Any) -> Any:
    return np.sum(np.where(x > 0, x**0.5, 2.0))


def selected_by_a_mask(x: Any) -> Any:
    return np.sum((x**0.5)[x > 0])


def selected_by_an_index(x: Any) -> Any:
    return np.sqrt(x)[1]


def selected_by_a_slice(x: Any) -> Any:
    return np.sum(np.sqrt(x)[1:])


def selected_by_max(x: Any) -> Any:
    return np.max(np.sqrt(x))


def selected_by_maximum(x: Any) -> Any:
    return np.sum(np.maximum(np.sqrt(x), 1.0))


def selected_by_sort(x: Any) -> Any:
    return np.sort(np.sqrt(x))[1]


def overwritten(x: Any) -> Any:
    y = np.sqrt(x)
    y[0] = 1.0
    return np.sum(y * y) / 4


def overwritten_under_a_mask(x: Any) -> Any:
    y = np.sqrt(x)
    np.add(1.0, 1.0, out=y, where=np.array([True, False]))
    return np.sum(y)


def through_a_product(x: Any) -> Any:
    rows = np.reshape(np.sqrt(x), (2, 1)) @ np.array([[1.0, 2.0]])
    return np.sum(rows[1]) / 3


def checkpointed(x: Any) -> Any:
    return bridge.checkpoint(selected_by_where)(x)


@pytest.mark.parametrize(
    "program",
    [
        selected_by_where,
        selected_by_a_mask,
        selected_by_an_index,
        selected_by_a_slice,
        selected_by_max,
        selected_by_maximum,
        selected_by_sort,
        overwritten_under_a_mask,
        through_a_product,
        checkpointed,
    ],
    ids=lambda f: f.__name__,
)
def test_what_was_not_selected_has_no_gradient(program: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(bridge.grad(program)(AT_ZERO), [0.0, 0.25])
    np.testing.assert_allclose(bridge.jvp(program, (AT_ZERO,), (np.ones(2),))[1], 0.25)


def test_what_was_overwritten_has_no_gradient() -> None:
    np.testing.assert_allclose(bridge.grad(overwritten)(AT_ZERO), [0.0, 0.25])


def test_ieee_zeros_are_numbers() -> None:
    g = bridge.grad(selected_by_where, zeros="ieee")(AT_ZERO)
    assert np.isnan(g[0])
    assert g[1] == 0.25
    assert np.isnan(bridge.vjp(selected_by_where, AT_ZERO, zeros="ieee")[1](1.0)[0][0])


def test_a_computed_zero_against_an_infinite_partial_is_not_hidden() -> None:
    assert np.isnan(bridge.grad(lambda x: np.sqrt(x) ** 2)(0.0))
    assert np.isnan(bridge.jvp(lambda x: np.sqrt(x) ** 2, (0.0,), (1.0,))[1])


def test_a_finite_partial_is_never_skipped() -> None:
    second = bridge.hessian(lambda x: (np.sin(x) - np.sin(1.0)) ** 2)(1.0)
    np.testing.assert_allclose(second, 2 * np.cos(1.0) ** 2)
    nested = bridge.grad(bridge.grad(lambda x: (np.sin(x) - np.sin(1.0)) ** 2))(1.0)
    np.testing.assert_allclose(nested, 2 * np.cos(1.0) ** 2)


def test_scratch_that_was_never_written() -> None:
    def f(x: Any) -> Any:
        y = np.zeros_like(x)
        y[1:] = x[1:] ** 2
        return np.sum(np.sqrt(y)[1:])

    x = np.array([3.0, 2.0])
    np.testing.assert_allclose(bridge.grad(f)(x), [0.0, 1.0])
    np.testing.assert_allclose(bridge.jvp(f, (x,), (np.ones(2),))[1], 1.0)


def test_a_product_with_infinite_entries_that_met_no_cotangent() -> None:
    matrix = np.array([[np.inf, 1.0], [2.0, 3.0]])
    np.testing.assert_allclose(bridge.grad(lambda x: (matrix @ x)[1] ** 2)(np.array([1.0, 2.0])), [32.0, 48.0])


def test_an_infinite_gradient_stays_infinite() -> None:
    assert bridge.grad(np.sqrt)(0.0) == np.inf


def test_jacobians_of_an_infinite_partial() -> None:
    expected = np.array([[np.inf, 0.0], [0.0, 0.5]])
    x = np.array([0.0, 1.0])
    np.testing.assert_array_equal(bridge.jacrev(np.sqrt)(x), expected)
    np.testing.assert_array_equal(bridge.jacfwd(np.sqrt)(x), expected)


def test_a_pull_mends_every_time() -> None:
    _, pull = bridge.vjp(selected_by_where, AT_ZERO)
    for _ in range(2):
        np.testing.assert_allclose(pull(1.0)[0], [0.0, 0.25])


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(bridge.errors.ArgumentError, match="zeros='weak'"):
        bridge.grad(np.sum, zeros="weak")(AT_ZERO)


def root_times(x: Any, y: Any) -> Any:
    return np.sqrt(np.asarray(x)) * y


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 3), (1, 1, 3)])
def test_pulls_that_have_summed_already(shape: tuple[int, ...]) -> None:
    """A cotangent exists where one of those that were summed does."""

    def pull(ct: Any, out: Any, x: Any, y: Any) -> Any:
        return sum_to_shape(ct * y * 0.5 / np.sqrt(x), x.shape), sum_to_shape(ct * np.sqrt(x), y.shape)

    call = bridge.rule(root_times, structure="elementwise")(pull)

    def program(x: Any) -> Any:
        return np.sum(call(x, np.arange(1.0, 7.0).reshape(2, 3)).reshape(2, 3)[:, 1:] ** 2)

    x = np.broadcast_to([0.0, 1.0, 4.0], shape).copy()
    expected = [[0.0, 4.0, 9.0], [0.0, 25.0, 36.0]] if shape == (2, 3) else np.reshape([0.0, 29.0, 45.0], shape)
    np.testing.assert_allclose(bridge.grad(program)(x), expected)


@pytest.mark.parametrize("name", ["a", "b", "c"])
def test_operands_of_three(name: str) -> None:
    """Of a ufunc of three operands each is kept that a pull reads."""
    a, b, c = np.array([0.5, 2.0, -1.0]), np.array([0.0, 0.1, 0.2]), np.array([1.0, 1.5, 0.9])

    def program(a: Any, b: Any, c: Any) -> Any:
        a, b, c = a * 1.0, b * 1.0, c * 1.0
        return np.sum(np.clip(a, b, c) ** 2) + np.sum(np.clip(np.stack([a, a]), b, c) ** 3)

    at = "abc".index(name)
    found = bridge.grad(program, argnums=at)(a, b, c)
    np.testing.assert_allclose(found, gradient(program, [a, b, c])[at], rtol=1e-6, atol=1e-9)


def imaginary_part(x: Any) -> Any:
    return np.sum(np.imag(1j * x))


def square_of_complex(x: Any) -> Any:
    z = (1 + 1j) * x
    return np.sum(np.imag(z * z))


def overwritten_real_parts(x: Any) -> Any:
    z = (1 + 1j) * x
    z = z * z
    z.real[...] = 0.0
    return np.sum(np.real(z * z))


def test_one_part_of_complex_numbers_reaches_what_both_are_made_of() -> None:
    """Where a NaN elsewhere asks for marks, the gradient through `1j * x` was zero."""
    for rest in (imaginary_part, square_of_complex, overwritten_real_parts):
        for x in (np.array([0.29, -0.47, -1.01]), np.array([1.5, 2.0, 0.25])):

            def program(x: Any, rest: Any = rest) -> Any:
                with np.errstate(divide="ignore"):
                    x = x / np.array([2.0, 0.0, 0.5])
                x[1] = 0.5
                return rest(x)

            inside = np.array([x[0] / 2.0, 0.5, x[2] / 0.5])
            expected = bridge.grad(rest)(inside) * [0.5, 0.0, 2.0]
            assert np.count_nonzero(expected) == 2
            np.testing.assert_allclose(bridge.grad(program)(x), expected)
