"""Special methods of the program's classes, which Python calls without a name: `a + b`, `a[k]`, `for x in a`.

Read code hands a stand-in of the object to the construct; the stand-in's special methods are those of the object's
class, read, on the object itself. It never outlives the construct.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any

from bridge.source import callees
from bridge.source.keeping import of_class
from bridge.source.reading import reading_of

NAMES = frozenset({
    "__abs__", "__add__", "__and__", "__bool__", "__call__", "__contains__", "__delitem__", "__divmod__", "__enter__",
    "__eq__", "__exit__", "__float__", "__floordiv__", "__ge__", "__getitem__", "__gt__", "__iadd__", "__iand__",
    "__ifloordiv__", "__ilshift__", "__imatmul__", "__imod__", "__imul__", "__index__", "__int__", "__invert__",
    "__ior__", "__ipow__", "__irshift__", "__isub__", "__iter__", "__itruediv__", "__ixor__", "__le__", "__len__",
    "__lshift__", "__lt__", "__matmul__", "__mod__", "__mul__", "__ne__", "__neg__", "__next__", "__or__", "__pos__",
    "__pow__", "__radd__", "__rand__", "__rdivmod__", "__reversed__", "__rfloordiv__", "__rlshift__", "__rmatmul__",
    "__rmod__", "__rmul__", "__ror__", "__round__", "__rpow__", "__rrshift__", "__rshift__", "__rsub__",
    "__rtruediv__", "__rxor__", "__setitem__", "__sub__", "__truediv__", "__xor__",
})  # fmt: skip
"""Special methods that a construct or a builtin function may call."""

_lock = threading.Lock()
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
        return _thing(function(*(operand(args[0]), *args[1:]), **kwargs) if args else function(**kwargs))

    return call


def _made_for(kind: type) -> type | None:
    """The class of the stand-ins of objects of a class; None if nothing in it is read."""
    read = {}
    if not hasattr(kind, "place") and not any(hasattr(kind, name) for name in _SPEAKS_NUMPY):
        for name in NAMES:
            method = getattr(kind, name, None)
            if type(method) is FunctionType and reading_of(method).code is not None:
                read[name] = _calls(name)
    made = types.new_class(f"StandIn[{kind.__qualname__}]", (StandIn,), {}, _body(kind, read)) if read else None
    with _lock:
        _stand_ins[kind] = made
    return made


def _body(kind: type, read: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    def fill(names: dict[str, Any]) -> None:
        names["__slots__"] = ()
        if hasattr(kind, "__array_priority__"):
            names["__array_priority__"] = kind.__array_priority__
        for name in NAMES:
            if name in read:
                names[name] = read[name]
            elif getattr(kind, name, None) is not getattr(object, name, None):
                names[name] = None if getattr(kind, name) is None else _passes(name)
        if "__eq__" in names:
            names["__hash__"] = None

    return fill


def _calls(name: str) -> Callable[..., Any]:
    """A special method that runs the one of the object's class, read."""

    def call(self: StandIn, *args: Any) -> Any:
        method = callees.of(getattr(type(self.thing), name))
        found = MethodType(method, self.thing)(*map(_thing, args))
        return operand(found) if name == "__iter__" else found

    return call


def _passes(name: str) -> Callable[..., Any]:
    """A special method that is the object's own."""

    def call(self: StandIn, *args: Any) -> Any:
        return getattr(type(self.thing), name)(self.thing, *map(_thing, args))

    return call


def _thing(x: Any) -> Any:
    return x.thing if issubclass(type(x), StandIn) else x


_UNKNOWN: Any = object()
_SPEAKS_NUMPY = ("__array_function__", "__array_ufunc__", "__array__", "__array_interface__")
"""Classes that say themselves what NumPy does with them."""
