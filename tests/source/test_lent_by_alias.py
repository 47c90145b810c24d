"""Memory that is lent, and is computed with in place through a pointer or an alias that nobody follows: an error."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError
from bridge.source.lending import PATTERNS, shows_pattern

X = np.array([1.0, 2.0, 3.0])


def by_dlpack(u: np.ndarray) -> Any:
    return np.from_dlpack(u)


def by_pointer(u: np.ndarray) -> Any:
    number = np.ctypeslib.as_ctypes_type(u.dtype)
    return np.ctypeslib.as_array(u.ctypes.data_as(ctypes.POINTER(number)), u.shape)


class Interface:
    """What shows memory by `__array_interface__`."""

    def __init__(self, u: np.ndarray) -> None:
        self.__array_interface__ = u.__array_interface__


def by_interface(u: np.ndarray) -> Any:
    return np.asarray(Interface(u))


def by_torch(u: np.ndarray) -> Any:
    return pytest.importorskip("torch", reason='pip install "mutation-bridge[torch]"').from_numpy(u).numpy()


def doubled(alias: np.ndarray) -> None:
    alias[:] *= 2


def one_element(alias: np.ndarray) -> None:
    alias[0] *= 3.0


def shifted(alias: np.ndarray) -> None:
    alias[1:] += alias[:-1]


ALIASES: list[Callable[[np.ndarray], Any]] = [by_dlpack, by_pointer, by_interface, by_torch]


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("alias_of", ALIASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("change", [doubled, one_element, shifted], ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_arithmetic_through_an_alias(alias_of: Any, change: Any, dtype: str) -> None:
    if alias_of is by_pointer and dtype == "complex128":
        pytest.skip("ctypes has no complex numbers in this Python")
    u = np.zeros(3, dtype)
    alias = alias_of(u)

    def program(x: Any) -> Any:
        u[:] = x
        change(alias)
        return np.real(np.sum(u))

    with pytest.raises(AliasError, match="was written by code that is not read"):
        bridge.grad(program)(X.astype(dtype))
    np.testing.assert_array_equal(u, 0.0)


def test_a_kernel_that_keeps_the_pointers_of_an_object() -> None:
    def halve(pointer: int, count: int) -> None:  # stands for a function of C
        memory = (ctypes.c_double * count).from_address(pointer)
        for k in range(count):
            memory[k] = memory[k] * 0.5

    class Model:
        def __init__(self, n: int) -> None:
            self.u = np.zeros(n)
            self.pointer = self.u.ctypes.data

        def damp(self) -> None:
            halve(self.pointer, len(self.u))

    def program(x: Any) -> Any:
        model = Model(3)
        model.u[:] = x
        model.damp()
        return np.sum(model.u**2)

    assert program(X) == 3.5
    with pytest.raises(AliasError, match="was written by code that is not read"):
        bridge.grad(program)(X)


@pytest.mark.parametrize("width", PATTERNS)
def test_the_pattern_is_known_after_arithmetic_too(width: int) -> None:
    kind = np.dtype(f"f{width}")
    lent = np.broadcast_to(PATTERNS[width], 4).copy().view(kind)
    assert np.isnan(lent).all() and shows_pattern(lent)
    with np.errstate(all="ignore"):
        computed = lent * kind.type(2)
    assert shows_pattern(computed) and shows_pattern(-computed)
    assert computed.tobytes() != lent.tobytes()
    assert not shows_pattern(np.full(4, np.nan, kind))
