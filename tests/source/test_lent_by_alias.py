"""Lent memory by another way: arrays that got it by its address are followed; code that keeps a pointer is an error."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import AliasError, EscapeError
from bridge.source.pattern import PATTERNS, fill, is_filled, is_marked, shows_pattern

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


def doubled(alias: Any) -> None:
    alias[:] *= 2


def one_element(alias: Any) -> None:
    alias[0] *= 3.0


def shifted(alias: Any) -> None:
    alias[1:] += alias[:-1]


def turned(alias: Any) -> None:
    alias[:] = alias[::-1].copy()


def clipped(alias: Any) -> None:
    np.maximum(np.real(alias), 1.5, out=np.real(alias))


def compared(alias: Any) -> None:
    alias[...] = np.where(np.real(alias) > 1.5, alias, 2 * alias)


ALIASES: list[Callable[[np.ndarray], Any]] = [by_dlpack, by_pointer, by_interface, by_torch]
CHANGES: list[Callable[[Any], None]] = [doubled, one_element, shifted, turned, clipped, compared]


@pytest.mark.parametrize("alias_of", ALIASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("change", CHANGES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128"])
def test_what_the_program_does_through_an_alias(alias_of: Any, change: Any, dtype: str) -> None:
    if alias_of is by_pointer and dtype == "complex128":
        pytest.skip("ctypes has no complex numbers in this Python")
    u = np.zeros(3, dtype)
    alias, weights = alias_of(u), np.array([1.0, 2.0, 4.0])

    def program(x: Any) -> Any:
        u[:] = x
        change(alias)
        return np.sum(weights * np.real(u))

    x = X.astype(dtype)
    value, gradient = bridge.value_and_grad(program)(x)
    np.testing.assert_array_equal(u, 0.0)
    assert value == program(x)
    steps = 0.25 * np.eye(3)
    differences = [(program(x + h) - program(x - h)) / 0.5 for h in steps.astype(dtype)]
    np.testing.assert_allclose(np.real(gradient), differences, rtol=1e-6)


def test_an_alias_of_a_part_and_one_that_goes_beyond() -> None:
    memory = np.zeros(8)
    part, whole = by_dlpack(memory[2:6:2]), by_pointer(memory)
    lent = np.lib.stride_tricks.as_strided(by_pointer(memory)[:4], (4,), (8,))

    def through_the_part(x: Any) -> Any:
        memory[:3] = x
        part[0] *= 5.0
        return np.sum(whole)

    np.testing.assert_array_equal(bridge.grad(through_the_part)(X), [1.0, 1.0, 5.0])

    def beyond(x: Any) -> Any:
        lent[:3] = x
        return np.sum(whole)

    with pytest.raises(EscapeError, match="cannot be lent"):
        bridge.grad(beyond)(X)


def test_code_that_is_not_read_and_computes_through_an_alias() -> None:
    u = np.zeros(3)
    alias = by_dlpack(u)

    def program(x: Any) -> Any:
        u[:] = x
        hidden["double"]()
        return np.sum(u)

    hidden: dict[str, Any] = {"np": np, "alias": alias}
    exec("def double():\n    np.multiply(alias, 2.0, out=alias)", hidden)
    with np.errstate(all="ignore"), pytest.raises(AliasError, match="was written by code that is not read"):
        bridge.grad(program)(X)


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


MOVES: dict[str, Callable[[int, int, int], Any]] = {
    "copied": lambda u, v, size: ctypes.memmove(u, v, 3 * size),
    "copied in part": lambda u, v, size: ctypes.memmove(u + size, v + size, size),
    "moved": lambda u, v, size: ctypes.memmove(u, u + size, 2 * size),
    "one for another": lambda u, v, size: ctypes.memmove(u, u + 2 * size, size),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("move", MOVES.values(), ids=MOVES)
def test_bits_that_code_which_is_not_read_moves(move: Callable[[int, int, int], Any], dtype: Any) -> None:
    def program(x: Any) -> Any:
        u, v = np.zeros(3, dtype), np.zeros(3, dtype)
        places = u.ctypes.data, v.ctypes.data
        u[...] = x
        v[...] = 2 * x
        move(*places, u.itemsize)
        return np.sum(np.real(u * v))

    with pytest.raises(AliasError, match="was written by code that is not read"):
        bridge.grad(program)(X.astype(dtype))


def test_each_array_has_a_pattern_of_its_own_at_each_place() -> None:
    kept = [np.zeros(100_000, kind) for kind in (np.uint64, np.uint32, np.uint16) for _ in range(2)]
    for number, bits in enumerate(kept):
        fill(bits, number)
        assert is_filled(bits, number) and is_marked(bits).all()
    for number in (0, 2):
        assert not is_filled(kept[number], number + 1)
        assert not is_filled(np.roll(kept[number], 1), number)
    assert np.unique(kept[0]).size == kept[0].size


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
