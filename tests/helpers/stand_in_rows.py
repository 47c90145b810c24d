"""Tables of calls: what stands in for a library's function gives its value, and has the gradient of differences."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bridge
from bridge.rulebook.book import STAND_INS, read_book
from bridge.signatures import operation_name


@dataclass(frozen=True)
class Row:
    """One call. `loss` maps its result to a number, where parts of that have a gauge or carry no gradient."""

    function: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    loss: Callable[..., Any] | None = None
    tolerance: float = 1e-6


ALWAYS = 2


def row(function: Any, *args: Any, **kwargs: Any) -> Row:
    return Row(function, args, kwargs)


def name_of(row: Row) -> str:
    """What a test of the row is called."""
    return operation_name(row.function)


def some_of_each(rows: list[Row]) -> list[Any]:
    """All rows as parameters; those of each function beyond the first ones run in CI."""
    seen: dict[str, int] = {}
    marked = []
    for one in rows:
        seen[name_of(one)] = count = seen.get(name_of(one), 0) + 1
        marked.append(one if count <= ALWAYS else pytest.param(one, marks=pytest.mark.ci))
    return marked


def stand_in_for(function: Any) -> Callable[..., Any]:
    """What a program that is read calls in place of a function, of a bound method, or of an object that is called."""
    read_book()
    if function in STAND_INS:
        return STAND_INS[function]
    if hasattr(function, "__func__"):
        return partial(STAND_INS[function.__func__], function.__self__)
    return partial(STAND_INS[type(function).__call__], function)


def same_value(row: Row) -> None:
    """The stand-in gives the function's value: the same shapes and dtypes, numbers up to rounding."""
    assert_same(stand_in_for(row.function)(*row.args, **row.kwargs), row.function(*row.args, **row.kwargs))


def assert_same(found: Any, expected: Any) -> None:
    if isinstance(expected, (tuple, list)):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
        return
    if expected is None or isinstance(expected, (bool, str)):
        assert found == expected
        return
    assert np.shape(found) == np.shape(expected)
    wanted, given = np.asarray(expected).dtype, np.asarray(found).dtype
    assert given == wanted or (given.kind in "iub" and wanted.kind in "iub"), f"{given} in place of {wanted}"
    precision = 1e-4 if wanted in (np.float32, np.complex64) else 1e-9
    largest = np.max(np.abs(expected), initial=1, where=np.isfinite(expected))
    assert_allclose(found, expected, rtol=precision, atol=precision * float(largest))


def right_gradient(row: Row) -> None:
    """The gradient by every float array among the arguments, proved against differences."""
    leaves: list[Any] = []
    spelled = _taken_apart((row.args, row.kwargs), leaves)
    stand_in = stand_in_for(row.function)

    def program(*arrays: Any) -> Any:
        args, kwargs = _put_together(spelled, arrays)
        return (row.loss or weighted)(stand_in(*args, **kwargs))

    bridge.check_gradient(program, tuple(range(len(leaves))), tolerance=row.tolerance)(*leaves)


def weighted(result: Any) -> Any:
    """A sum of all the floats of a result, each with another weight."""
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    total: Any = 0.0
    for number, part in enumerate(parts):
        if isinstance(part, (tuple, list)):
            total = total + weighted(part)
        elif getattr(part, "dtype", np.dtype(int)).kind in "fc":
            weights = np.cos(np.arange(float(np.size(part))) + number).reshape(np.shape(part))
            real, imaginary = np.real(part), np.imag(part)
            total = (
                total + np.sum(real * weights) + np.sum(imaginary * weights[..., ::-1] if weights.ndim else imaginary)
            )
    return total


class _Leaf(int):
    pass


def _taken_apart(x: Any, leaves: list[Any]) -> Any:
    if isinstance(x, np.ndarray) and x.dtype.kind in "fc":
        leaves.append(x)
        return _Leaf(len(leaves) - 1)
    if type(x) in (tuple, list):
        return type(x)(_taken_apart(part, leaves) for part in x)
    if type(x) is dict:
        return {name: _taken_apart(part, leaves) for name, part in x.items()}
    return x


def _put_together(x: Any, arrays: tuple[Any, ...]) -> Any:
    if isinstance(x, _Leaf):
        return arrays[x]
    if type(x) in (tuple, list):
        return type(x)(_put_together(part, arrays) for part in x)
    if type(x) is dict:
        return {name: _put_together(part, arrays) for name, part in x.items()}
    return x
