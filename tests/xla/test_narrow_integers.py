"""Numbers of NumPy that compiled programs write into narrower integers: its value, or its error, at run time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge

pytest.importorskip("jax")

Store = Callable[[Any, Any], Any]


def into(key: Any, shape: Any = 4) -> Store:
    def store(v: Any, dtype: Any) -> Any:
        held = np.zeros(shape, dtype)
        held[key] = v
        return held

    return store


def by(function: Callable[..., Any], *before: Any, shape: Any = 4, **named: Any) -> Store:
    """A function that writes the number into memory that it is given."""

    def store(v: Any, dtype: Any) -> Any:
        held = np.zeros(shape, dtype)
        function(held, *before, v, **named)
        return held

    return store


def filled(v: Any, dtype: Any) -> Any:
    held = np.zeros(4, dtype)
    held.fill(v)
    return held


def added(v: Any, dtype: Any) -> Any:
    held = np.zeros(4, dtype)
    held[1] += v
    return held


def listed(v: Any, dtype: Any) -> Any:
    held = np.zeros(4, dtype)
    held[:2] = [v, 1]
    return held


def of_an_array(v: Any, dtype: Any) -> Any:
    held = np.zeros(4, dtype)
    held[:2] = np.stack([v, v])
    return held


def in_a_loop(v: Any, dtype: Any) -> Any:
    held = np.zeros(40, dtype)
    for i in range(40):
        held[i] = v
    return held


STORES: dict[str, Store] = {
    "element": into(1),
    "element of a matrix": into((1, 0), (2, 2)),
    "slice": into(slice(1, None)),
    "all": into(Ellipsis),
    "no axes": into((), ()),
    "indices": into([0, 1]),
    "mask": into(np.array([True, False, True, False])),
    "fill": filled,
    "+=": added,
    "a list": listed,
    "an array": of_an_array,
    "a loop": in_a_loop,
    "np.array": lambda v, dtype: np.array([v, v], dtype),
    "np.full": lambda v, dtype: np.full(4, v, dtype),
    "np.full_like": lambda v, dtype: np.full_like(np.zeros(4, dtype), v),
    "np.put": by(np.put, [1]),
    "np.put_along_axis": lambda v, dtype: by(np.put_along_axis, np.array([1]), axis=0)(v, dtype),
    "np.copyto": by(np.copyto, casting="unsafe"),
    "np.putmask": by(np.putmask, np.ones(4, bool)),
    "np.fill_diagonal": by(np.fill_diagonal, shape=(4, 4)),
    "the class": lambda v, dtype: dtype(v),
    "astype": lambda v, dtype: v.astype(dtype),
}
NUMBERS = [np.int64(399), np.int64(-1), np.int64(5), np.int64(3 * 10**9), np.float64(399.7), np.float64(-1.5)]


@pytest.mark.ci
@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("name", STORES)
def test_numbers_that_are_too_wide(name: str, dtype: Any) -> None:
    def store(values: Any) -> Any:
        return STORES[name](values[0], dtype)

    compiled = bridge.xla(store)
    for number in NUMBERS:
        if number.dtype.kind == "f" and name in ("np.copyto", "np.putmask", "+="):
            continue
        values = np.array([number])
        try:
            wanted = store(values)
        except OverflowError as error:
            with pytest.raises(OverflowError, match=str(error)) as found:
                compiled(values)
            assert "test_narrow_integers.py" in str(found.value)
        else:
            got = compiled(values)
            np.testing.assert_array_equal(got, wanted)
            assert got.dtype == wanted.dtype


def test_wide_unsigned_numbers() -> None:
    def store(values: Any) -> Any:
        held = np.zeros(2, np.int64)
        held[0] = values[0]
        return held

    compiled = bridge.xla(store)
    assert compiled(np.array([7], np.uint64))[0] == 7
    with pytest.raises(OverflowError, match="out of bounds for int64"):
        compiled(np.array([2**63 + 5], np.uint64))


def test_eager_lists_of_tracked_numbers() -> None:
    def program(x: Any) -> Any:
        return np.sum(x) * np.array([x[0] * 500, 1.0], np.int8)[0]

    with pytest.raises(OverflowError, match="out of bounds for int8"):
        program(np.ones(2))
    with pytest.raises(OverflowError, match="out of bounds for int8"):
        bridge.grad(program)(np.ones(2))
