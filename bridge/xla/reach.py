"""What functions of a program can reach by names: what they read from outside, and what things there hold.

Functions, objects and containers are followed one from another. Of classes and modules only that is followed which some
function asks for, so that these are asked again whenever more functions have been found.
"""

from __future__ import annotations

import builtins
import functools
import io
import operator
import os
import sys
import weakref
from array import array
from collections import defaultdict, deque
from collections.abc import Iterator
from contextvars import Context, ContextVar
from functools import partial
from types import BuiltinFunctionType, FunctionType, MappingProxyType, MethodType, MethodWrapperType, ModuleType
from typing import Any

import numpy as np

from bridge.code_position import resolve
from bridge.errors import TraceError
from bridge.state.graph import held_by, is_numbas, objects_in, source_of_numbas
from bridge.state.slots import GONE, MEMORY
from bridge.xla import holders
from bridge.xla.code_facts import facts_of_code, names_in
from bridge.xla.libraries import is_module_not_read, is_users, is_users_class, is_users_module
from bridge.xla.outside import (
    NOISE,
    VALUES,
    Asked,
    Read,
    bits_of,
    elements_of,
    fields_of,
    in_context,
    item,
    keys_of,
    subclasses,
    value_of,
)

Found = tuple[str, Read, Any]
"""A label, what reads it, and the container that it is an element of; an empty tuple if no program writes it."""


class Reach:
    """A walk over what functions can reach; what was come across once is not looked at again.

    Attributes
    ----------
    reached : the things, by identity.
    arrays : the arrays among them.
    """

    def __init__(self) -> None:
        self.reached: dict[int, Any] = {}
        self.arrays: list[np.ndarray] = []
        self.asked = Asked()
        self._waiting: list[Any] = []
        self._functions: list[FunctionType] = []
        self._globals: dict[int, Asked] = {}
        self._classes: dict[type, set[str]] = {}
        self._modules: dict[int, tuple[ModuleType, set[str]]] = {}
        self._in_c: dict[int, tuple[Any, set[str]]] = {}
        self._absent: set[int] = set()
        self._loaded: set[str] | None = None
        self._told: dict[int, set[str]] = {}

    def walk(self, *functions: Any) -> Iterator[Found]:
        """What functions read, and what functions, objects and containers there have."""
        self._add(*functions)
        while self._waiting:
            while self._waiting:
                one = self._waiting.pop()
                if id(one) not in self.reached:
                    self.reached[id(one)] = one
                    yield from self._look(one)
            yield from self._asked_again()
            if len(self.reached) > MOST:
                raise TraceError(
                    f"a program can reach more than {MOST} objects that it was not given: whether they have changed "
                    "is looked at before each call",
                    where=resolve((self._functions[0].__code__, 0)) if self._functions else None,
                    remedy='pass what it needs as an argument, or use engine="native"',
                )

    def _add(self, *things: Any) -> None:
        for thing in things:
            kind = type(thing)
            if kind in _PROXIES:
                # It claims to be of the class of its referent, which may be gone.
                self._add(*holders.behind(thing))
                continue
            if isinstance(thing, np.ndarray):
                if thing.dtype.names and thing.dtype.hasobject:
                    self._waiting.append(thing)
                    continue
                self.arrays.append(thing)
                self._add(*objects_in(thing))
            is_plain = kind is tuple and _NUMBERS.issuperset(map(type, thing))
            if kind is str or is_plain:
                self.asked.names.update(names_in(thing))
            if kind is np.ndarray:
                self.reached[id(thing)] = thing
            elif (
                not is_plain
                and kind not in _NUMBERS
                and (not isinstance(thing, VALUES) or isinstance(thing, np.void) or is_users_class(kind))
            ):
                self._waiting.append(thing)

    def _look(self, one: Any) -> Iterator[Found]:
        """What one thing has."""
        kind = type(one)
        if is_numbas(kind):
            self._add(source_of_numbas(one))
            return
        if isinstance(one, FunctionType):
            yield from self._function(one)
        elif isinstance(one, partial):
            for name in ("func", "args", "keywords"):
                yield f"the {name} of a partial function", partial(getattr, one, name), ()
            self._add(one.func, one.args, one.keywords)
        elif isinstance(one, MethodType):
            self._add(one.__func__, one.__self__)
        elif isinstance(one, (BuiltinFunctionType, MethodWrapperType)):
            self._add(one.__self__)
        elif isinstance(one, ModuleType):
            self._modules[id(one)] = one, set()
            yield from self._class_of(one)
        elif isinstance(one, type):
            yield from self._class(one)
        elif isinstance(one, (property, staticmethod, classmethod)):
            self._add(*(getattr(one, name, None) for name in ("fget", "fset", "fdel", "__func__")))
        elif isinstance(one, (list, tuple, dict, deque, set, frozenset, MappingProxyType, Context)):
            if not isinstance(one, (tuple, frozenset)):
                # Nobody writes through a proxy.
                written = () if isinstance(one, (MappingProxyType, Context)) else one
                yield f"the elements of a {kind.__name__}", partial(elements_of, one), written
            found = elements_of(one)
            self._add(*found.values, *(found.keys or ()))
            if isinstance(one, defaultdict):
                yield "the default_factory of a defaultdict", partial(getattr, one, "default_factory"), None
                self._add(one.default_factory)
        elif isinstance(one, _VIEWS):
            self._add(one.mapping)
        elif isinstance(one, weakref.ref):
            yield "what a weak reference refers to", one, ()
            self._add(one())
        elif isinstance(one, np.ndarray) and one.dtype.names and one.dtype.hasobject:
            yield "the elements of an array with fields", partial(fields_of, one), one
            self._add(*objects_in(one))
        elif isinstance(one, MEMORY):
            yield f"the elements of a {kind.__name__}", partial(bits_of, one), one
            self._add(*(held_by(one) if isinstance(one, np.void) else holders.behind(one)))
        elif isinstance(one, ContextVar):
            yield one.name, partial(in_context, one), None
            self._add(in_context(one))
        elif isinstance(one, (io.StringIO, io.BytesIO)):
            yield f"the contents of a {kind.__name__}", one.getvalue, ()
        elif isinstance(one, functools._lru_cache_wrapper):
            self._add(one.__wrapped__)
        elif isinstance(one, (operator.attrgetter, operator.methodcaller)):
            self.asked.names.update(names_in(one.__reduce__()[1]))
        if kind is not FunctionType and not isinstance(one, (type, ModuleType)) and kind not in _PLAIN:
            yield from self._object(one)

    def _function(self, one: FunctionType) -> Iterator[Found]:
        for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
            self.reached[id(cell)] = cell
            read = partial(getattr, cell, "cell_contents")
            yield name, read, None
            self._add(value_of(read))
        if not is_users(one):
            self._add(*one.__dict__.values(), os.environ if one is os.getenv else None)
            return
        facts, names = facts_of_code(one.__code__), one.__globals__
        for name in ("__code__", "__defaults__", "__kwdefaults__"):
            # A program that ran without defaults gives all arguments.
            if getattr(one, name) is not None:
                yield f"{one.__name__}.{name}", partial(getattr, one, name), None
        self._functions.append(one)
        for name in one.__dict__:
            yield f"{one.__name__}.{name}", partial(item, one.__dict__, name), None
        self._add(*(one.__defaults__ or ()), one.__kwdefaults__, *one.__dict__.values())
        self.asked.names |= facts.names | facts.texts
        self.asked.is_open = self.asked.is_open or facts.is_open
        yield from self._may_come(one, facts.variables | facts.texts)
        asks_for_all = not _OF_ALL.isdisjoint(facts.names)
        asked = facts.variables.union(names).difference(NOISE) if asks_for_all else facts.variables
        for name in sorted(asked):
            value = names.get(name, GONE)
            if value is not GONE:
                yield name, partial(item, names, name), None
                yield from self._of_module(value, facts.names) if isinstance(value, ModuleType) else ()
                self._add(value)
            elif name in _BUILTINS:
                yield name, partial(item, _BUILTINS, name), None
        for name in facts.modules:
            module = sys.modules.get(name) or sys.modules.get(f"{names.get('__package__')}.{name}")
            yield from self._of_module(module, facts.names) if isinstance(module, ModuleType) else ()
            self._add(module)

    def _may_come(self, one: FunctionType, names: frozenset[str]) -> Iterator[Found]:
        """Globals that are not there yet, among them those that would hide a builtin."""
        asked = self._globals.get(id(one.__globals__))
        if asked is None:
            asked = self._globals[id(one.__globals__)] = Asked()
            yield "a new global variable", partial(keys_of, one.__globals__, asked), None
        asked.names |= names
        asked.is_open = asked.is_open or not _OF_ALL.isdisjoint(names)

    def _of_module(self, module: ModuleType, asked: frozenset[str]) -> Iterator[Found]:
        """What a function asks a library's module for; of the user's modules that is watched which any asks for."""
        if is_users_module(module.__name__):
            return
        names, is_followed = vars(module), not is_module_not_read(module.__name__)
        for name in asked.intersection(names):
            value = names[name]
            if module is sys and not isinstance(value, (*VALUES, list)):
                continue
            yield f"{module.__name__}.{name}", partial(item, names, name), None
            if not isinstance(value, ModuleType) and (is_followed or isinstance(value, list)):
                self._add(value)
        if module is sys and "modules" in asked and self._loaded is None:
            self._loaded = set()
            yield "a new module", partial(keys_of, sys.modules, self.asked), ()

    def _class(self, kind: type) -> Iterator[Found]:
        if not is_users_class(kind):
            return
        self._classes[kind] = set()
        yield f"{kind.__name__}.__bases__", partial(getattr, kind, "__bases__"), None
        yield from holders.of_class(kind, self.asked)
        # What a library's code may ask them for, as `enum` does.
        self._add(*(held for held in vars(kind).values() if type(held) in (list, dict, set)))
        self._add(*kind.__mro__[1:], type(kind))
        if "_is_protocol" in vars(kind):
            self.asked.names.update(vars(kind), getattr(kind, "__annotations__", ()))

    def _object(self, one: Any) -> Iterator[Found]:
        kind = type(one)
        yield from self._class_of(one)
        if holders.is_opaque(kind):
            self._add(*holders.inside_of(one))
            return
        for name, read, container in holders.of_object(one, self.asked):
            yield name, read, container
            found = value_of(read)
            self._add(*([] if read.func is keys_of else found.values if container == () else [found]))
        if not any(map(is_users_class, kind.__mro__)) or kind.__basicsize__ > object.__basicsize__:
            self._in_c[id(one)] = one, set()
            self._add(*holders.referents_of(one))

    def _class_of(self, one: Any) -> Iterator[Found]:
        kind = type(one)
        users = [base for base in kind.__mro__ if is_users_class(base)]
        if users:
            yield f"the class of a {kind.__name__}", partial(type, one), None
            self._add(*users)

    def _asked_again(self) -> Iterator[Found]:
        """What classes and modules say under names that are asked for, and were not before."""
        asked = self.asked
        known = _OF_TYPES.intersection(asked.names)
        for function in self._functions if known else ():
            for name in known - self._told.setdefault(id(function), set()):
                self._told[id(function)].add(name)
                yield f"{function.__name__}.{name}", partial(getattr, function, name), None
                self._add(getattr(function, name))
        for kind, done in self._classes.items():
            for name in [name for name in vars(kind) if name not in done and asked.is_for(name)]:
                done.add(name)
                self._add(vars(kind)[name])
            for name in known.intersection(_OF_CLASSES).difference(done):
                done.add(name)
                yield f"{kind.__name__}.{name}", partial(getattr, kind, name), None
            if "__subclasses__" in asked.names and "__subclasses__" not in done:
                done.add("__subclasses__")
                yield f"the subclasses of {kind.__name__}", partial(subclasses, kind), ()
                self._add(*type.__subclasses__(kind))
        for module, done in self._modules.values():
            if is_users_module(module.__name__):
                yield from self._names_of(module, done)
        for one, done in self._in_c.values():
            for read in holders.of_c(one, asked, done):
                yield f"{type(one).__name__}.{read.args[1]}", read, ()
                self._add(read())
        loaded = self._loaded
        if loaded is not None:
            for name in asked.names.intersection(sys.modules).difference(loaded):
                loaded.add(name)
                yield f"sys.modules[{name!r}]", partial(item, sys.modules, name), ()
                self._add(sys.modules[name])
        if asked.is_open or not _OF_ABSENT.isdisjoint(asked.names):
            for function in self._functions:
                if id(function) not in self._absent:
                    self._absent.add(id(function))
                    yield f"a new attribute of {function.__name__}", partial(keys_of, function.__dict__, asked), None

    def _names_of(self, module: ModuleType, done: set[str]) -> Iterator[Found]:
        names = vars(module)
        if id(module) not in self._absent:
            self._absent.add(id(module))
            yield f"a new name of {module.__name__}", partial(keys_of, names, self.asked), None
            self._add(names.get("__getattr__"))
        asked = set(names) - NOISE if self.asked.is_open else self.asked.names.intersection(names)
        for name in asked.difference(done):
            done.add(name)
            yield f"{module.__name__}.{name}", partial(item, names, name), None
            self._add(names[name])


MOST = 100_000
"""How many objects may be watched."""

_BUILTINS = vars(builtins)
_VIEWS: tuple[Any, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_NUMBERS = frozenset({bool, int, float, complex, str, bytes, type(None), np.float64, np.int64, np.bool_})
_OF_ALL = frozenset({"globals", "eval", "exec"})
_OF_CLASSES = frozenset({"__name__", "__qualname__", "__doc__", "__module__"})
_OF_TYPES = _OF_CLASSES | {"__annotations__"}
"""What classes and functions have beside what they say."""

_OF_ABSENT = frozenset({"getattr", "hasattr", "AttributeError", "__dict__"})

_PLAIN = frozenset({
    list, tuple, dict, deque, set, frozenset, MappingProxyType, MethodType, BuiltinFunctionType, MethodWrapperType,
    property, staticmethod, classmethod, bytearray, array,
    np.ndarray, np.void, Context, ContextVar, *_VIEWS, type(GONE), type(np.sum),
    slice, range, type(Ellipsis), type(NotImplemented), type(len), type(list.append),
    type(object.__init__), type(dict.__dict__["fromkeys"]),
})  # fmt: skip
"""Kinds of things that hold nothing else."""
