"""Numbers of classes of their own beside tracked values: subclasses of Python's, fractions, lengths of time."""

from __future__ import annotations

import datetime
import numbers
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract
from bridge.signatures import operation_name

PLAIN = frozenset({bool, int, float, complex, *np.sctypeDict.values()})
"""Classes of numbers that are what they look like: Python's own and NumPy's."""

REFLECTED: dict[np.ufunc, str] = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.divide: "__rtruediv__",
    np.power: "__rpow__", np.matmul: "__rmatmul__", np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__",
    np.less: "__gt__", np.less_equal: "__ge__", np.greater: "__lt__", np.greater_equal: "__le__",
}  # fmt: skip
_PYTHONS: tuple[Any, ...] = (int, float, complex)
_COMPARING = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def plain_number(x: Any) -> Any:
    """A number of a subclass of Python's as that number itself, as NumPy takes it; its operators are not asked."""
    if type(x) in PLAIN:
        return x
    return next((kind.__pos__(x) for kind in _PYTHONS if isinstance(x, kind)), x)


def asked_first(function: Callable[..., Any], ufunc: np.ufunc, args: tuple[Any, ...]) -> bool:
    """Whether Python asks a number on the right for an operator: its class is of Python's, and has one of its own."""
    if function is ufunc or len(args) != 2 or type(args[1]) in PLAIN or hasattr(args[1], "place"):
        return False
    left, right, name = type(grounded(args[0])), type(args[1]), REFLECTED.get(ufunc, "")
    return left in (float, complex) and issubclass(right, left) and getattr(right, name, 0) != getattr(left, name, 0)


def combined(function: Callable[..., Any], ufunc: np.ufunc, args: tuple[Any, ...], again: Callable[..., Any]) -> Any:
    """An operator of a tracked value and a fraction, as Python has it; `again` computes it of plain numbers.

    NotImplemented for objects of any other class, which are asked themselves.

    Raises
    ------
    RefusedError : the result would be an array of objects or a length of time, or cannot be compiled, or an object
        would be asked element by element.
    """
    if len(args) != 2:
        return NotImplemented
    own = next((x for x in args if isinstance(x, (numbers.Rational, datetime.timedelta))), None)
    if own is None:
        _check_reflected(ufunc, args)
        return NotImplemented
    tracked = args[0] if args[1] is own else args[1]
    is_array, compares = bool(getattr(tracked, "shape", ())), ufunc in _COMPARING
    if isinstance(own, datetime.timedelta):
        return NotImplemented if compares else _refuse(ufunc, own, is_array)
    if is_array:
        return NotImplemented if ufunc in (np.equal, np.not_equal) else _refuse(ufunc, own, is_array)
    number = float(own)
    if compares and not is_abstract(tracked):
        return function(*(x if x is own else grounded(x) for x in args))
    if compares and Fraction(number) != own:
        _refuse(ufunc, own, is_array)
    return again(function, ufunc, *(number if x is own else ARRAYS.own_number(x) for x in args))


def _refuse(ufunc: np.ufunc, own: Any, is_array: bool) -> Any:
    kind, is_time = type(own).__name__, isinstance(own, datetime.timedelta)
    why = "it is compared with more digits than a float has, which is not compiled"
    if is_array or is_time:
        made = "an array of objects" if is_array else f"a {kind}"
        why = f"the result would be {made}, which carries no gradient"
    raise RefusedError(
        f"{operation_name(ufunc)} of a tracked {'array' if is_array else 'number'} and a {kind} ({own!r}): {why}",
        where=resolve(here()),
        remedy="use its number: .total_seconds()" if is_time else f"use its number: float({kind}(...))",
    )


def is_asked_first(x: Any) -> bool:
    """Whether NumPy leaves an operation to an object on its right, as one with the array."""
    kind = type(x)
    return hasattr(kind, "__array_ufunc__") or getattr(kind, "__array_priority__", 0.0) > 0.0


def _check_reflected(ufunc: np.ufunc, args: tuple[Any, Any]) -> None:
    """Raise if NumPy would ask an object on the right for its operator element by element, not with the array."""
    if not getattr(args[0], "shape", ()) or is_asked_first(args[1]):
        return
    kind, name = type(args[1]), REFLECTED.get(ufunc, "")
    if getattr(kind, name, None) is not getattr(object, name, None):
        raise RefusedError(
            f"{operation_name(ufunc)} of a tracked array of shape {args[0].shape} and a {kind.__name__}: NumPy calls "
            f"{kind.__name__}.{name} for each element",
            where=resolve(here()),
            remedy=f"give {kind.__name__} an __array_priority__ above 0, so that it is called once with the array, or "
            "put it on the left",
        )
