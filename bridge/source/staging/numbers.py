"""Functions and comparisons of Python's in a program that is compiled: of numbers that are not known yet."""

from __future__ import annotations

import builtins
import math
import sys
from collections import deque
from collections.abc import Callable, Iterator, MappingView
from typing import Any

import numpy as np

from bridge.arrays.buffer import is_weak, weak
from bridge.arrays.unknown_text import refuse_decision
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.values import describes, is_abstract, lowered_to
from bridge.source import binary_operators, callees
from bridge.source.iterating import elements
from bridge.source.special_methods import operand
from bridge.source.staging import items, iterators
from bridge.source.staging.truth import is_true, truth, unknown
from bridge.source.staging.watching import check_asked


def _range(*args: Any) -> Any:
    return items.of_range(*args)


def _iterated(plain: Any) -> Callable[..., Any]:
    """`enumerate`, `zip` or `reversed`, by number where that can be."""
    numbered = iterators.ITERATED[plain]

    def call(*args: Any, **kwargs: Any) -> Any:
        found = numbered(*args, **kwargs)
        return callees.of(plain)(*args, **kwargs) if found is None else found

    return call


def _least(plain: Any, comes_first: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`min` or `max`: of equal ones the first."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and (isinstance(args[0], _OF_NUMBERS) or (kwargs and _is_array(args[0]))):
            args = (list(elements(args[0])),)
        values = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if values and len(args) == 1:
            kwargs.pop("default", None)
        if list(kwargs) == ["key"] and len(values) > 1 and not any(map(_is_no_number, values)):
            return _least_by(kwargs["key"], values, comes_first, lambda: callees.of(plain)(*args, **kwargs))
        if kwargs or len(values) < 2 or not any(map(is_abstract, values)) or any(map(np.ndim, values)):
            return callees.of(plain)(*args, **kwargs)
        best = values[0]
        for one in values[1:]:
            if _is_integer(best) and _is_integer(one):
                best = (np.minimum if plain is min else np.maximum)(best, one)
            else:
                chosen: Any = np.where(comes_first(one, best), one, best)
                best = weak_if_all_are(chosen[()], values)
        return best

    return call


_OF_NUMBERS = (Iterator, MappingView, deque)
"""What `min` and `max` take numbers from one by one, beside lists, tuples and arrays."""


def _is_array(values: Any) -> bool:
    return (type(values) is np.ndarray or hasattr(values, "view_as")) and values.ndim == 1


def _is_no_number(value: Any) -> bool:
    return np.ndim(value) > 0 or not (is_abstract(value) or isinstance(value, (int, float, np.number)))


def _least_by(key: Any, values: Any, comes_first: Callable[[Any, Any], Any], plain: Callable[[], Any]) -> Any:
    """`min` or `max` of numbers by a key."""
    keys = list(map(callees.of(key), values))
    if not any(map(is_abstract, keys)) or any(map(np.ndim, keys)):
        return plain()
    best, first = values[0], keys[0]
    for one, its in zip(values[1:], keys[1:], strict=True):
        is_before = comes_first(its, first)
        chosen: Any = np.where(is_before, one, best)
        least: Any = np.where(is_before, its, first)
        best, first = weak_if_all_are(chosen[()], values), weak_if_all_are(least[()], keys)
    return best


def weak_if_all_are(chosen: Any, among: Any) -> Any:
    """One of several numbers, as one of Python's if all of them are."""
    is_pythons = all(is_weak(one) or type(one) in (int, float) for one in among)
    return ARRAYS.own_number(chosen) if is_pythons else chosen


def _joined(plain: Any, is_last: bool = False) -> Callable[..., Any]:
    """`any` or `all`; `is_last`: the variable that has what it is given is not read any more."""
    decides = plain is any

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs:
            return plain(*args, **kwargs)
        # The arguments have it, and so has the call.
        holders = sys.getrefcount(args[0]) - 2 - is_last
        check_asked(args[0])
        values = elements(args[0])
        iterator = iter(operand(values))
        context: Any = current_context()
        ahead = context.home.control.Ahead(context, values, iterator, holders, int(is_last))
        found: Any = None

        def step() -> Any:
            one = next(iterator)
            return truth(one) if unknown(one) else is_true(one)

        while True:
            try:
                one = step() if found is None else ahead.ask(step, found if decides else np.logical_not(found))
            except StopIteration:
                break
            if unknown(one):
                found = one if found is None else (np.logical_or if decides else np.logical_and)(found, one)
            elif one is decides:
                found = decides
                break
        ahead.over()
        return not decides if found is None else found

    return call


def contained(value: Any, container: Any) -> Any:
    """`value in container`, which may not be known."""
    check_asked(container)
    if type(container) is range and is_abstract(value) and not np.ndim(value):
        first, last = (container[0], container[-1]) if container else (1, 0)
        low, high = min(first, last), max(first, last)
        inside = np.logical_and(value >= low, value <= high) if container else np.logical_and(value > 0, value < 0)
        return np.logical_and(inside, (value - low) % abs(container.step) == 0)
    if type(container) is np.ndarray or hasattr(container, "view_as"):
        if is_abstract(container) or is_abstract(value):
            return np.any(items.tracked(container) == value)
        return value in container
    if type(container) not in (list, tuple, set, frozenset, dict) or not (
        is_abstract(value) or (type(container) in (list, tuple) and any(map(is_abstract, container)))
    ):
        return binary_operators.contained(value, container)
    return COUNTED[any]([one is value or one == value for one in container])


def compare(name: str, left: Any, right: Any) -> Any:
    """`left < right`, or whatever the operator is."""
    check_text(left)
    check_text(right)
    if name in ("in", "not in"):
        found = contained(left, right)
        if name == "in":
            return found
        return np.logical_not(found) if unknown(found) else not found
    return binary_operators.compared(name, left, right)


def identical(left: Any, right: Any) -> Any:
    """`left is right`; of booleans, Python's or NumPy's, that may not be known."""
    both = left, right
    if any(map(unknown, both)) and _type_of_boolean(left) is _type_of_boolean(right) is not None:
        return weak(np.equal(left, right))
    return left is right


def _type_of_boolean(one: Any) -> type | None:
    """The class of a boolean without axes, which has two objects; None of anything else."""
    if type(one) in (bool, np.bool_):
        return type(one)
    if not unknown(one) or hasattr(one, "view_as") or one.dtype != np.bool_:
        return None
    return bool if is_weak(one) else np.bool_


def check_text(one: Any) -> None:
    """Raise if the program decides by the text of a value that is known only when it runs."""
    if isinstance(one, str) and describes(one):
        raise refuse_decision(one)


def _round(*args: Any, **kwargs: Any) -> Any:
    """`round(x)`, an integer; and `round(x, digits)`."""
    return _rounded(round, np.rint)(*args) if len(args) == 1 and not kwargs else callees.of(round)(*args, **kwargs)


def _rounded(plain: Any, ufunc: Any) -> Callable[..., Any]:
    """`math.floor`, `math.ceil` or `math.trunc`, which give integers."""

    def call(x: Any) -> Any:
        if not is_abstract(x) or np.ndim(x) or x.dtype.kind != "f":
            return callees.of(plain)(x)
        return _whole(ufunc(x))

    return call


def _whole(number: Any) -> Any:
    """A float without a fraction as one of Python's integers, which a compiled program keeps in 64 bits."""
    if number.dtype.kind == "f":
        trace = number.place.context.home.trace
        trace.faults.check_whole(lowered_to(trace, np.logical_not(np.abs(number) < 2.0**63)))
    return weak(number if number.dtype == np.int64 else number.astype(np.int64))


def _sorted(*args: Any, **kwargs: Any) -> Any:
    """`sorted(numbers)`: equal ones in their order, also with `reverse=True`."""
    values = list(elements(args[0])) if len(args) == 1 else []
    kinds = {getattr(one, "dtype", None) for one in values}
    are_numbers = len(kinds) == 1 and None not in kinds and not any(map(np.ndim, values))
    if kwargs.keys() - {"reverse"} or not are_numbers or not any(map(unknown, values)):
        return callees.of(sorted)(*((values,) if len(args) == 1 else args), **kwargs)
    stacked = np.stack(values[::-1] if kwargs.get("reverse") else values)
    found = list(stacked[np.argsort(stacked, kind="stable")])
    return found[::-1] if kwargs.get("reverse") else found


def _is_integer(value: Any) -> bool:
    return np.result_type(getattr(value, "dtype", type(value))).kind in "iu"


def _int(*args: Any, **kwargs: Any) -> Any:
    """`int(x)`: of an integer that is not known, itself; of another number, what it is without its fraction."""
    if len(args) == 1 and not kwargs and is_abstract(args[0]) and np.size(args[0]) == 1:
        x = args[0]
        number = x.reshape(())[()] if hasattr(x, "view_as") else x
        return _whole(np.trunc(number) if number.dtype.kind == "f" else number)
    return callees.of(int)(*args, **kwargs)


def _bool(*args: Any) -> Any:
    return weak(truth(args[0])) if len(args) == 1 and unknown(args[0]) else callees.of(bool)(*args)


COUNTED: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.enumerate: _iterated(enumerate),
    builtins.zip: _iterated(zip),
    builtins.reversed: _iterated(reversed),
    builtins.min: _least(min, lambda one, best: one < best),
    builtins.max: _least(max, lambda one, best: one > best),
    builtins.int: _int,
    builtins.bool: _bool,
    builtins.any: _joined(any),
    builtins.all: _joined(all),
    builtins.round: _round,
    builtins.sorted: _sorted,
}

LAST: dict[Any, Callable[..., Any]] = {plain: _joined(plain, is_last=True) for plain in (any, all)}
"""The same, of what nobody reads afterwards."""

ROUNDED: dict[Any, Callable[..., Any]] = {
    math.floor: _rounded(math.floor, np.floor),
    math.ceil: _rounded(math.ceil, np.ceil),
    math.trunc: _rounded(math.trunc, np.trunc),
}
"""Functions of `math` that make integers of floats."""
