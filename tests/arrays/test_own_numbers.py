"""Numbers of classes of their own beside tracked values: what Python and NumPy compute, or an error with a remedy."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError
from tests.helpers.by_differences import differences

X = np.array([1.7, 0.6])
THIRD, HALF = Fraction(1, 3), Fraction(1, 2)


class Times(float):
    """A float that multiplies by an operator of its own."""

    def __mul__(self, other: Any) -> Any:
        return float(self) * other

    __rmul__ = __mul__


class Squares(float):
    """Its operator, which Python asks beside its own floats and NumPy does not, is no sum."""

    def __radd__(self, other: Any) -> Any:
        return other * other + float(self)


class Count(int):
    def __rsub__(self, other: Any) -> Any:
        return other * other - int(self)


def written(x: Any) -> Any:
    x = x.copy()
    x *= Times(2)
    x += Squares(1)
    return np.sum(x)


def rebound(x: Any) -> Any:
    s = x[0]
    s += THIRD
    s **= HALF
    return s


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "number by class": lambda x: x[0] * Times(2),
    "class by number": lambda x: Times(2) * x[0],
    "array by class": lambda x: np.sum(x * Times(2)),
    "class by array": lambda x: np.sum(Times(2) * x),
    "ufunc": lambda x: np.sum(np.multiply(x, Times(2)) + np.maximum(x, Times(1))),
    "power": lambda x: np.sum(x ** Times(2)),
    "number of NumPy's": lambda x: x[0] + Squares(2),
    "number of Python's": lambda x: x[0].item() + Squares(2),
    "integer beside a float": lambda x: x[0].item() - Count(2),
    "in place": written,
    "fraction": lambda x: THIRD * x[0] + x[1] * THIRD - (THIRD - x[0]) / (x[1] / THIRD) + THIRD / x[0],
    "powers of fractions": lambda x: x[0] ** THIRD + THIRD ** x[1],
    "remainder": lambda x: x[0] % THIRD,
    "fraction, rebound": rebound,
    "sum of a list": lambda x: sum([THIRD, x[0], x[1]]),
    "compared": lambda x: x[0] * 2 if x[1] < HALF or x[1] == HALF else x[0] * 3,
}


@pytest.mark.parametrize("source", [None, False])
@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_they_are_what_python_and_numpy_take_them_for(name: str, engine: Any, source: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
        if source is False:
            pytest.skip("compiled programs are read")
    program = PROGRAMS[name]
    value, found = bridge.value_and_grad(program, engine=engine, source=source)(X)
    np.testing.assert_allclose(value, program(X.copy()), rtol=1e-14)
    np.testing.assert_allclose(found, differences(program, X), rtol=1e-5, atol=1e-8)


def test_a_fraction_is_compared_exactly() -> None:
    third = np.array([1 / 3])
    assert third[0] != THIRD
    assert bridge.grad(lambda x: x[0] * 2 if x[0] == THIRD else x[0] * 3)(third) == 3
    with pytest.raises(
        RefusedError, match=r"more digits than a float has(.|\n)*remedy: use its number: float\(Fraction"
    ):
        pytest.importorskip("jax")
        bridge.grad(lambda x: x[0] * 2 if x[0] < THIRD else x[0] * 3, engine="xla")(third)


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "array by fraction": (
        lambda x: np.sum(x * THIRD),
        r"array of objects(.|\n)*remedy: .* float\(Fraction",
    ),
    "fraction by array": (
        lambda x: np.sum(THIRD * x),
        r"array of objects(.|\n)*remedy: .* float\(Fraction",
    ),
    "time": (lambda x: datetime.timedelta(seconds=2) * x[0], r"a timedelta(.|\n)*remedy: .* \.total_seconds\(\)"),
    "times": (lambda x: x * datetime.timedelta(seconds=2), r"array of objects(.|\n)*remedy: .* \.total_seconds\(\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_objects_have_no_gradient(name: str) -> None:
    program, message = REFUSED[name]
    with pytest.raises(RefusedError, match=message) as caught:
        bridge.grad(program)(X)
    assert "test_own_numbers.py" in str(caught.value)
