"""NumPy writes, then raises: the program goes on with what was written, and so does its gradient."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.helpers.finite_differences import gradient

X = np.array([0.3, -0.7, 1.1, 0.5, 0.9, -0.2])
WITH_ZERO = np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0])

WRITES: dict[str, Callable[[Any], Any]] = {
    "sqrt": lambda y: np.sqrt(y, out=y),
    "log of a neighbour": lambda y: np.log(y[1:], out=y[:-1]),
    "log under a mask": lambda y: np.log(y, out=y, where=np.array([1, 0, 1, 1, 0, 1], bool)),
    "divide": lambda y: np.divide(y, WITH_ZERO, out=y),
    "augmented": lambda y: y.__itruediv__(WITH_ZERO),
    "divide.at": lambda y: np.divide.at(y, [0, 0, 1, 2], np.array([2.0, 4.0, 0.0, 3.0])),
    "log.at": lambda y: np.log.at(y, [1, 3, 0]),
    "add.at": lambda y: np.add.at(y, [0, 1, 0], np.array([1e308, 1.0, 1.5e308])),
    "add.at outside": lambda y: np.add.at(y, [0, 1, 99], y[:3]),
    "put outside": lambda y: np.put(y, [0, 99, 1], y[3]),
    "put of its own memory": lambda y: np.put(y, [0, 2, 99], y[2:5]),
    "flat outside": lambda y: y.flat.__setitem__([0, 1, 99], y[3:6]),
    "two outputs": lambda y: np.divmod(y, WITH_ZERO, out=(y, np.zeros(6))),
    "reduction": lambda y: np.divide.reduce(np.stack([y, WITH_ZERO]), axis=0, out=y),
    "product": lambda y: np.prod(np.stack([y * 1e200, y * 1e200]), axis=0, out=y),
    "product of matrices": lambda y: np.matmul(np.diag(y) * 1e200, y * 1e200, out=y),
    "nothing written": lambda y: np.mean(np.zeros((0, 6)), axis=0, out=y),
    "nothing written by a value": lambda y: y.__setitem__(slice(None), y / WITH_ZERO),
}


def by_state(write: Callable[[Any], Any], y: Any) -> None:
    with np.errstate(all="raise"):
        write(y)


def by_warnings(write: Callable[[Any], Any], y: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        write(y)


def going_on(write: Callable[[Any], Any], raising: Any) -> Callable[[Any], Any]:
    def program(x: Any) -> Any:
        y = x * 1.5
        with suppress(FloatingPointError, Warning, IndexError):
            raising(write, y)
        return np.sum(np.where(np.isfinite(y), y, 0.5) ** 2 * np.arange(1.0, 7.0))

    return program


@pytest.mark.parametrize("raising", [by_state, by_warnings])
@pytest.mark.parametrize("name", WRITES)
def test_what_was_written_counts(name: str, raising: Any) -> None:
    program = going_on(WRITES[name], raising)
    value, found = bridge.value_and_grad(program)(X.copy())
    assert value == program(X.copy())
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found, gradient(program, [X])[0], atol=1e-5)


@pytest.mark.parametrize("name", ["sqrt", "divide", "divide.at", "add.at outside"])
def test_forward(name: str) -> None:
    program, t = going_on(WRITES[name], by_state), np.cos(X)
    assert bridge.jvp(program, (X.copy(),), (t,))[1] == pytest.approx(gradient(program, [X])[0] @ t, abs=1e-5)


def test_a_cast_that_overflows_is_written() -> None:
    def program(x: Any) -> Any:
        y = np.zeros(6, np.float32)
        try:
            with np.errstate(all="raise"):
                y[...] = x * np.array([1, 1e300, 1, 1, 1, 1])
        except FloatingPointError:
            pass
        return np.sum(np.where(np.isfinite(y), y, 0.0) * np.arange(6))

    np.testing.assert_allclose(bridge.grad(program)(X.copy()), [0, 0, 2, 3, 4, 5])


def test_a_write_that_is_stopped_on_its_way_is_remembered() -> None:
    class Stops(np.ndarray):
        """An array that is written up to its middle, and then raises."""

        def __setitem__(self, key: Any, value: Any) -> None:
            if np.size(value) == 6 and getattr(self, "armed", True):
                self.armed = False
                super().__setitem__(slice(0, 3), np.asarray(value)[:3])
                raise RuntimeError("a disk is full")
            super().__setitem__(key, value)

    def stopped() -> None:
        with bridge.Context() as context:
            y = context.buffer(np.zeros(6))
            y.value = y.value.view(Stops)
            with suppress(RuntimeError, TypeError):
                y[...] = context.buffer(X)

    with pytest.raises(errors.RefusedError, match=r"had written some of it \(a disk is full\)(.|\n)*of its own"):
        stopped()


def test_a_compiled_program_refuses_errors_that_depend_on_numbers() -> None:
    def program(x: Any) -> Any:
        try:
            with np.errstate(all="raise"):
                return np.sum(np.log(x))
        except Exception:
            return np.sum(x * x)

    with pytest.raises(errors.RefusedError, match=r"asks to be told where a number overflows(.|\n)*native"):
        bridge.grad(program, engine="xla")(X.copy())


REFUSED_BY_NUMPY: dict[str, Callable[[Any], Any]] = {
    "shape": lambda y: y.__setitem__(slice(2, 5), np.ones(4)),
    "shape of what carries a gradient": lambda y: y.__setitem__(slice(2, 5), y[:4]),
    "text": lambda y: y.__setitem__(slice(2, 5), "three"),
    "mask": lambda y: y.__setitem__(np.array([True] * 3 + [False] * 3), y[:2]),
    "sequence": lambda y: y.__setitem__([1, 2, 3], [1.0, 2.0]),
    "shape of out": lambda y: np.add(y[:2], y[2:4], out=y),
    "operands": lambda y: np.multiply(y, np.ones(5), out=y),
    "indices": lambda y: np.add.at(y, [0, 1, 2], np.ones(2)),
}


@pytest.mark.parametrize("name", REFUSED_BY_NUMPY)
def test_a_write_that_numpy_refuses_has_not_happened(name: str) -> None:
    """The cotangents of what was there go on to who wrote it."""

    def program(x: Any) -> Any:
        y = x * 1.5
        with suppress(ValueError, TypeError):
            REFUSED_BY_NUMPY[name](y)
        return np.sum(y**2 * np.arange(1.0, 7.0))

    np.testing.assert_allclose(bridge.grad(program)(X), gradient(program, [X])[0], rtol=1e-6)


@pytest.mark.parametrize("name", ["sqrt", "log of a neighbour", "divide", "augmented", "log.at", "nothing written"])
def test_second_derivatives(name: str) -> None:
    """The outer differentiation is told what has been written before the error goes on."""
    program, v = going_on(WRITES[name], by_state), np.linspace(-1, 1, 6)
    with np.errstate(all="ignore"):
        slope = (bridge.grad(program)(X + 1e-6 * v) - bridge.grad(program)(X - 1e-6 * v)) / 2e-6
        np.testing.assert_allclose(bridge.hvp(program, (X,), (v,)), slope, rtol=1e-5, atol=1e-6)
