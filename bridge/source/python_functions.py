"""Functions of Python's in a program that is read: to them, tracked values are the numbers that they stand for."""

from __future__ import annotations

import ast
import builtins
import contextlib
import dataclasses
import decimal
import fractions
import functools
import json
import operator
import types
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer, Scalar, WeakScalar, is_weak
from bridge.arrays.labelled_calls import number
from bridge.arrays.tracked import is_tracked
from bridge.arrays.unknown_text import refuse_decision
from bridge.arrays.views import Flat
from bridge.rewind.escapes import detach, note_texts
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.rewind.memory import grounded
from bridge.rewind.values import TrackedObject, describes, is_abstract, needs_value
from bridge.rulebook import book
from bridge.source import callees, lending
from bridge.source.binary_operators import binary
from bridge.source.callees import OF_KIND, SPECIAL
from bridge.source.exchanging import look_through
from bridge.source.floats import as_float
from bridge.source.iterating import elements
from bridge.source.keeping import any_tracked, holds_tracked
from bridge.source.special_methods import setting, with_operand
from bridge.source.taking_functions import with_functions
from bridge.source.targets import own
from bridge.source.texts import reads_text
from bridge.state.slots import Attribute


def _complex(*args: Any, **kwargs: Any) -> Any:
    """`complex(re, im)`."""
    if not any_tracked(args, kwargs):
        return complex(*args, **kwargs)
    given = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    parts = {name: ARRAYS.own_number(part) for name, part in given.items()}
    return parts.get("real", 0.0) + 1j * parts.get("imag", 0.0)


def _isinstance(value: Any, kinds: Any) -> bool:
    """`isinstance`: a Buffer is an array, and a Scalar is a number, to a program that checks its arguments."""
    if not is_tracked(value) and type(value) not in SUBSTITUTES:
        return isinstance(value, kinds) or (
            issubclass(type(value), TrackedObject) and issubclass(of_library(value), kinds)
        )
    listed = kinds if isinstance(kinds, tuple) else getattr(kinds, "__args__", (kinds,))
    real = stands_for(value)
    return any(
        _isinstance(value, kind)
        if isinstance(kind, tuple)
        else issubclass(real, kind) or (kind in _OWN_KINDS and isinstance(value, kind))
        for kind in listed
    )


class _Pattern(type):
    """Of classes that stand in patterns for those of arrays and numbers."""

    kind: type

    def __instancecheck__(cls, value: Any) -> bool:
        return _isinstance(value, cls.kind)


@functools.cache
def _pattern_of(kind: type) -> type:
    # What is derived from Python's numbers matches their one positional pattern, `float(x)`, as they do.
    bases = (kind,) if kind in (float, int) else ()
    return _Pattern(kind.__name__, bases, {"kind": kind})


def pattern(kind: Any) -> Any:
    """The class to ask in a pattern in place of `kind`, of which a tracked value may be one to the program."""
    if not isinstance(kind, type) or kind in (object, *_OWN_KINDS):
        return kind
    return _pattern_of(kind) if any(issubclass(one, kind) for one in _STOOD_FOR) else kind


_OWN_KINDS = (Buffer, Scalar, WeakScalar)
_STOOD_FOR = (np.ndarray, np.float64, np.float32, np.complex128, np.int64, np.bool_, float, complex, int)
"""Types whose base classes `isinstance` accepts for tracked values."""

SUBSTITUTES: dict[type, type] = {Flat: np.flatiter}
"""Classes whose objects a program holds in place of those of another one; other modules enter theirs."""

# Python's numbers, by the kind of the dtype that holds them.
_PYTHON: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def stands_for(value: Any) -> type:
    """The type of what a tracked value stands for."""
    if type(value) in SUBSTITUTES:
        return SUBSTITUTES[type(value)]
    if hasattr(value, "view_as"):
        return np.ndarray
    if is_weak(value):
        return _PYTHON[value.dtype.kind]
    kind: type = value.dtype.type
    return kind


def of_library(thing: TrackedObject) -> type:
    """The class of what an object that holds tracked values stands for."""
    return thing.library_class or type(thing)


def _type(*args: Any, **kwargs: Any) -> Any:
    """`type(x)` of a tracked value: what it would be in the program."""
    if len(args) == 1 and not kwargs and (is_tracked(args[0]) or type(args[0]) in SUBSTITUTES):
        return stands_for(args[0])
    if len(args) == 1 and issubclass(type(args[0]), TrackedObject):
        return of_library(args[0])
    return type(*args, **kwargs)


def _len(thing: Any) -> Any:
    """`len(x)`: of an array whose length is known only when a compiled program runs, a traced integer."""
    if type(thing) is str and describes(thing) and (context := current_context()) and context.home.is_abstract:
        raise refuse_decision(thing)
    return thing.shape[0] if type(thing) is ARRAYS.bounded else _plain_len(thing)


def _over_elements(plain: Callable[..., Any], function: Callable[..., Any]) -> Callable[..., Any]:
    """`sum` and its kin, which have a function of NumPy's for arrays whose elements nobody can count yet."""

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) is ARRAYS.bounded and args[0].ndim == 1:
            return function(args[0])
        return plain(*args, **kwargs)

    return call


def _exact(kind: type) -> Callable[..., Any]:
    """A class of exact numbers; where a tracked number is given, its stand-in."""

    @functools.wraps(kind, updated=())
    def make(*args: Any, **kwargs: Any) -> Any:
        if any_tracked(args, kwargs):
            book.read_book()
            return book.STAND_INS[kind](*args, **kwargs)
        return kind(*args, **kwargs)

    return make


def _repr(value: Any) -> str:
    """`repr(x)` of a tracked value: of what it holds."""
    if not holds_tracked(value):
        return repr(value)
    note_texts(value)
    return repr(detach(value))


def _pow(base: Any, exp: Any, mod: Any = None) -> Any:
    """`pow(a, b, m)`, which Python computes with integers alone, of any length."""
    if mod is None:
        return binary("pow", base, exp)
    for one in (base, exp, mod):
        if is_tracked(one) and is_abstract(one):
            raise needs_value(one, "pow(a, b, m)", "write a**b % m, if a**b fits into 64 bits")
    return pow(base, exp, mod)


def _int(*args: Any, **kwargs: Any) -> Any:
    """`int(x)` of a tracked number: its derivative is zero wherever it has one, as that of `astype(int)` is."""
    if len(args) == 1 and type(args[0]) is ARRAYS.labelled:
        args = (number(args[0], "int()"),)
    if len(args) == 1 and is_tracked(args[0]) and np.size(grounded(args[0])) == 1 and not is_abstract(args[0]):
        context = args[0].place.context
        context.check_usable()
        context.left(args[0], "int(...)")
        return int(grounded(args[0]))
    return int(*args, **kwargs)


def _setattr(thing: Any, name: str, value: Any) -> None:
    """`setattr(thing, name, value)`."""
    context = current_context()
    if context is not None and context.loan is not None and not is_tracked(thing):
        context.loan.keep(Attribute, thing, name, value)
        thing = setting(thing)
    setattr(thing, name, value)


def _object_setattr(thing: Any, name: str, value: Any) -> None:
    """`object.__setattr__(thing, name, value)`, which a `__setattr__` of the program's ends with."""
    context = current_context()
    if context is not None and context.loan is not None and not is_tracked(thing):
        context.loan.keep(Attribute, thing, name, value)
    object.__setattr__(thing, name, value)


def _method_wrapper(method: Any, *args: Any, **kwargs: Any) -> Any:
    """`super().__setattr__(name, value)`, where that is Python's own; any other one as it is."""
    is_own = method.__name__ == "__setattr__" and method.__objclass__ is object
    return _object_setattr(method.__self__, *args, **kwargs) if is_own else method(*args, **kwargs)


def _setitem(target: Any, key: Any, value: Any) -> None:
    """`operator.setitem`."""
    (own(target, value) if type(target) is np.ndarray else target)[key] = value


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """`operator.iadd` and its kin."""

    def change(target: Any, value: Any) -> Any:
        return function(own(target, value) if type(target) is np.ndarray else target, value)

    return change


def _replace(thing: Any, /, **changes: Any) -> Any:
    """`dataclasses.replace`, by an `__init__` and a `__post_init__` that are read."""
    make = callees.of(type(thing))
    if make is type(thing) or any(one.type is dataclasses.InitVar for one in thing.__dataclass_fields__.values()):
        return dataclasses.replace(thing, **changes)
    for one in dataclasses.fields(thing):
        if one.init:
            changes.setdefault(one.name, getattr(thing, one.name))
        elif one.name in changes:
            return dataclasses.replace(thing, **changes)
    return make(**changes)


def _isscalar(element: Any) -> bool:
    """`np.isscalar`: of a tracked number, too."""
    return bool(np.isscalar(element)) or (is_tracked(element) and not hasattr(element, "view_as"))


def _ndenumerate(array: Any) -> Any:
    """`np.ndenumerate`."""
    return ((at, array[at]) for at in np.ndindex(array.shape)) if hasattr(array, "view_as") else np.ndenumerate(array)


def _generator_manager(function: Any, args: Any, kwargs: Any) -> Any:
    """What a function decorated by `contextlib.contextmanager` returns, of a generator that is read."""
    return contextlib._GeneratorContextManager(callees.of(function), args, kwargs)


def _cached(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of what `functools.lru_cache` made: tracked values are no keys."""
    if any_tracked(args, kwargs):
        context = current_context()
        watches = None if context is None or context.loan is None else context.loan.watches
        with nullcontext() if watches is None else watches.without_changes("a function that is cached"):
            return callees.of(function.__wrapped__)(*args, **kwargs)
    return ARRAYS.seen(function(*args, **kwargs))


def _next(iterator: Any, *default: Any) -> Any:
    """`next(it)`: an iterator of Python's may have arrays that are lent, or lists of them."""
    if lending.LENT:
        look_through(iterator)
    return ARRAYS.seen(_plain_next(iterator, *default))


def _iter(*args: Any) -> Any:
    """`iter(x)`."""
    return _plain_iter(*map(elements, args))


_plain_next, _plain_iter, _plain_len = with_operand(next), with_operand(iter), with_operand(len)


SPECIAL.update(
    {
        builtins.float: reads_text(as_float),
        builtins.complex: reads_text(_complex),
        builtins.int: reads_text(_int),
        builtins.isinstance: _isinstance,
        builtins.type: _type,
        builtins.setattr: _setattr,
        object.__setattr__: _object_setattr,
        operator.setitem: _setitem,
        dataclasses.replace: _replace,
        builtins.repr: _repr,
        np.isscalar: _isscalar,
        np.ndenumerate: _ndenumerate,
        contextlib._GeneratorContextManager: _generator_manager,
    }
)
SPECIAL.update(
    {
        getattr(operator, name): _in_place(getattr(operator, name))
        for name in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul")
    }
)
_OF_OBJECTS = (abs, reversed, round, bool, list, tuple)
SPECIAL.update({function: with_operand(function) for function in _OF_OBJECTS})
SPECIAL.update(
    {
        builtins.sum: _over_elements(with_operand(sum), np.sum),
        builtins.min: _over_elements(with_functions(min, "key"), np.min),
        builtins.max: _over_elements(with_functions(max, "key"), np.max),
    }
)
SPECIAL.update(
    {
        kind: reads_text(SPECIAL.get(kind, kind))
        for kind in (np.float64, np.float32, np.longdouble, np.complex128, np.complex64, ast.literal_eval)
    }
)
SPECIAL.update({function: reads_text(function) for function in (json.loads, np.fromstring)})
SPECIAL.update({one: reads_text(SPECIAL[one]) for one in (np.array, np.asarray, np.loadtxt, np.genfromtxt)})
SPECIAL.update({kind: reads_text(_exact(kind)) for kind in (decimal.Decimal, fractions.Fraction)})
SPECIAL.update({iter: _iter, next: _next, len: _len, pow: _pow})
OF_KIND.update(
    {
        functools._lru_cache_wrapper: _cached,
        types.MethodWrapperType: _method_wrapper,
    }
)
