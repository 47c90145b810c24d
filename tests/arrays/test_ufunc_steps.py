"""Recurrences of ufuncs and their segments: right to second order, also in forward mode, and at a cost per element."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pytest

import bridge
from bridge.arrays import ufunc_steps

X = np.random.default_rng(0).random(12) + 0.2
W = np.random.default_rng(1).random(12)
OFTEN = np.array([0, 1, 0, 0, 2, 0, 0, 1, 0, 0, 0])
UFUNCS = (np.maximum, np.fmin, np.hypot, np.logaddexp, np.divide, np.subtract, np.multiply, np.floor_divide, np.fmod)


def scattered(ufunc: np.ufunc, x: Any) -> Any:
    y = x[:3] + 1
    ufunc.at(y, OFTEN, x[1:] + 0.5)
    return np.sum(y**2)


def rows_scattered(ufunc: np.ufunc, x: Any) -> Any:
    y = x.reshape(3, 4) + 1
    ufunc.at(y, OFTEN % 2, x[:4] + 0.5)
    return np.sum(y**2 * W.reshape(3, 4))


class Program(NamedTuple):
    name: str
    run: Callable[[np.ufunc, Any], Any]


PROGRAMS = (
    Program("accumulate", lambda f, x: np.sum(f.accumulate(x) ** 2 * W)),
    Program("accumulate along an axis", lambda f, x: np.sum(f.accumulate(x.reshape(3, 4), axis=1) ** 2)),
    Program("reduce", lambda f, x: np.sum(f.reduce(x.reshape(3, 4), axis=0, keepdims=True) ** 2)),
    Program("reduceat", lambda f, x: np.sum(f.reduceat(x, [0, 3, 4, 2, 11]) ** 2)),
    Program("reduceat along an axis", lambda f, x: np.sum(f.reduceat(x.reshape(2, 6), [0, 4, 1], axis=1) ** 2)),
    Program("at", scattered),
    Program("at of rows", rows_scattered),
)


def differences(f: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    return np.array([(f(x + step) - f(x - step)) / 2e-6 for step in np.eye(x.size) * 1e-6])


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
@pytest.mark.parametrize("program", [pytest.param(p.run, id=p.name) for p in PROGRAMS])
def test_to_second_order_and_forward(ufunc: np.ufunc, program: Callable[[np.ufunc, Any], Any]) -> None:
    def f(x: Any) -> Any:
        return program(ufunc, x)

    value, gradient = bridge.value_and_grad(f)(X)
    assert value == pytest.approx(f(X.copy()), rel=1e-15)
    expected = differences(f, X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * np.max(np.abs(expected), initial=1))
    _, tangent = bridge.jvp(f, (X,), (W,))
    assert tangent == pytest.approx(gradient @ W)

    def slope(x: Any) -> Any:
        return bridge.grad(f)(x) @ W

    expected = differences(slope, X)
    np.testing.assert_allclose(
        bridge.grad(slope)(X), expected, rtol=1e-4, atol=1e-6 * np.max(np.abs(expected), initial=1)
    )


def test_ties_share() -> None:
    x = np.array([1.0, 1.0, 2.0, 2.0, 2.0, 0.0])
    assert bridge.grad(lambda x: np.maximum.accumulate(x)[-1])(x).tolist() == [0, 0, 0.25, 0.25, 0.5, 0]


COSTS: dict[str, Callable[[Any], Any]] = {
    "maximum.accumulate": lambda x: np.sum(np.maximum.accumulate(x)),
    "add.reduceat": lambda x: np.sum(np.add.reduceat(x, np.arange(0, x.size, 3))),
    "maximum.reduceat, one long segment": lambda x: np.sum(np.maximum.reduceat(x, [0, 1, 2, 3])),
    "maximum.at, few bins": lambda x: scattered_in_bins(x),
}


def calls_of(f: Callable[[Any], Any], x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often a gradient goes through all steps, one recurrence after another."""
    counted = []
    for name in ("_recurred_back", "in_segments"):
        plain = getattr(ufunc_steps, name)
        monkeypatch.setattr(ufunc_steps, name, lambda *args, plain=plain: counted.append(1) or plain(*args))
    bridge.grad(f)(x)
    return len(counted)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.add.reduceat(x, [0, 3, 4]) ** 2),
        lambda x: np.sum(np.add.reduceat(x, [5, 3, 3, 9, 1]) ** 2),
        lambda x: np.sum(np.add.reduceat(x, [2, 7]) ** 2),
        lambda x: np.subtract.reduce(x) ** 2,
        lambda x: np.sum(np.divide.reduce(x.reshape(3, 4), axis=1, keepdims=True) ** 2),
        lambda x: np.copysign.reduce(-x) ** 2,
    ],
)
def test_sums_and_last_ones_need_no_recurrence(f: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(bridge.grad(f)(X), differences(f, X), rtol=1e-5, atol=1e-7)
    assert calls_of(f, X, monkeypatch) == 0

    def slope(x: Any) -> Any:
        return bridge.grad(f)(x) @ W

    np.testing.assert_allclose(bridge.grad(slope)(X), differences(slope, X), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("indices", [[300, 0, 280, 2], [0, 150, 7]])
def test_few_long_segments_that_overlap(indices: list[int]) -> None:
    x = np.linspace(0.5, 1.5, 2000)
    expected = np.zeros(2000)
    sums = np.add.reduceat(x, indices)
    for k, start in enumerate(indices):
        stop = indices[k + 1] if k + 1 < len(indices) else x.size
        expected[start : max(stop, start + 1)] += 2 * sums[k]
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(np.add.reduceat(x, indices) ** 2))(x), expected)


def test_a_factor_of_zero_stops_what_comes_from_behind() -> None:
    x = np.array([0.5, 2.0, 0.0, 3.0, 1.0])
    assert bridge.grad(np.fmin.reduce)(x).tolist() == [0, 0, 1, 0, 0]
    assert bridge.grad(lambda x: np.float_power.reduce(x))(np.array([2.0, 3.0, 1.0])) == pytest.approx(
        [12, 8 * np.log(2), 8 * np.log(8)]
    )


def test_joined_columns_are_one_entry_however_many() -> None:
    entries = []
    for count in (16, 1600):
        with bridge.Context() as context:
            columns = [context.buffer(np.full(4, float(k))) for k in range(count)]
            total = np.sum(np.column_stack(columns) ** 2)
            entries.append(len(context.log))
            assert context.gradient(total, columns[-1]).tolist() == [2.0 * (count - 1)] * 4
    assert entries[0] == entries[1]


def scattered_in_bins(x: Any) -> Any:
    y = np.zeros(5)
    np.maximum.at(y, np.arange(x.size) % 5, x)
    return np.sum(y)


@pytest.mark.parametrize("name", COSTS)
def test_no_cliff(name: str) -> None:
    # They took 14 to 44 seconds; a plain run takes a millisecond.
    x = np.random.default_rng(0).random(100_000)
    bridge.grad(COSTS[name])(x[:100])
    start = perf_counter()
    bridge.grad(COSTS[name])(x)
    assert perf_counter() - start < 2
