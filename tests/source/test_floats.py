"""`float(x)` of a tracked number keeps its gradient, and leaves plain floats in what outlives the call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import bridge


class Model:
    def __init__(self) -> None:
        self.history: list[float] = []
        self.last = 0.0
        self.table: dict[str, float] = {}
        self.log = np.zeros(3)


def test_the_gradient_passes() -> None:
    assert bridge.value_and_grad(lambda x: float(x) * x)(3.0) == (9.0, 6.0)


@pytest.mark.parametrize("run", ["grad", "vjp", "jvp"])
def test_logs_keep_plain_floats(run: str) -> None:
    o = Model()

    def f(x: Any) -> Any:
        for k in range(3):
            x = x * x
            o.history.append(float(x))
            o.log[k] = float(x)
        o.last = float(x)
        o.table["last"] = float(x)
        return x

    if run == "grad":
        bridge.grad(f)(2.0)
    elif run == "vjp":
        bridge.vjp(f, 2.0)[1](1.0)
    else:
        bridge.jvp(f, (2.0,), (1.0,))
    assert o.history == [4.0, 16.0, 256.0]
    assert {type(value) for value in (*o.history, o.last, o.table["last"])} == {float}
    np.testing.assert_array_equal(o.log, [4.0, 16.0, 256.0])
    assert o.last == o.table["last"] == 256.0


def test_what_float_refuses_it_refuses_here() -> None:
    with pytest.raises(TypeError, match="only 0-dimensional arrays can be converted to Python scalars"):
        bridge.grad(lambda x: float(x))(np.ones(2))


def test_an_array_of_one_element_is_a_number() -> None:
    value, gradient = bridge.value_and_grad(lambda x: float(x) ** 2)(np.array([[3.0]]))
    assert value == 9.0
    np.testing.assert_array_equal(gradient, [[6.0]])
