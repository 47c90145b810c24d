"""Methods of the program's classes that Python calls on one object: `a[k]`, `for x in a`, `with a`, `a.property`.

Read code passes a proxy of the object to the construct; the proxy's special methods are those of the object's class,
read, on the object itself. These constructs call special methods of the proxy and pass it to no other code, which
operators of two operands would do (`binary_operators.py`).
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable
from functools import cached_property
from types import FunctionType, MethodType
from typing import Any

from bridge.rewind.interpreter import current_context
from bridge.source import callees
from bridge.source.implied import OF_ONE_OBJECT
from bridge.source.iterating import elements
from bridge.source.library_calls import passed_over
from bridge.source.reading import reading_of
from bridge.state.slots import Attribute, of_class

_lock = threading.RLock()
_stand_ins: dict[type, type | None] = {}


class StandIn:
    """In the place of an object, for one construct."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing


def operand(thing: Any) -> Any:
    """`thing`, or its stand-in if its class is the program's and has special methods that are read."""
    kind = type(thing)
    found = _stand_ins.get(kind, _UNKNOWN)
    if found is _UNKNOWN:
        found = _made_for(kind)
    return thing if found is None else found(thing)


def getter(thing: Any, name: str) -> Callable[[], Any]:
    """What computes `thing.name`: a getter that is read, if it is a property of a class of the program's."""
    found = of_class(type(thing), name)
    if type(found) is property and type(found.fget) is FunctionType:
        return MethodType(callees.of(found.fget), thing)
    if type(found) is cached_property and type(found.func) is FunctionType and name not in vars(thing):
        return functools.partial(_computed_once, thing, name, callees.of(found.func))
    return functools.partial(getattr, thing, name)


def _computed_once(thing: Any, name: str, function: Callable[[Any], Any]) -> Any:
    """The value of a `functools.cached_property`, which the object keeps."""
    value = function(thing)
    context = current_context()
    if context is not None and context.loan is not None:
        context.loan.keep(Attribute, thing, name, value)
    vars(thing)[name] = value
    return value


def setting(thing: Any) -> Any:
    """What an attribute of `thing` is set on: a stand-in, if a class of the program's says how that is done."""
    found = of_class(type(thing), "__setattr__")
    return _Setting(thing, found) if type(found) is FunctionType else thing


class _Setting:
    """In the place of an object whose `__setattr__` is the program's: that is read."""

    __slots__ = ("function", "thing")

    function: FunctionType
    thing: Any

    def __init__(self, thing: Any, function: FunctionType) -> None:
        object.__setattr__(self, "thing", thing)
        object.__setattr__(self, "function", function)

    def __setattr__(self, name: str, value: Any) -> None:
        callees.of(self.function)(self.thing, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.thing, name)


def set_attribute(thing: Any, name: str, value: Any) -> None:
    """`thing.name = value`, by a setter that is read if it is a property of a class of the program's."""
    found = of_class(type(thing), name)
    if type(found) is property and type(found.fset) is FunctionType:
        callees.of(found.fset)(thing, value)
    else:
        setattr(thing, name, value)


def with_operand(function: Callable[..., Any]) -> Callable[..., Any]:
    """A builtin function that calls a special method of its first argument."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return function(**kwargs)
        given = operand(elements(args[0]) if function is reversed else args[0])
        return _thing(function(given, *args[1:], **kwargs))

    return call


def _made_for(kind: type) -> type | None:
    """The class of the stand-ins of objects of a class; None if nothing in it is read."""
    read = {}
    if not hasattr(kind, "place") and not any(getattr(kind, name, None) is not None for name in _SPEAKS_NUMPY):
        for name in OF_ONE_OBJECT:
            method = of_class(kind, name)
            if type(method) is FunctionType and reading_of(method).code is not None:
                read[name] = _calls(name)
    made = types.new_class(kind.__name__, (StandIn,), {}, _body(kind, read)) if read else None
    with _lock:
        _stand_ins[kind] = made
    return made


def _body(kind: type, read: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    def fill(names: dict[str, Any]) -> None:
        names.update(__slots__=(), __qualname__=kind.__qualname__, __module__=kind.__module__)
        for name in OF_ONE_OBJECT:
            if name in read:
                names[name] = read[name]
            elif (method := of_class(kind, name)) is not of_class(object, name):
                names[name] = None if method is None else _passes(name)

    return fill


def _calls(name: str) -> Callable[..., Any]:
    """A special method that runs the one of the object's class, read."""

    @passed_over
    def call(self: StandIn, *args: Any) -> Any:
        method = callees.of(of_class(type(self.thing), name))
        found = MethodType(method, self.thing)(*args)
        return operand(found) if name == "__iter__" else found

    return call


def _passes(name: str) -> Callable[..., Any]:
    """A special method that is the object's own, bound as Python binds it."""

    @passed_over
    def call(self: StandIn, *args: Any) -> Any:
        kind = type(self.thing)
        method = of_class(kind, name)
        bound = method.__get__(self.thing, kind) if hasattr(type(method), "__get__") else method
        return bound(*args)

    return call


def _thing(x: Any) -> Any:
    return x.thing if issubclass(type(x), StandIn) else x


_UNKNOWN: Any = object()
_SPEAKS_NUMPY = ("__array_function__", "__array_ufunc__", "__array__", "__array_interface__")
"""Classes that say themselves what NumPy does with them."""
