"""Values that leave tracking, and operations that are refused by name."""

from __future__ import annotations

import contextlib
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import errors
from tests.helpers.assertions import assert_gradient

X = np.array([0.7, -0.4, 1.3, 0.2])


def test_a_plain_target_of_tracked_values_is_an_escape() -> None:
    def f(x: Any) -> Any:
        out = np.zeros(4)
        out[:] = x * 2
        return np.sum(out)

    with pytest.raises(errors.EscapeError, match=r"test_escapes\.py:\d+(.|\n)*zeros_like(.|\n)*bridge\.numpy"):
        bridge.grad(f, source=False)(X)


@pytest.mark.parametrize(
    "leave",
    [
        lambda x: float(x[0]),
        lambda x: int(x[0]),
        lambda x: complex(x[0]),
        lambda x: math.sin(x[0]),
        lambda x: np.asarray(x)[0],
        lambda x: np.array([x[0], x[1]])[0],
        lambda x: np.ones(3).dot(x[:3]),
        lambda x: np.random.default_rng(0).normal(x[0]),
        lambda x: np.zeros(2).fill(x[0]),
        lambda x: np.add(x, 1.0, out=np.zeros(4))[0],
        lambda x: x.tobytes(),
    ],
)
def test_a_float_may_not_leave(leave: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        leave(x)
        return np.sum(x)

    with pytest.raises(errors.EscapeError, match="remedy"):
        bridge.grad(f, source=False)(X)


def test_a_swallowed_escape_is_raised_at_the_end() -> None:
    def f(x: Any) -> Any:
        with contextlib.suppress(TypeError):
            float(x[0])
        p = np.zeros(3)
        with contextlib.suppress(TypeError, ValueError):
            p[0] = x[1]
        return np.sum(x)

    with pytest.raises(errors.EscapeError, match="leaves tracking"):
        bridge.grad(f, source=False)(X)


def test_detach_lets_a_value_go() -> None:
    def f(x: Any) -> Any:
        scale = float(bridge.detach(x[0]))
        return scale * np.sum(x)

    np.testing.assert_allclose(bridge.grad(f)(X), np.full(4, X[0]))


def test_integers_may_leave() -> None:
    def f(x: Any) -> Any:
        k = np.argmax(x)
        order = np.argsort(x)
        cast = (x * 2).astype(int)
        return x[k] * x[int(order[0])] + sum(x[i] for i in range(int(cast[0]) + 1)) * x[order][1]

    assert_gradient(f, X)


def test_a_complex_value_into_a_real_array() -> None:
    def assigned(x: Any) -> Any:
        a = np.zeros_like(x)
        a[0] = x[0] * 1j
        return np.sum(a)

    def updated(x: Any) -> Any:
        a = x.copy()
        np.multiply(x, 1j, out=a, casting="unsafe")
        return np.sum(a)

    for f in (assigned, updated):
        with pytest.raises(errors.RefusedError, match="imaginary part"):
            bridge.grad(f)(X)


def test_pickling_is_refused() -> None:
    def f(x: Any) -> Any:
        pickle.dumps(x)
        return np.sum(x)

    with pytest.raises(errors.RefusedError, match="pickled"):
        bridge.grad(f)(X)


def test_an_operation_without_a_rule_is_named() -> None:
    special = pytest.importorskip("scipy.special")
    name = r"scipy\.special\.mathieu_a"
    with pytest.raises(errors.NoRuleError, match=rf"{name}(.|\n)*test_escapes\.py(.|\n)*@rule\({name}\)"):
        bridge.grad(lambda x: np.sum(special.mathieu_a(1.0, x)))(np.abs(X))


@pytest.mark.parametrize(
    "refused",
    [
        lambda x: np.median(x, overwrite_input=True),
        lambda x: np.sum(np.concatenate([np.asmatrix(np.eye(4)), np.outer(x, x)]) * np.ones((4, 1))),
        lambda x: np.sum(np.stack([np.ma.array(np.ones(4), mask=[0, 1, 0, 0]), x])),
        lambda x: np.average(x, weights=np.ma.array(np.ones(4), mask=[0, 1, 0, 0])),
        lambda x: np.sum(np.where(x > 0, x, np.ma.array(np.ones(4), mask=[0, 1, 0, 0]))),
        lambda x: np.sum(x.astype(object)),
    ],
)
@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_operands_and_options_that_are_refused(refused: Callable[[Any], Any]) -> None:
    with pytest.raises(errors.BridgeError, match="remedy"):
        bridge.grad(refused)(X)


OBJECTS = np.array([1.0, 2.0, 3.0, 4.0], dtype=object)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (lambda x: np.sum(x * OBJECTS), r"np\.multiply of a tracked value makes an array of dtype object"),
        (lambda x: np.sum(np.concatenate([OBJECTS, x])), r"np\.concatenate of a tracked value .* dtype object"),
        (lambda x: np.sum(np.where(X > 0, x, OBJECTS)), r"np\.where of a tracked value .* dtype object"),
        (lambda x: np.stack([x, np.array(list("abcd"))]).size * x[0], r"np\.stack of a tracked value .* dtype <U32"),
    ],
)
def test_arrays_of_objects_and_of_text_carry_no_gradient(program: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(errors.RefusedError, match=message + r"(.|\n)*test_escapes\.py:\d+(.|\n)*dtype=float"):
        bridge.grad(program)(X)


@pytest.mark.parametrize("engine", ["native", "xla"])
def test_numbers_in_an_array_of_objects_are_written_as_numbers(engine: str) -> None:
    def program(x: Any) -> Any:
        y = x.copy()
        y[1:3] = OBJECTS[:2]
        return np.sum(y * y)

    np.testing.assert_allclose(bridge.grad(program, engine=engine)(X), [2 * X[0], 0.0, 0.0, 2 * X[3]])
