"""What objects and classes hold: attributes, slots, and what compiled code keeps and shows by name."""

from __future__ import annotations

import abc
import ctypes
import threading
import weakref
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from types import CodeType, GetSetDescriptorType, MemberDescriptorType
from typing import Any

import numpy as np

from bridge.state.graph import PLAIN, edges, held_by, slots_of
from bridge.state.slots import GONE, state_of
from bridge.xla.libraries import is_users_class, root_of
from bridge.xla.outside import NOISE, Asked, attributes_in_thread, item, keys_of, said, same


def of_class(kind: type, asked: Asked) -> Iterator[tuple[str, Any, Any]]:
    """What a class of the user's says, and what it may say one day."""
    for name in vars(kind):
        if name not in NOISE:
            yield f"{kind.__name__}.{name}", partial(said, kind, name), None
    yield f"a new attribute of the class {kind.__name__}", partial(keys_of, kind, asked), None
    if isinstance(kind, abc.ABCMeta):
        # Classes may be registered as others' subclasses.
        yield "the subclasses of an abstract class", abc.get_cache_token, ()


def of_object(one: Any, asked: Asked) -> Iterator[tuple[str, Any, Any]]:
    """An object's attributes and slots, and attributes that may come."""
    label = type(one).__name__
    attributes = None if isinstance(one, threading.local) else state_of(one)
    if isinstance(one, threading.local):
        yield f"an attribute of a {label}", partial(attributes_in_thread, one), ()
    if isinstance(attributes, dict) and attributes is not one:
        for name in list(attributes):
            yield f"{label}.{name}", partial(item, attributes, name), None
        yield f"a new attribute of a {label}", partial(keys_of, attributes, asked), None
    kind: Any = type(one)
    for name in slots_of(kind):
        yield f"{label}.{name}", partial(getattr, one, name, GONE), None


def of_c(one: Any, asked: Asked, done: set[str]) -> Iterator[Any]:
    """What reads that which compiled code keeps for an object, and the program, or its library, asks for by name."""
    for kind in type(one).__mro__[:-1]:
        wanted = _IN_C.get(root_of(kind), frozenset())
        for name, found in vars(kind).items():
            if type(found) not in (GetSetDescriptorType, MemberDescriptorType) or name in done or name in NOISE:
                continue
            if name in wanted or name in asked.names:
                done.add(name)
                read = partial(shown, one, name)
                # What is made for the asking says nothing of what is kept.
                if same(read(), read()):
                    yield read


def shown(one: Any, name: str) -> Any:
    """What compiled code shows of an object under a name."""
    with suppress(AttributeError, ValueError, TypeError, RuntimeError, OSError):
        return getattr(one, name, GONE)
    return GONE


def classes_of(things: Any) -> list[type]:
    """The program's own classes of things, and of what these hold."""
    found: dict[type, None] = {}
    seen: dict[int, Any] = {}
    waiting = [things]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen and type(one) not in PLAIN:
            seen[id(one)] = one
            if is_users_class(type(one)):
                found[type(one)] = None
            waiting += held_by(one)
    return list(found)


def behind(one: Any) -> Iterator[Any]:
    """What a weak proxy stands for, or a pointer points to; nothing of other things."""
    if type(one) in (weakref.ProxyType, weakref.CallableProxyType):
        with suppress(ReferenceError):
            yield one.__reduce_ex__.__self__
    elif isinstance(one, ctypes._Pointer) and one:
        yield one.contents


def referents_of(one: Any) -> Iterator[Any]:
    """What compiled code keeps for an object, and shows to the garbage collector alone, or to NumPy."""
    for kind, _, _, value in edges(one):
        if kind is None and not isinstance(value, CodeType):
            yield value


def is_opaque(kind: type) -> bool:
    """Whether objects of a class keep no state of the user's but a function, or what is known to move on."""
    return root_of(kind) in _OPAQUE or issubclass(kind, (np.dtype, np.random.Generator, np.random.RandomState))


def inside_of(one: Any) -> Iterator[Any]:
    """The functions that one of this package's objects stands for, and the metadata of a type of arrays."""
    if isinstance(one, np.dtype) and one.metadata is not None:
        yield one.metadata
    held = state_of(one) if root_of(type(one)) == "bridge" else None
    for name in ("function", "__wrapped__"):
        if held is not None and name in held:
            yield held[name]


_OPAQUE = frozenset({
    "bridge", "jax", "jaxlib", "optree", "_pytest", "pytest", "pluggy", "hypothesis", "unittest", "IPython",
    "ipykernel", "traitlets", "tqdm", "rich", "matplotlib", "_frozen_importlib", "_frozen_importlib_external",
})  # fmt: skip

_IN_C = {"pandas": frozenset({"blocks", "values", "axes"})}
"""What compiled code of libraries keeps, and the library's own Python code asks it for."""
