"""Arrays made inside a differentiated function: `like=`, `zeros_like`, `bridge.numpy`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp
from tests.helpers import finite_differences

X = np.array([0.5, -1.0, 2.0])


@pytest.mark.parametrize(
    "make",
    [
        lambda x: np.zeros_like(x),
        lambda x: np.ones_like(x),
        lambda x: np.empty_like(x),
        lambda x: np.full_like(x, 3.0),
        lambda x: np.full_like(x, x[0]),
        lambda x: np.zeros(3, like=x),
        lambda x: np.empty(3, like=x),
        lambda x: np.full(3, 1.5, like=x),
        lambda x: np.full(3, x[1], like=x),
        lambda x: np.array([1.0, x[0], 2.0], like=x),
        lambda x: np.asarray([1.0, 2.0, 3.0], like=x),
        lambda x: np.arange(3.0, like=x),
        lambda x: bnp.zeros(3),
        lambda x: bnp.array([1.0, 2.0, 3.0]),
        lambda x: bnp.array([x[0], x[1], 3.0]),
        lambda x: bnp.asarray(x),
        lambda x: bnp.full(3, x[2]),
        lambda x: bnp.linspace(0.0, 1.0, 3),
        lambda x: bnp.eye(3)[0],
        lambda x: bnp.zeros_like([1.0, 2.0, 3.0]),
    ],
)
def test_what_is_made_can_be_written(make: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        out = make(x)
        assert isinstance(out, bridge.Buffer)
        assert out.dtype == float
        out[...] = x * x
        return np.sum(out) + np.sum(make(x)) * 0.0

    np.testing.assert_allclose(bridge.grad(f)(X), 2 * X)


def test_initial_contents_carry_gradient() -> None:
    g = bridge.grad(lambda x: np.sum(bnp.array([[x[0], x[1]], [x[2], 1.0]]) ** 2))(X)
    np.testing.assert_allclose(g, 2 * X)
    g = bridge.grad(lambda x: np.sum(np.full(3, x[1], like=x) ** 2))(X)
    np.testing.assert_allclose(g, [0.0, 6 * X[1], 0.0])


def test_outside_a_context_it_is_numpy() -> None:
    assert type(bnp.zeros(3)) is np.ndarray
    assert bnp.sin is np.sin
    assert bnp.linalg is np.linalg
    assert "zeros" in dir(bnp)
    with pytest.raises(AttributeError):
        bnp.no_such_name  # noqa: B018


def test_copies_and_conversions_of_tracked_arrays() -> None:
    def f(x: Any) -> Any:
        alias, copied = bnp.asarray(x), bnp.array(x)
        alias[0] = 4.0
        copied[1] = 9.0
        return np.sum(x * copied)

    np.testing.assert_allclose(bridge.grad(f)(X), [4.0, 9.0, 2 * X[2]])


def test_as_strided_and_its_scatter() -> None:
    def f(x: Any) -> Any:
        windows = bnp.lib.stride_tricks.as_strided(x, (2, 2), (8, 8))
        return np.sum(windows**2)

    np.testing.assert_allclose(bridge.grad(f)(X), 2 * X * [1, 2, 1])


@pytest.mark.parametrize(
    "rows",
    [
        lambda x: [x[0] * x[1], None, "1.5"],
        lambda x: [[x[0] * x[1], 1], [2, None]],
        lambda x: [x[0] * x[1], True],
    ],
)
def test_what_is_no_number_becomes_one_beside_tracked_numbers(rows: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        made = np.array(rows(x), dtype=float)
        return np.nansum(made**2)

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == np.nansum(np.array(rows(X), dtype=float) ** 2)
    np.testing.assert_allclose(gradient, 2 * X[0] * X[1] * np.array([X[1], X[0], 0.0]))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.arange(x[0], 3.0) ** 2),
        lambda x: np.sum(np.arange(x[0], 3.0, x[2] / 7) ** 3),
        lambda x: np.sum(np.arange(0, x[2], 0.3) * x[0]),
        lambda x: np.prod(np.arange(5, x[1], -x[0])),
        lambda x: np.sum(np.arange(0, 9 * x[2], 2, dtype=int)) * x[0],
    ],
)
def test_ranges_between_tracked_ends_have_numpys_bits(f: Callable[[Any], Any]) -> None:
    x = np.array([0.53, -1.0, 2.01])
    value, gradient = bridge.value_and_grad(f)(x)
    assert value == f(x)
    np.testing.assert_allclose(gradient, finite_differences.gradient(f, (x,))[0], rtol=1e-6, atol=1e-9)
