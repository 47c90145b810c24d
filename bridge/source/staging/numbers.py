"""Functions of Python's in a program that is compiled: of numbers that are not known yet."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.rewind.values import is_abstract
from bridge.source import callees
from bridge.source.staging import items
from bridge.source.staging.truth import truth, unknown


def _range(*args: Any) -> Any:
    return items.of_range(*args)


def _iterated(plain: Any) -> Callable[..., Any]:
    """`enumerate`, `zip` or `reversed`, by number where that can be."""
    numbered = items.ITERATED[plain]

    def call(*args: Any, **kwargs: Any) -> Any:
        found = numbered(*args, **kwargs)
        return callees.of(plain)(*args, **kwargs) if found is None else found

    return call


def _least(plain: Any, comes_first: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`min` or `max`: of equal ones the first."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], Iterator):
            args = (list(args[0]),)
        values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if kwargs or len(values) < 2 or not any(map(is_abstract, values)) or any(map(np.ndim, values)):
            return callees.of(plain)(*args, **kwargs)
        best = values[0]
        for one in values[1:]:
            if _is_integer(best) and _is_integer(one):
                best = (np.minimum if plain is min else np.maximum)(best, one)
            else:
                chosen: Any = np.where(comes_first(one, best), one, best)
                best = chosen[()]
        return best

    return call


def _is_integer(value: Any) -> bool:
    return np.result_type(getattr(value, "dtype", type(value))).kind in "iu"


def _int(*args: Any, **kwargs: Any) -> Any:
    """`int(x)`: of an integer that is not known, itself; of another number, what it is without its fraction."""
    if len(args) == 1 and not kwargs and is_abstract(args[0]) and np.size(args[0]) == 1:
        x = args[0]
        number = x.reshape(())[()] if hasattr(x, "view_as") else x
        if number.dtype.kind in "iu":
            return number
        return np.trunc(number).astype(np.int64) if number.dtype.kind == "f" else number.astype(np.int64)
    return callees.of(int)(*args, **kwargs)


def _bool(*args: Any) -> Any:
    return truth(args[0]) if len(args) == 1 and unknown(args[0]) else callees.of(bool)(*args)


COUNTED: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.enumerate: _iterated(enumerate),
    builtins.zip: _iterated(zip),
    builtins.reversed: _iterated(reversed),
    builtins.min: _least(min, lambda one, best: one < best),
    builtins.max: _least(max, lambda one, best: one > best),
    builtins.int: _int,
    builtins.bool: _bool,
}
