"""What would give out an array's memory, or compute otherwise than its derivative does, is told though it is caught."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import BridgeError

X = np.array([0.71, 1.33, 0.42, 2.13])


class Scaled(np.ndarray):
    def __mul__(self, other: Any) -> Any:
        return np.multiply(np.asarray(self), np.asarray(other)) * 2.0

    __rmul__ = __mul__


class Named(np.ndarray):
    name = "mass"


SCALED, NAMED = (np.arange(1.0, 5.0).view(kind) for kind in (Scaled, Named))


def caught(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception:
        return 0.0


PROGRAMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "memoryview": (
        lambda x: np.sum(x**2) + caught(lambda: np.asarray(memoryview(x)).sum()),
        "bytes of a tracked value",
    ),
    "frombuffer": (lambda x: np.sum(x**2) + caught(lambda: np.frombuffer(x).sum()), "bytes of a tracked value"),
    "ctypes": (lambda x: np.sum(x**2) + caught(lambda: float(x.ctypes.data > 0)), "ctypes of a tracked array"),
    "data": (lambda x: np.sum(x**2) + caught(lambda: x.data[0]), "data of a tracked array"),
    "base": (lambda x: np.sum(x**2) * (1 if getattr(x[1:], "base", None) is None else 2), "base of a tracked array"),
    "ctypes of integers": (lambda x: np.sum(x**2) * (x > 0).astype(int).ctypes.data, "ctypes of a tracked"),
    "caught dot": (lambda x: np.sum(x**2) + caught(lambda: np.dot(SCALED, x)), "Scaled is an operand"),
    "caught operator": (lambda x: np.sum(x**2) + caught(lambda: np.sum(x * SCALED)), "Scaled is an operand"),
    "dot": (lambda x: np.dot(SCALED, x) ** 2, "Scaled is an operand(.|\n)*remedy"),
    "ufunc": (lambda x: np.sum(np.asarray(np.multiply(SCALED, x)) ** 2), "Scaled is an operand"),
    "operator": (lambda x: np.sum((SCALED + x) * x), "Scaled is an operand: .*__mul__, __rmul__ of its own"),
    "reflected": (lambda x: np.sum(x * SCALED), "Scaled is an operand"),
    "function": (lambda x: np.sum(np.where(x > 1, SCALED, x)), "Scaled is an operand"),
}
ENGINES = ("native", "xla")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_is_told(name: str, engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    program, message = PROGRAMS[name]
    with pytest.raises(BridgeError, match=message):
        bridge.grad(program, engine=engine)(X.copy())


def test_a_class_that_changes_no_operation_is_an_array() -> None:
    found = bridge.grad(lambda x: np.dot(NAMED, x) + np.sum(NAMED * x))(X.copy())
    np.testing.assert_array_equal(found, 2 * np.arange(1.0, 5.0))


@pytest.mark.parametrize("function", [np.add, np.subtract])
def test_compiled_sums_into_integers(function: np.ufunc) -> None:
    pytest.importorskip("jax")

    def program(x: Any) -> Any:
        counts = np.array([10, 20])
        function.at(counts, [0, 1, 0, 1], x)
        return counts[0] * x[0] + counts[1] * x[1]

    with pytest.raises(BridgeError, match=r"\.at of float64 into an array of int64(.|\n)*np\.zeros"):
        bridge.grad(program, engine="xla")(X.copy())


@pytest.mark.parametrize("kind", ["call", "log"])
def test_compiled_calls_where_numbers_are_none(kind: Any) -> None:
    pytest.importorskip("jax")

    def program(x: Any) -> Any:
        hits: list[str] = []
        with np.errstate(invalid=kind, call=hits.append if kind == "call" else sys.stderr):
            y = np.sqrt(x)
        return np.nansum(y**3) * (1 + len(hits))

    with pytest.raises(BridgeError, match="asks to be told where a number overflows"):
        bridge.grad(program, engine="xla")(X.copy())
