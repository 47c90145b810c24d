"""Compiled code is not called with values that carry a gradient: an error comes before the call."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import EscapeError, TraceError

X = np.array([0.7, 1.3, 2.1])
CALLS: list[str] = []

LIBRARY = ctypes.CDLL(ctypes.util.find_library("m"))
LIBRARY.cbrt.restype, LIBRARY.cbrt.argtypes = ctypes.c_double, [ctypes.c_double]

# What SWIG writes: functions and classes in Python, each of which calls compiled code with what it gets.
SWIG: Any = types.ModuleType("a_library_by_swig")
exec(
    """
def _swig_repr(self):
    return ""

def sin(*args):
    CALLS.append("sin")
    return 1.0

class Function:
    def __init__(self, *args):
        CALLS.append("__init__")
    def __call__(self, *args):
        CALLS.append("__call__")
        return 1.0
    def call(self, *args):
        CALLS.append("call")
        return 1.0
""",
    vars(SWIG),
)
SWIG.CALLS = CALLS
FUNCTION = SWIG.Function()


@pytest.fixture(autouse=True)
def _found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, SWIG.__name__, SWIG)
    CALLS.clear()


def cython(x: Any) -> Any:
    return pytest.importorskip("pandas._libs.algos").kth_smallest(x, 1)


def pybind11(x: Any) -> Any:
    return pytest.importorskip("contourpy._contourpy").SerialContourGenerator(x, x, x)


def numba(x: Any) -> Any:
    return pytest.importorskip("numba").guvectorize(["(f8[:], f8[:])"], "(n)->()")(lambda x, y: None)(x)


PROGRAMS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a function by ctypes": (lambda x: LIBRARY.cbrt(x[0]), r"argument 1 of ctypes\.cbrt"),
    "in a list": (lambda x: SWIG.sin(2.0, [x[0], x[1]]), r"argument 2 of a_library_by_swig\.sin"),
    "in a dictionary": (lambda x: SWIG.sin({"a": x}), r"argument 1 of a_library_by_swig\.sin"),
    "by name": (lambda x: FUNCTION(y=x), r"argument y of a_library_by_swig\.Function"),
    "an object that is called": (lambda x: FUNCTION(x), r"argument 1 of a_library_by_swig\.Function"),
    "a method": (lambda x: FUNCTION.call(x), r"argument 2 of a_library_by_swig\.call"),
    "a class": (lambda x: SWIG.Function(x).call(), r"argument 1 of a_library_by_swig\.Function"),
    "through map": (lambda x: sum(map(LIBRARY.cbrt, x)), r"argument 1 of ctypes\.cbrt"),
    "through a variable": (lambda x: sum(f(x[0]) for f in (LIBRARY.cbrt,)), r"argument 1 of ctypes\.cbrt"),
    "caught": (lambda x: caught(x), r"argument 1 of ctypes\.cbrt"),
    "Cython": (cython, r"argument 1 of pandas\.kth_smallest"),
    "pybind11": (pybind11, r"argument 1 of contourpy\.SerialContourGenerator"),
    "Numba": (numba, r"argument 1 of tests\.<lambda>"),
}


def caught(x: Any) -> Any:
    try:
        return LIBRARY.cbrt(x[0])
    except TypeError:
        return x[0]


@pytest.mark.parametrize("engine", ["native", "xla"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_error_comes_before_the_call(name: str, engine: Any) -> None:
    if engine == "xla":
        pytest.importorskip("jax")
    program, words = PROGRAMS[name]
    kind = EscapeError if engine == "native" else TraceError
    with pytest.raises(kind, match=rf"(?s){words}, which is compiled code.*test_compiled_code.*bridge\.rule\(.*detach"):
        bridge.grad(program, engine=engine)(X)
    assert not {"sin", "call", "__call__"}.intersection(CALLS)


def test_values_without_a_gradient_are_passed_on() -> None:
    def program(x: Any) -> Any:
        return x[0] * SWIG.sin(2.0) + x[1] * LIBRARY.cbrt(8.0) + x[2] * LIBRARY.cbrt(bridge.detach(x[2]))

    np.testing.assert_allclose(bridge.grad(program)(X), [1.0, 2.0, np.cbrt(X[2])])


def test_a_number_of_pythons_has_no_item() -> None:
    """Compiled code takes `item` of what has it, again and again (CasADi)."""

    def program(x: Any) -> Any:
        number, steps = x[0], 0
        while hasattr(number, "item") and steps < 5:
            number, steps = number.item(), steps + 1
        return number * steps

    assert program(X) == X[0]
    np.testing.assert_allclose(bridge.grad(program)(X), [1.0, 0.0, 0.0])
