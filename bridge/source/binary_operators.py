"""Operators of two operands: `a + b`, `a < b`, `a in b`, with the special methods of the program's classes read.

A proxy on either side gets Python to ask this module, which follows Python's rules on the objects themselves. The
proxy on the left has every operator, so that Python asks it first. The one on the right meets only that, or numbers,
NumPy's arrays and containers of Python's, which leave the operator to it. So no other code ever gets a proxy.
"""

from __future__ import annotations

import collections
import operator
from collections.abc import Callable
from types import FunctionType, MethodType, NoneType
from typing import Any, NamedTuple

import numpy as np

from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.values import is_of_subclass
from bridge.source import callees
from bridge.source.library_calls import passed_over
from bridge.source.reading import reading_of
from bridge.source.special_methods import operand
from bridge.source.subclasses import met
from bridge.state.slots import of_class

_LEAVES_IT = frozenset({NoneType, bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset, range})
"""Classes of Python's that leave an operator to an operand whose class they do not know."""

_SEQUENCES = (collections.deque, list, tuple)
"""Classes of Python's that look for an element by identity and equality, in order."""


class _Operator(NamedTuple):
    symbol: str
    function: Callable[[Any, Any], Any]
    method: str
    reflected: str


_ARITHMETIC = {
    name: _Operator(symbol, function, f"__{name}__", f"__r{name}__")
    for name, symbol, function in (
        ("add", "+", operator.add), ("sub", "-", operator.sub), ("mul", "*", operator.mul),
        ("matmul", "@", operator.matmul), ("truediv", "/", operator.truediv), ("floordiv", "//", operator.floordiv),
        ("mod", "%", operator.mod), ("pow", "** or pow()", operator.pow), ("divmod", "divmod()", divmod),
        ("lshift", "<<", operator.lshift), ("rshift", ">>", operator.rshift), ("and", "&", operator.and_),
        ("or", "|", operator.or_), ("xor", "^", operator.xor),
    )
}  # fmt: skip
_IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, f"__i{name}__") for name in _ARITHMETIC if name != "divmod"
}
_COMPARISONS = {
    name: _Operator(symbol, getattr(operator, name), f"__{name}__", f"__{reflected}__")
    for name, symbol, reflected in (
        ("eq", "==", "eq"), ("ne", "!=", "ne"), ("lt", "<", "gt"), ("le", "<=", "ge"), ("gt", ">", "lt"),
        ("ge", ">=", "le"),
    )
}  # fmt: skip


def left(thing: Any) -> Any:
    """The left operand of an operator, or its proxy."""
    return thing if _leaves_it(type(thing)) else Left(thing)


def right(thing: Any) -> Any:
    """The right operand of an operator, or its proxy."""
    return thing if _leaves_it(type(thing)) else Right(thing)


def container(thing: Any) -> Any:
    """The right operand of `in`, or its proxy."""
    kind = type(thing)
    return Container(thing) if kind in _SEQUENCES or not _leaves_it(kind) else thing


def divided(*args: Any) -> Any:
    """`divmod(a, b)`."""
    return binary("divmod", *args) if len(args) == 2 else divmod(*args)  # type: ignore[misc]


def _leaves_it(kind: Any) -> bool:
    is_array = kind is np.ndarray or hasattr(kind, "place") or kind is ARRAYS.bounded or issubclass(kind, np.generic)
    return kind in _LEAVES_IT or is_array


@passed_over
def binary(name: str, first: Any, second: Any, assigns: str = "") -> Any:
    """`first + second`, or whatever the operator is; `assigns` is "=" for the second half of `first += second`."""
    op = _ARITHMETIC[name]
    first, second = met(first, second)
    if is_of_subclass(second) and isinstance(first, (np.ndarray, np.generic)):
        # The subclass on the right is asked first.
        return getattr(second, op.reflected)(first)
    mine, theirs = type(first), type(second)
    own, reflected = of_class(mine, op.method), of_class(theirs, op.reflected)
    if not (_is_read(own) or (mine is not theirs and _is_read(reflected))):
        return (_IN_PLACE[name] if assigns else op.function)(first, second)
    asked = [(own, first, second)] if own is not None else []
    if reflected is not None and mine is not theirs:
        is_overridden = issubclass(theirs, mine) and reflected is not of_class(mine, op.reflected)
        # What only joins sequences is asked last.
        only_joins = own is not None and type(own) is not FunctionType and not hasattr(mine, "__radd__")
        asked.insert(0 if is_overridden or only_joins else len(asked), (reflected, second, first))
    for method, owner, other in asked:
        found = _bound(method, owner)(other)
        if found is not NotImplemented:
            return found
    symbol = f"{op.symbol.partition(' ')[0]}=" if assigns else op.symbol
    raise TypeError(f"unsupported operand type(s) for {symbol}: '{mine.__name__}' and '{theirs.__name__}'")


@passed_over
def augmented(name: str, first: Any, second: Any) -> Any:
    """`first += second`, or whatever the operator is: what the target is bound to."""
    own = of_class(type(first), f"__i{name}__")
    if own is not None and not _is_read(own):
        return _IN_PLACE[name](first, second)
    found = NotImplemented if own is None else _bound(own, first)(second)
    return binary(name, first, second, "=") if found is NotImplemented else found


@passed_over
def compared(name: str, first: Any, second: Any) -> Any:
    """`first < second`, or whatever the operator is."""
    op = _COMPARISONS.get(name)
    if op is None:
        return getattr(operator, name)(first, second)
    first, second = met(first, second)
    if is_of_subclass(second) and isinstance(first, (np.ndarray, np.generic)):
        return getattr(second, op.reflected)(first)
    mine, theirs = type(first), type(second)
    own, reflected = _comparing(mine, op.method), _comparing(theirs, op.reflected)
    if not (_is_read(own) or _is_read(reflected)):
        return op.function(first, second)
    asked = [(own, op.method, first, second), (reflected, op.reflected, second, first)]
    if mine is not theirs and issubclass(theirs, mine):
        asked.reverse()
    for method, called, owner, other in asked:
        found = NotImplemented if method is None else _bound(method, owner)(other)
        if found is not NotImplemented:
            # A class that says nothing of `!=` denies what it says of `==`.
            return found if called != "__ne__" or method is of_class(type(owner), "__ne__") else not operand(found)
    if name in ("eq", "ne"):
        return (first is second) == (name == "eq")
    raise TypeError(f"'{op.symbol}' not supported between instances of '{mine.__name__}' and '{theirs.__name__}'")


@passed_over
def contained(item: Any, thing: Any) -> bool:
    """`item in thing`."""
    kind = type(thing)
    method = of_class(kind, "__contains__")
    if _is_read(method):
        return bool(operand(_bound(method, thing)(item)))
    iterates = next((found for name in ("__iter__", "__getitem__") if (found := of_class(kind, name))), None)
    if (method is None and _is_read(iterates)) or (kind in _SEQUENCES and not _leaves_it(type(item))):
        return any(one is item or operand(compared("eq", one, item)) for one in operand(thing))
    return item in thing


def _comparing(kind: type, name: str) -> Any:
    """What a class compares by; for `!=` what it says of `==`, unless it says something of its own."""
    found = of_class(kind, name)
    return of_class(kind, "__eq__") if found is object.__ne__ and _is_read(of_class(kind, "__eq__")) else found


def _is_read(method: Any) -> bool:
    return type(method) is FunctionType and reading_of(method).code is not None


def _bound(method: Any, owner: Any) -> Any:
    """A special method as Python binds it, read if it is the program's."""
    if type(method) is FunctionType:
        return MethodType(callees.of(method), owner)
    kind = type(owner)
    return method.__get__(owner, kind) if hasattr(type(method), "__get__") else method


class _Proxy:
    """In the place of an operand, until Python asks it for the operator."""

    __slots__ = ("thing",)
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, thing: Any) -> None:
        self.thing = thing


class Left(_Proxy):
    """In the place of a left operand."""

    __slots__ = ()


class Right(_Proxy):
    """In the place of a right operand."""

    __slots__ = ()


class Container(_Proxy):
    """In the place of the right operand of `in`."""

    __slots__ = ()

    @passed_over
    def __contains__(self, item: Any) -> bool:
        return contained(item, self.thing)


def _itself(x: Any) -> Any:
    return x.thing if issubclass(type(x), _Proxy) else x


def _with_operators() -> None:
    for name, op in _ARITHMETIC.items():
        setattr(Left, op.method, _asks(binary, name, False))
        if name in _IN_PLACE:
            setattr(Left, f"__i{name}__", _asks(augmented, name, False))
        setattr(Right, op.reflected, _asks(binary, name, True))
    for name, op in _COMPARISONS.items():
        setattr(Left, op.method, _asks(compared, name, False))
        setattr(Right, op.reflected, _asks(compared, name, True))


def _asks(function: Callable[[str, Any, Any], Any], name: str, is_reflected: bool) -> Callable[[Any, Any], Any]:
    @passed_over
    def ask(self: _Proxy, other: Any) -> Any:
        pair = (_itself(other), self.thing) if is_reflected else (self.thing, _itself(other))
        return function(name, *pair)

    return ask


_with_operators()
callees.SPECIAL[divmod] = divided
