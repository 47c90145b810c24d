"""What a function of the program reads from outside of itself, and how it is read again.

Globals, variables of enclosing functions, attributes of modules, objects and classes, elements of containers; by name,
so that one that is bound to another thing is seen.
"""

from __future__ import annotations

import ctypes
import functools
import operator
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextvars import ContextVar
from functools import partial
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)  # fmt: skip
from typing import Any

import numpy as np

VALUES = (bool, int, float, complex, str, bytes, type(None), np.generic)
"""What is the same if it is equal; sets that are read are so, too."""

Read = Callable[[], Any]


def names_of(function: Any, reached: list[Any] | None = None) -> Iterator[tuple[str, Read, Any]]:
    """What a Python function reads from outside of itself, and what functions, objects and containers there have.

    A label, what reads it, and the list, dictionary or other container that it is an element of. `reached` gets the
    things that were come across.
    """
    waiting: list[Any] = [function]
    seen: set[int] = set()
    asked = set(_asked_for(function))
    classes: list[Any] = []
    while (waiting or classes) and len(seen) < _MOST:
        one = (waiting or classes).pop()
        if waiting and isinstance(one, type):
            # What classes say is asked for by functions: all of these come first.
            classes.append(one)
            continue
        if id(one) in seen:
            continue
        seen.add(id(one))
        if reached is not None:
            reached.append(one)
        if isinstance(one, partial):
            waiting += [one.func, *one.args, *one.keywords.values()]
        elif isinstance(one, MethodType):
            waiting += [one.__func__, one.__self__]
        elif isinstance(one, FunctionType):
            if reached is not None:
                reached += one.__closure__ or ()
            if not _is_ours(one):
                asked.update(_global_names(one.__code__))
                for name in ("__code__", "__defaults__", "__kwdefaults__"):
                    yield f"{one.__name__}.{name}", partial(getattr, one, name), None
                for name in one.__dict__:
                    yield f"{one.__name__}.{name}", partial(_item, one.__dict__, name), None
                waiting += [*(one.__defaults__ or ()), *(one.__kwdefaults__ or {}).values(), *one.__dict__.values()]
            for name, read in _read_by(one):
                value = value_of(read)
                if not isinstance(value, ModuleType):
                    yield name, read, None
                if isinstance(value, ModuleType):
                    yield from _of_module(value, one.__code__, waiting)
                elif not isinstance(value, (np.ndarray, *VALUES)):
                    waiting.append(value)
        elif isinstance(one, (list, tuple, dict, deque)):
            yield f"the length of a {type(one).__name__}", partial(len, one), one
            items = list(one.items() if isinstance(one, dict) else enumerate(one))[:_MOST]
            for key, value in items:
                yield f"element {key!r} of a {type(one).__name__}", partial(_element, one, key), one
                waiting.append(value)
        elif isinstance(one, (set, frozenset)):
            yield f"the elements of a {type(one).__name__}", partial(frozenset, one), one
        elif isinstance(one, MappingProxyType):
            # Nobody writes through it.
            waiting += [part for pair in list(one.items())[:_MOST] for part in pair]
            yield "the elements of a mappingproxy", partial(_items_of, one), ()
        elif isinstance(one, _VIEWS):
            waiting.append(one.mapping)
        elif isinstance(one, weakref.ref):
            yield "what a weak reference refers to", one, ()
            waiting.append(one())
        elif isinstance(one, BuiltinFunctionType):
            waiting.append(one.__self__)
        elif isinstance(one, (bytearray, array, *RAW)):
            yield f"the elements of a {type(one).__name__}", partial(bytes, one), one
        elif isinstance(one, ContextVar):
            yield one.name, partial(one.get, GONE), None
            waiting.append(one.get(None))
        elif isinstance(one, functools._lru_cache_wrapper):
            waiting.append(one.__wrapped__)
        elif isinstance(one, type):
            if not _is_ours(one):
                for name in _of_class(one, asked):
                    yield f"{one.__name__}.{name}", partial(_said, one, name), None
                classes += one.__bases__
        elif not isinstance(one, (ModuleType, np.ndarray, *VALUES)) and not _is_ours(type(one)):
            classes.append(type(one))
            if callable(one):
                waiting.append(type(one).__call__)
            attributes = getattr(one, "__dict__", {})
            for name, value in list(attributes.items()):
                yield f"{type(one).__name__}.{name}", partial(_item, attributes, name), None
                waiting.append(value)
            for kind in type(one).__mro__:
                for name in _slots(kind):
                    yield f"{type(one).__name__}.{name}", partial(getattr, one, name, GONE), None
                    waiting.append(getattr(one, name, None))
                # What the class says now, the object may say one day.
                hidden = () if _is_ours(kind) else (name for name in _of_class(kind, asked) if name not in attributes)
                for name in hidden if "__dict__" in dir(one) else ():
                    yield f"{type(one).__name__}.{name}", partial(_item, attributes, name), None


def _of_module(module: ModuleType, code: CodeType, waiting: list[Any]) -> Iterator[tuple[str, Read, None]]:
    """Names that a function may read from a module: values are watched, lists and objects are waiting."""
    if _is_ours_by_name(module.__name__):
        return
    names = vars(module)
    for name in sorted(set(_global_names(code))):
        value = names.get(name, GONE)
        if value is GONE or isinstance(value, ModuleType):
            continue
        yield f"{module.__name__}.{name}", partial(_item, names, name), None
        if not isinstance(value, (np.ndarray, *VALUES)):
            waiting.append(value)


def _read_by(function: FunctionType) -> Iterator[tuple[str, Read]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield name, partial(getattr, cell, "cell_contents")
    if not _is_ours(function):
        for name in sorted(set(_global_names(function.__code__))):
            value = function.__globals__.get(name, GONE)
            if value is not GONE and not (isinstance(value, ModuleType) and _is_ours_by_name(value.__name__)):
                yield name, partial(_item, function.__globals__, name)


def _asked_for(function: Any) -> frozenset[str]:
    """Names of globals and of attributes that a function, and what the program called beside it, ask for."""
    if isinstance(function, partial):
        return _asked_for(function.func).union(*map(_asked_for, function.args))
    function = getattr(function, "__func__", function)
    return frozenset(_global_names(function.__code__)) if isinstance(function, FunctionType) else frozenset()


def _of_class(kind: type, asked: Collection[str]) -> list[str]:
    """Names of what a class says that a program asks for, by name or by an operator."""
    found = list(vars(kind).items())
    return [name for name, value in found if name in asked or (name in _SPECIAL and isinstance(value, FunctionType))]


def _slots(kind: type) -> tuple[str, ...]:
    names = vars(kind).get("__slots__", ())
    listed = (names,) if isinstance(names, str) else tuple(names)
    return tuple(name for name in listed if isinstance(vars(kind).get(name), MemberDescriptorType))


def _global_names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _global_names(part)


def _is_ours(function: Any) -> bool:
    """Whether a function or class is this package's, Python's, or a library's that has no state of the user's."""
    return _is_ours_by_name(str(getattr(function, "__module__", "")))


def _is_ours_by_name(module: str) -> bool:
    return module.partition(".")[0] in _OURS


_OURS = frozenset({
    "bridge", "builtins", "functools", "itertools", "jax", "jaxlib", "math", "numpy", "operator", "optree", "rules",
    "scipy", "sys", "typing",
})  # fmt: skip


_SPECIAL = frozenset({name for name in vars(operator) if name.startswith("__")} | {"__call__", "__len__", "__iter__"})
"""Methods that operators and built-in functions call."""

_MOST = 1000
"""How many objects, and how many elements of one, are watched."""

RAW: tuple[Any, ...] = (memoryview, getattr(ctypes._SimpleCData, "__base__"))  # noqa: B009, which has no public name
"""Memory that is shown as numbers: its bytes are watched."""

_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))

GONE = object()


def _element(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except (IndexError, KeyError):
        return GONE


def _items_of(mapping: Any) -> _Pairs:
    return _Pairs(mapping.items())


class _Pairs:
    """Keys and values, which are the same if the objects are."""

    def __init__(self, pairs: Any) -> None:
        self.pairs = list(pairs)[:_MOST]

    def is_as(self, other: _Pairs) -> bool:
        """Whether these are the same objects, or equal values."""
        return len(self.pairs) == len(other.pairs) and all(
            same(a, c) and same(b, d) for (a, b), (c, d) in zip(self.pairs, other.pairs, strict=True)
        )


def _item(names: Mapping[str, Any], name: str) -> Any:
    return names.get(name, GONE)


def _said(kind: type, name: str) -> Any:
    return vars(kind).get(name, GONE)


def same(one: Any, other: Any) -> bool:
    """Whether what was read twice is the same to a program: zeros have signs, and NaNs have bits."""
    if one is other:
        return True
    if type(one) is type(other) is _Pairs:
        return one.is_as(other)
    if type(one) is not type(other) or not isinstance(one, (*VALUES, frozenset)):
        return False
    if isinstance(one, str):
        # A text may be one of what is known only when a compiled program runs, which does not answer.
        return str.__eq__(one, other)
    if isinstance(one, (float, complex, np.generic)):
        return np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return bool(one == other)


def key_of(read: Any) -> tuple[Any, ...]:
    """What tells a read from others, as long as it is kept."""
    return (read.func, *map(id, read.args[:1]), *read.args[1:])


def put(read: Any, value: Any) -> None:
    """Let what is read, which is no element, be another thing; GONE takes it away."""
    holder, *names = read.args
    if read.func is _item:
        if value is GONE:
            holder.pop(names[0], None)
        else:
            holder[names[0]] = value
    elif isinstance(getattr(read.func, "__self__", None), ContextVar):
        read.func.__self__.set(value)
    elif value is GONE:
        delattr(holder, names[0])
    else:
        setattr(holder, names[0], value)


def value_of(read: Read) -> Any:
    """What is read now; `GONE` from a variable that is not bound."""
    try:
        return read()
    except ValueError:  # a cell that is empty
        return GONE
