"""Numbers that a program makes Python's own do not widen float32, and round as Python's do, under every engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([1.234567, 2.675, -3.1])
NARROW = np.array([0.1, 0.7, 1.3], np.float32)


def accumulated(x: Any) -> Any:
    total = 0.0
    for k in range(12):
        total = total + float(x[0]) * k
    return total


def of_a_list(x: Any) -> Any:
    total = 0.0
    for value in x.tolist():
        total += value
    return total


def until_large(x: Any) -> Any:
    t = float(x[0])
    while t < 10:
        t = t * 1.5
    return t


NUMBERS: dict[str, Callable[[Any], Any]] = {
    "item": lambda x: x[0].item(),
    "item of an array": lambda x: x.item(0),
    "item of one element": lambda x: x[:1].item(),
    "item of float32": lambda x: x.astype(np.float32)[0].item(),
    "item, and arithmetic": lambda x: x[0].item() * 2 + 1,
    "tolist": lambda x: x.tolist()[0],
    "tolist of rows": lambda x: np.stack([x, x]).tolist()[1][2],
    "tolist of a number": lambda x: x[1].tolist(),
    "float": lambda x: float(x[0]),
    "float of float32": lambda x: float(x.astype(np.float32)[0]),
    "float of a mean": lambda x: float(np.mean(x)),
    "abs": lambda x: abs(float(x[2])),
    "power": lambda x: float(x[0]) ** 2,
    "negative": lambda x: -float(x[0]),
    "divmod": lambda x: divmod(x[0].item(), 1.0)[1],
    "sum of a list": lambda x: sum(x.tolist()),
    "max of a list": lambda x: max(x.tolist()),
    "max with a number": lambda x: max(float(x[0]), 0.5),
    "min by a key": lambda x: min(x.tolist(), key=lambda one: one * one),
    "round": lambda x: round(float(x[0]), 1),
    "real part of complex": lambda x: complex(x[0], x[1]).real,
    "index": lambda x: np.argmax(x).item(),
    "conditional": lambda x: float(x[0]) if x[0] > 0 else 2.0,
    "loop": accumulated,
    "loop over a list": of_a_list,
    "while": until_large,
    "math": lambda x: math.sqrt(x[0].item()),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_they_do_not_widen(name: str) -> None:
    number = NUMBERS[name]
    wanted = number(X) * NARROW
    assert wanted.dtype == np.float32
    seen: list[Any] = []

    def f(x: Any) -> Any:
        y = number(x) * NARROW
        seen.append(y.dtype)
        return np.sum(y)

    bridge.grad(f)(X)
    bridge.grad(f, engine="xla")(X)
    assert set(seen) == {wanted.dtype}
    found = bridge.xla(lambda x: number(x) * NARROW)(X)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_numbers_of_numpys_do_widen() -> None:
    assert bridge.xla(lambda x: np.float64(x[0].item()) * NARROW)(X).dtype == np.float64
    assert bridge.xla(lambda x: np.sqrt(x[0].item()) * NARROW)(X).dtype == np.float64


def test_python_rounds_the_digits_that_are_written() -> None:
    assert round(2.675, 2) != np.round(2.675, 2)
    value, slope = bridge.value_and_grad(lambda x: round(float(x[1]), 2) + x[1])(X)
    assert value == round(2.675, 2) + 2.675
    assert slope.tolist() == [0.0, 1.0, 0.0]


def test_a_log_keeps_what_item_gives() -> None:
    log: list[Any] = []

    def f(x: Any) -> Any:
        log.append(x[0].item())
        log.append(x.tolist())
        return np.sum(x**2)

    bridge.grad(f)(X)
    assert log == [X[0], X.tolist()]
    assert [type(one) for one in (log[0], *log[1])] == [float] * 4
