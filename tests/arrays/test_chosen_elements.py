"""Extrema by methods of ufuncs: compared with their value at once, and shared as they are step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge
from bridge.arrays import ufunc_steps

EXTREMA = (np.maximum, np.minimum, np.fmax, np.fmin)
CUTS = ([0], [3], [0, 4, 9], [2, 3, 4, 11], [0, 6, 1, 5], [7, 7, 2], [11, 0, 0], [5, 4, 3, 2])


def in_turn(ufunc: np.ufunc, x: Any, first: list[int]) -> list[Any]:
    """What `reduceat` along the first axis is, one step after another."""
    found = []
    for start, stop in zip(first, [*first[1:], len(x)], strict=True):
        value = x[start]
        for k in range(start + 1, stop):
            value = ufunc(value, x[k])
        found.append(value)
    return found


def points(shape: tuple[int, ...]) -> list[Any]:
    """Many ties, ties and NaN, nothing but NaN, single precision, complex numbers."""
    random = np.random.default_rng(3)
    tied = random.integers(0, 3, shape).astype(float)
    some = np.where(random.random(shape) < 0.3, np.nan, tied)
    return [random.random(shape), tied, some, np.full(shape, np.nan), tied.astype(np.float32), tied + 1j * (some > 0)]


@pytest.mark.parametrize("first", CUTS)
@pytest.mark.parametrize("ufunc", EXTREMA)
def test_segments_share_as_step_by_step(ufunc: np.ufunc, first: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.arange(1.0, len(first) + 1)

    def program(x: Any) -> Any:
        return np.sum(np.real(ufunc.reduceat(x, first)) * weights)

    def steps(x: Any) -> Any:
        return sum(np.real(v) * w for v, w in zip(in_turn(ufunc, x, first), weights, strict=True))

    for x in points((12,)):
        expected = bridge.grad(steps)(x)
        with monkeypatch.context() as patch:
            patch.delattr(ufunc_steps, "_partials")
            np.testing.assert_array_equal(bridge.grad(program)(x), expected)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("ufunc", EXTREMA)
def test_segments_along_an_axis(ufunc: np.ufunc, axis: int) -> None:
    for x in points((4, 4, 4)):
        for first in ([0, 2], [3, 1, 1], [0, 3, 2]):
            weights = np.arange(1.0, 16 * len(first) + 1).reshape(4, 4, -1)
            program = lambda x: np.sum(  # noqa: E731
                np.real(np.moveaxis(ufunc.reduceat(x, first, axis=axis), axis, -1)) * weights  # noqa: B023
            )
            steps = lambda x: np.sum(  # noqa: E731
                np.real(np.stack(in_turn(ufunc, np.moveaxis(x, axis, 0), first), -1)) * weights  # noqa: B023
            )
            np.testing.assert_array_equal(bridge.grad(program)(x), bridge.grad(steps)(x))


@pytest.mark.parametrize("ufunc", [np.fmax, np.fmin])
def test_the_last_one_shares_as_step_by_step(ufunc: np.ufunc) -> None:
    for x in points((3, 5)):
        for axis in (0, 1):
            program = lambda x: np.sum(np.real(ufunc.reduce(x, axis=axis, keepdims=True)) ** 2)  # noqa: B023, E731
            steps = lambda x: np.sum(np.real(in_turn(ufunc, np.moveaxis(x, axis, 0), [0])[0]) ** 2)  # noqa: B023, E731
            np.testing.assert_array_equal(bridge.grad(program)(x), bridge.grad(steps)(x))


@pytest.mark.parametrize("ufunc", EXTREMA)
def test_to_second_order_and_forward(ufunc: np.ufunc) -> None:
    x = np.random.default_rng(5).permutation(np.linspace(0.5, 1.5, 12))
    v = np.linspace(-1, 1, 12)
    program = lambda x: np.sum(ufunc.reduceat(x**2, [0, 5, 2, 9]) ** 3)  # noqa: E731
    steps = lambda x: sum(one**3 for one in in_turn(ufunc, x**2, [0, 5, 2, 9]))  # noqa: E731
    np.testing.assert_allclose(bridge.hvp(program, (x,), (v,)), bridge.hvp(steps, (x,), (v,)))
    assert bridge.jvp(program, (x,), (v,))[1] == pytest.approx(bridge.grad(steps)(x) @ v)


def test_what_was_not_chosen_has_no_cotangent() -> None:
    x = np.array([0.0, 4.0, 9.0, 1.0])
    found = bridge.grad(lambda x: np.sum(np.maximum.reduceat(np.sqrt(x), [0, 2])))(x)
    assert found.tolist() == [0.0, 0.25, pytest.approx(1 / 6), 0.0]


@pytest.mark.parametrize("first", [[0, 400], [0, 400, 1, 5], [500]])
@pytest.mark.parametrize("ufunc", [np.multiply, np.minimum, np.fmax])
def test_few_long_segments_take_no_steps(ufunc: np.ufunc, first: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(5).permutation(np.linspace(0.9, 1.1, 800))
    x[[0, 6, 700, 799]] = 2.0
    expected = bridge.grad(lambda x: sum(in_turn(ufunc, x, first)))(x)
    monkeypatch.delattr(ufunc_steps, "_recurred_back")
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(ufunc.reduceat(x, first)))(x), expected)


def test_segments_of_rows_without_elements() -> None:
    assert bridge.grad(lambda x: np.sum(np.fmin.reduceat(x, [0, 2, 1])))(np.zeros((3, 0))).shape == (3, 0)
