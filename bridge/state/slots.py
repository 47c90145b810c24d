"""Slots: places of the program's that hold a value, which is read, replaced, and put back."""

from __future__ import annotations

import array
import builtins
import collections
import ctypes
import gc
import mmap
import operator
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextvars import ContextVar
from types import CellType, FunctionType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Self

import numpy as np

from bridge.code_position import variable_of

GONE = object()
"""In the place of the value of an empty slot."""

ANSWERED = object()
"""In the place of the value that code of the class computes for an empty slot."""

RAW: tuple[Any, ...] = (memoryview, getattr(ctypes._SimpleCData, "__base__"))  # noqa: B009, which has no public name
"""Memory that is shown as numbers."""

_BYTES = (bytearray, array.array)
MEMORY: tuple[Any, ...] = (*_BYTES, *RAW, mmap.mmap, np.void)
"""What holds numbers, and is no array."""

_CONTAINERS = (collections.OrderedDict, dict, list, collections.deque, set)
_PLAIN_READS: tuple[Any, ...] = (object.__getattribute__, type.__getattribute__, ModuleType.__getattribute__)


class Slot(ABC):
    """A place that holds a value.

    Attributes
    ----------
    name : the text for messages.
    """

    __slots__ = ()

    name: Any

    @property
    @abstractmethod
    def key(self) -> tuple[Any, ...]:
        """The identity of the slot, as long as the slot is kept."""

    @abstractmethod
    def get(self) -> Any:
        """The value; GONE if the slot is empty."""

    @abstractmethod
    def set(self, value: Any) -> None:
        """Replace the value; GONE empties the slot."""

    def is_same(self, one: Any, other: Any) -> bool:
        """Whether two values that the slot held are the same."""
        return one is other


class Variable(Slot):
    """A variable of a function, by its cell."""

    __slots__ = ("cell", "name")

    def __init__(self, name: str, cell: CellType) -> None:
        self.name = name
        self.cell = cell

    @classmethod
    def of(cls, closure: Any, number: int) -> Self:
        """A variable in the closure of a function."""
        return cls(f"a variable of an enclosing function, {number}", closure[number])

    @property
    def key(self) -> tuple[Any, ...]:
        return (id(self.cell),)

    @property
    def thing(self) -> CellType:
        """The cell."""
        return self.cell

    @property
    def bound_name(self) -> str:
        """The name alone, which messages of Python's have."""
        if " " not in self.name:
            return self.name
        # A cell has no name: the functions that have it do.
        closures = [one for one in gc.get_referrers(self.cell) if type(one) is tuple]
        functions = [one for one in gc.get_referrers(*closures) if type(one) is FunctionType]
        pairs = (zip(one.__code__.co_freevars, one.__closure__ or (), strict=False) for one in functions)
        return next((name for names in pairs for name, cell in names if cell is self.cell), self.name)

    def get(self) -> Any:
        try:
            return self.cell.cell_contents
        except ValueError:  # a variable without a value
            return GONE

    def set(self, value: Any) -> None:
        if value is not GONE:
            self.cell.cell_contents = value
        elif self.get() is not GONE:
            del self.cell.cell_contents


class Value(Slot):
    """The place of the value of an expression."""

    __slots__ = ("held",)

    name = "the value"

    def __init__(self, held: list[Any]) -> None:
        self.held = held

    @property
    def key(self) -> tuple[Any, ...]:
        return (id(self.held),)

    def get(self) -> Any:
        return self.held[0]

    def set(self, value: Any) -> None:
        self.held[0] = value


class Part(Slot):
    """A part of a thing: an attribute, an item of a dictionary, or all that a container holds.

    Attributes
    ----------
    thing : the owner.
    part : the name in it; None of contents.
    """

    __slots__ = ("part", "thing")

    def __init__(self, thing: Any, part: Any = None) -> None:
        self.thing = thing
        self.part = part

    @classmethod
    def of(cls, thing: Any, part: Any) -> Self:
        """The slot of a thing under a name."""
        return cls(thing, part)

    @property
    def name(self) -> str:
        """Its own name, or the owner's class and the name of a variable that has the owner."""
        kind = type(self.thing).__name__
        return str(self.part or kind if (name := variable_of(self.thing)) is None else f"{kind} {name!r}")

    @property
    def key(self) -> tuple[Any, ...]:
        return type(self), id(self.thing), self.part

    @property
    def bound_name(self) -> str:
        """The name of the part alone."""
        return str(self.part)

    @property
    def is_name(self) -> bool:
        """Whether it is a global variable."""
        return False

    def absent(self) -> Any:
        """The value that a read gives while the slot is empty: an attribute of the class, a builtin.

        GONE if the read raises, ANSWERED if code of the class computes it.
        """
        thing, kind = self.thing, type(self.thing)
        classes = [*(thing.__mro__ if isinstance(thing, type) else ()), *kind.__mro__]
        found = next((vars(one)[self.part] for one in classes if self.part in vars(one)), GONE)
        if found is GONE or is_member(found):
            return ANSWERED if hasattr(kind, "__getattr__") else GONE
        reads: Any = kind.__getattribute__
        is_plain = reads in _PLAIN_READS and not hasattr(type(found), "__get__")
        return found if is_plain else ANSWERED


class Attribute(Part):
    """An attribute of an object, a class or a function; code of the class takes no part in it."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return f"{type(self.thing).__name__}.{self.part}"

    @property
    def has_setter(self) -> bool:
        """Whether a setter of the class decides which attributes an assignment changes."""
        found = of_class(type(self.thing), self.part)
        return hasattr(type(found), "__set__") and not isinstance(found, (MemberDescriptorType, GetSetDescriptorType))

    def get(self) -> Any:
        found = of_class(type(self.thing), self.part)
        if isinstance(found, GetSetDescriptorType):
            # Compiled code keeps it, and shows it by its own name only.
            try:
                return found.__get__(self.thing)
            except (AttributeError, ValueError):
                return GONE
        state = state_of(self.thing)
        if state is not None and (self.part in state or not is_member(found)):
            return state.get(self.part, GONE)
        try:
            return object.__getattribute__(self.thing, self.part)
        except AttributeError:
            return GONE

    def set(self, value: Any) -> None:
        found: Any = of_class(type(self.thing), self.part)
        if isinstance(found, GetSetDescriptorType):
            if value is not GONE:
                found.__set__(self.thing, value)
            elif self.get() is not GONE:
                found.__delete__(self.thing)
        elif value is not GONE:
            self._fill(value, is_member(found))
        elif self.get() is not GONE:
            self._empty()

    def _fill(self, value: Any, is_slot: bool) -> None:
        state = state_of(self.thing)
        if issubclass(type(self.thing), type):
            type.__setattr__(self.thing, self.part, value)
        elif state is not None and not is_slot:
            state[self.part] = value
        else:
            object.__setattr__(self.thing, self.part, value)

    def _empty(self) -> None:
        state = state_of(self.thing)
        if issubclass(type(self.thing), type):
            type.__delattr__(self.thing, self.part)
        elif state is not None and self.part in state:
            del state[self.part]
        else:
            object.__delattr__(self.thing, self.part)


class Item(Part):
    """An item of a dictionary: a global variable of a module, as a rule."""

    __slots__ = ()

    @property
    def is_name(self) -> bool:
        return True

    def absent(self) -> Any:
        return getattr(builtins, self.part, GONE)

    def get(self) -> Any:
        return self.thing.get(self.part, GONE)

    def set(self, value: Any) -> None:
        if value is GONE:
            self.thing.pop(self.part, None)
        else:
            self.thing[self.part] = value


class Element(Part):
    """An element of a list or a deque, by its number."""

    __slots__ = ()

    def get(self) -> Any:
        return self.thing[self.part] if self.part < len(self.thing) else GONE

    def set(self, value: Any) -> None:
        if value is not GONE:
            self.thing[self.part] = value


class Contents(Part):
    """The elements of a list, a dictionary or another of Python's containers: all, or none."""

    __slots__ = ()

    @classmethod
    def of(cls, thing: Any, part: Any) -> Self:
        return cls(thing)

    def get(self) -> list[Any]:
        kind = self._kind()
        return list(kind.items(self.thing) if issubclass(kind, dict) else kind.__iter__(self.thing))

    def set(self, value: Iterable[Any]) -> None:
        kind = self._kind()
        kind.clear(self.thing)
        (kind.update if hasattr(kind, "update") else kind.extend)(self.thing, value)

    def is_same(self, one: Any, other: Any) -> bool:
        """Whether the container held the same objects in the same order."""
        if one is GONE or other is GONE or len(one) != len(other):
            return one is other
        if issubclass(self._kind(), dict):
            return all(a[0] is b[0] and a[1] is b[1] for a, b in zip(one, other, strict=True))
        return all(map(operator.is_, one, other))

    def _kind(self) -> Any:
        """The class of Python's that it is of: the methods of the program's own class are not called."""
        return next(kind for kind in _CONTAINERS if issubclass(type(self.thing), kind))


class Memory(Part):
    """The contents of an array, or of other memory that holds numbers."""

    __slots__ = ()

    def get(self) -> Any:
        if isinstance(self.thing, (np.ndarray, np.void)):
            return self.thing.copy()
        return self.thing[:] if isinstance(self.thing, _BYTES) else bytes(self.thing)

    def set(self, value: Any) -> None:
        if isinstance(self.thing, np.ndarray):
            self.thing[...] = value
        elif isinstance(self.thing, np.void):
            for name in self.thing.dtype.names or ():
                self.thing[name] = value[name]
        elif isinstance(self.thing, memoryview):
            self.thing.cast("B")[:] = value
        elif isinstance(self.thing, RAW):
            ctypes.memmove(ctypes.addressof(self.thing), value, len(value))
        else:
            self.thing[:] = value

    def is_same(self, one: Any, other: Any) -> bool:
        """Whether the memory held the same bits."""
        if isinstance(one, (np.ndarray, np.void)):
            return one.tobytes() == other.tobytes()
        return bytes(memoryview(one)) == bytes(memoryview(other))


class ContextValue(Part):
    """The value of a context variable, its default included; it cannot be emptied."""

    __slots__ = ()

    def get(self) -> Any:
        variable: ContextVar[Any] = self.thing
        try:
            return variable.get()
        except LookupError:
            return GONE

    def set(self, value: Any) -> None:
        if value is not GONE:
            self.thing.set(value)


def contents_of(thing: Any) -> Part:
    """The slot of all that a container or memory holds."""
    return (Memory if isinstance(thing, (np.ndarray, *MEMORY)) else Contents)(thing)


def of_class(kind: type, name: str) -> Any:
    """The entry of a class under a name, without a call of its descriptor; None if there is none."""
    return next((vars(one)[name] for one in kind.__mro__ if name in vars(one)), None)


def state_of(thing: Any) -> Any:
    """An object's own attributes, whatever its class does for attributes; None if it has none."""
    if issubclass(type(thing), threading.local):
        return thing.__dict__
    try:
        return object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return None


def is_member(found: Any) -> bool:
    """Whether an entry of a class is the descriptor of a slot of its objects."""
    return type(found) is MemberDescriptorType
