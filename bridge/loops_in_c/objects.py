"""Objects in loops: what their attributes, items and free variables hold, read without running code of the program.

A place is where one value lies: an attribute of an object, an item of a dictionary or a list, a free variable of a
function. A loop reaches it by a path from one of its variables. Arrays and numbers in places are variables of the
compiled loop (slots). Two paths to the same place are the same slot: the identity of the owner decides, not the text.
"""

from __future__ import annotations

from collections.abc import Hashable
from enum import Enum
from functools import partial
from types import FunctionType, MemberDescriptorType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Literal, NamedTuple

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.loops_in_c.functions import name_of
from bridge.rulebook import book
from bridge.source.numba import is_jitted, is_vectorized

ABSENT = object()
"""In the place of the value of an attribute that an object does not have."""


class Step(NamedTuple):
    """A step from an object to one of its parts."""

    kind: Literal[
        "attribute", "item", "special", "super", "free", "default", "bound", "partial", "length", "code", "numbers"
    ]  # fmt: skip
    key: Any = None

    def __str__(self) -> str:
        texts = {"attribute": f".{self.key}", "item": f"[{self.key!r}]", "length": ".__len__()"}
        return texts.get(self.kind, f".<{self.kind} {self.key}>")


_TUPLE_FIELD = type(vars(Step)["key"])
"""What a class of named tuples has for each field."""

_PLAIN_READS: tuple[Any, ...] = tuple(kind.__getattribute__ for kind in (object, tuple, SimpleNamespace))
"""The methods that read attributes without running code of the program."""

Path = tuple[Any, ...]
"""A variable, and steps, each from the object before it."""


class Found(NamedTuple):
    """A part of an object.

    Attributes
    ----------
    value : the object there, or ABSENT. What a class has is not bound: a function, not a method.
    is_own : whether the object itself holds it, not its class.
    place : the identity of its place.
    is_settable : whether the program can set it, and nothing else happens then.
    """

    value: Any
    is_own: bool = True
    place: Hashable = None
    is_settable: bool = False


def text_of(path: Path) -> str:
    """A path as the program writes it: the name of a slot."""
    return "".join(map(str, path))


def at(thing: Any, step: Step) -> Found | None:
    """A part of an object; None if there is none, or if code computes it."""
    match step.kind:
        case "attribute":
            return _attribute(thing, step.key)
        case "special":
            return Found(_in_class(type(thing), step.key)[0], False)
        case "super":
            return _after(thing, *step.key)
        case "item":
            return _item(thing, step.key)
        case "numbers":
            return _numbers(thing, step.key)
        case "length":
            return Found(len(thing)) if _is_sequence(thing) or type(thing) is dict else None
        case "bound":
            return Found(getattr(thing, step.key)) if type(thing) is MethodType else None
        case "partial":
            return Found(getattr(thing, step.key)) if type(thing) is partial else None
        case "code":
            return Found(thing.__code__) if type(thing) is FunctionType else None
        case "free":
            return _free_variable(thing, step.key) if type(thing) is FunctionType else None
        case "default":
            return _default(thing, step.key) if type(thing) is FunctionType else None


def _attribute(thing: Any, name: str) -> Found | None:
    kind: Any = type(thing)
    if kind is ModuleType:
        names = vars(thing)
        return Found(names[name], True, (id(names), name)) if name in names else None
    if isinstance(thing, type):
        entry, _ = _in_class(thing, name)
        return None if entry is ABSENT or _in_class(kind, name)[0] is not ABSENT else Found(entry, False)
    if kind.__getattribute__ not in _PLAIN_READS:
        return None
    entry, owner = _in_class(kind, name)
    is_set_plainly = kind.__setattr__ in (object.__setattr__, SimpleNamespace.__setattr__)
    if type(entry) in (MemberDescriptorType, _TUPLE_FIELD):
        if "__slots__" not in vars(owner):
            return None
        is_settable = is_set_plainly and type(entry) is MemberDescriptorType
        return Found(getattr(thing, name, ABSENT), True, (id(thing), name), is_settable)
    if _has(entry, "__set__") or _has(entry, "__delete__"):
        return Found(entry, False) if type(entry) is property else None
    names = getattr(thing, "__dict__", None)
    if type(names) is not dict:
        return None if entry is ABSENT else Found(entry, False, (id(thing), name))
    is_own = name in names
    if entry is ABSENT and not is_own and hasattr(kind, "__getattr__"):
        return None
    return Found(names[name] if is_own else entry, is_own, (id(names), name), is_set_plainly)


def _in_class(kind: type, name: str) -> tuple[Any, Any]:
    """What a class or one of its bases has under a name, and which of them."""
    for one in kind.__mro__:
        if name in vars(one):
            return vars(one)[name], one
    return ABSENT, None


def _after(thing: Any, kind: type, name: str) -> Found | None:
    """What `super()` in a method of `kind` finds for an object or a class."""
    kinds = (thing if isinstance(thing, type) else type(thing)).__mro__
    for one in kinds[kinds.index(kind) + 1 :] if kind in kinds else ():
        if name in vars(one):
            return Found(vars(one)[name], False)
    return None


def _has(entry: Any, method: str) -> bool:
    return hasattr(type(entry), method)


def _is_sequence(thing: Any) -> bool:
    kind: Any = type(thing)
    plain = ((tuple.__getitem__, kind.__getitem__), (tuple.__len__, kind.__len__)) if issubclass(kind, tuple) else ()
    return kind is list or (bool(plain) and all(one is other for one, other in plain))


def _item(thing: Any, key: Any) -> Found | None:
    if type(thing) is dict:
        return Found(thing[key], True, (id(thing), key), True) if key in thing else None
    if _is_sequence(thing) and type(key) is int and 0 <= key < len(thing):
        return Found(thing[key], True, (id(thing), key), type(thing) is list)
    return None


def _numbers(thing: Any, kind: type) -> Found | None:
    """The array of a list of numbers of one type."""
    if type(thing) is not list or not thing or any(type(one) is not kind for one in thing):
        return None
    found = np.array(thing)
    return Found(found, True, (id(thing), kind)) if found.dtype == np.dtype(kind) else None


def _free_variable(function: Any, name: str) -> Found | None:
    names = function.__code__.co_freevars
    if name not in names:
        return None
    cell = function.__closure__[names.index(name)]
    try:
        return Found(cell.cell_contents, True, (id(cell), ""))
    except ValueError:
        return None


def _default(function: Any, name: str) -> Found | None:
    """The default of a parameter."""
    code = function.__code__
    values, named = function.__defaults__ or (), function.__kwdefaults__ or {}
    names = code.co_varnames[code.co_argcount - len(values) : code.co_argcount]
    if name in names:
        return Found(values[names.index(name)], True, (id(values), name))
    return Found(named[name], True, (id(named), name)) if name in named else None


def bound(thing: Any, found: Found) -> Any:
    """What the program gets for an attribute: a function of the class becomes a method."""
    is_method = type(found.value) is FunctionType and not found.is_own and not isinstance(thing, type)
    return MethodType(found.value, thing) if is_method else found.value


def is_variable(value: Any) -> bool:
    """Whether a compiled loop has something as a variable: an array, or a number; a truth is a constant."""
    return type(value) is not bool and (is_number(value) or is_tracked(value) or type(value) is np.ndarray)


def is_number(value: Any) -> bool:
    """Whether something is a number of Python's or NumPy's, tracked or not."""
    return type(value) in (int, float, bool) or isinstance(value, np.generic) or (is_tracked(value) and not value.shape)


def kind_of(value: Any) -> tuple[Any, ...]:
    """What must be the same of an object that a compiled loop reads parts of: its class, of a function its code.

    Empty if a compiled loop runs with this very object alone.
    """
    kind = type(value)
    if kind is MethodType and type(value.__func__) is FunctionType:
        return (kind, *kind_of(value.__func__))
    if is_tracked(value) or isinstance(value, (type, ModuleType, Enum, np.ndarray)) or name_of(value):
        return ()
    if kind is FunctionType:
        return (kind, value.__code__, is_ruled(value), value.__globals__)
    if is_jitted(value) or is_vectorized(value):
        return (kind, is_ruled(value))
    has_parts = kind.__dictoffset__ != 0 or kind in (dict, list, tuple, partial) or "__slots__" in vars(kind)
    return (kind,) if has_parts else ()


def is_ruled(function: Any) -> bool:
    """Whether a user has registered a rule for a function."""
    return function in book.RULES or function in book.MUTATING


def is_same_kind(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two results of `kind_of` are the same. The namespaces of functions are not compared."""
    return len(one) == len(other) and all(x is y for x, y in zip(one, other, strict=True))
