"""How what a program reads from outside of itself is read again, compared, and put back.

Globals, variables of enclosing functions, attributes of modules, objects and classes, elements of containers: by name,
so that one that is bound to another thing is seen.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context, ContextVar
from typing import Any

import numpy as np

from bridge.rewind.values import describes
from bridge.state.graph import objects_in
from bridge.state.slots import GONE, Attribute, ContextValue, Item, Part

_PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})

VALUES = (bool, int, float, complex, str, bytes, type(None), np.generic)
"""What is the same if it is equal."""

Read = Callable[[], Any]


class Elements:
    """What a container holds, in its order: the same if the objects are, or equal values.

    `keys` are those of a dictionary or a mapping, else None.
    """

    __slots__ = ("keys", "kind", "values")

    def __init__(self, kind: str, values: Iterable[Any], keys: Iterable[Any] | None = None) -> None:
        self.kind = kind
        self.values = tuple(values)
        self.keys = None if keys is None else tuple(keys)

    def is_as(self, other: Elements) -> bool:
        """Whether both hold the same."""
        return _all_same(self.values, other.values) and (
            self.keys is other.keys or _all_same(self.keys or (), other.keys or ())
        )

    def what_differs(self, other: Elements) -> str:
        """The first element that is not what it was, or what else is not."""
        if len(self.values) != len(other.values):
            return f"the length of a {self.kind}"
        if self.keys is not None and not _all_same(self.keys, other.keys or ()):
            return f"the order of a {self.kind}"
        keys = range(len(self.values)) if self.keys is None else self.keys
        differ = (key for key, a, b in zip(keys, self.values, other.values, strict=True) if not same(a, b))
        return f"element {next(differ, None)!r} of a {self.kind}"


class Asked:
    """Names that functions of a program ask for; `is_open` if they ask for some that are not written in them.

    It grows while the functions are found.
    """

    __slots__ = ("is_open", "names")

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.is_open = False

    def is_for(self, name: str) -> bool:
        """Whether it makes a difference that there is something of this name."""
        return self.is_open or name in self.names or (name.startswith("__") and name not in NOISE)


class Keys:
    """The names in a namespace: the same if there are no new ones that the program asks for.

    If it asks for all, they are in the same order, too.
    """

    __slots__ = ("asked", "names")

    def __init__(self, names: Iterable[str], asked: Asked) -> None:
        self.names = tuple(names)
        self.asked = asked

    def is_as(self, other: Keys) -> bool:
        """Whether nothing has come or gone, between both, that makes a difference."""
        if self.names == other.names:
            return True
        return not self.asked.is_open and not any(map(self.asked.is_for, set(self.names).difference(other.names)))

    def come_since(self, before: Keys) -> list[str]:
        """Names that were not there, and make a difference."""
        return [name for name in self.names if name not in before.names and self.asked.is_for(name)]


NOISE = frozenset({
    "__dict__", "__weakref__", "__module__", "__doc__", "__qualname__", "__static_attributes__", "__firstlineno__",
    "__annotations_cache__", "__builtins__", "__warningregistry__", "__loader__", "__spec__", "__cached__",
})  # fmt: skip
"""Names that Python's own machinery keeps in classes and modules."""


def item(names: Mapping[str, Any], name: str) -> Any:
    """What is bound to a name in a dictionary of names."""
    return names.get(name, GONE)


def said(kind: type, name: str) -> Any:
    """What a class itself says."""
    return vars(kind).get(name, GONE)


def keys_of(holder: Any, asked: Asked) -> Keys:
    """The names of a class, or in a dictionary of names."""
    return Keys(vars(holder) if isinstance(holder, type) else holder, asked)


def elements_of(one: Any) -> Elements:
    """What a container or a mapping holds."""
    name = type(one).__name__
    if isinstance(one, (Mapping, Context)):
        items: Any = dict.items if _is_plain_dict(one) else type(one).items
        pairs = list(items(one))
        return Elements(name, [value for _, value in pairs], [key for key, _ in pairs])
    kind = next((kind for kind in (list, tuple) if isinstance(one, kind)), None)
    return Elements(name, one if kind is None else kind.__iter__(one))


def _is_plain_dict(one: Any) -> bool:
    # The order of an OrderedDict is kept beside that of the dictionary that it is.
    return isinstance(one, dict) and not hasattr(type(one), "move_to_end")


def in_context(variable: ContextVar[Any]) -> Any:
    """What a context variable is now, its default included."""
    return ContextValue(variable).get()


def bits_of(memory: Any) -> bytes:
    """The bits of memory that is no array."""
    return bytes(memoryview(memory))


def fields_of(array: np.ndarray) -> Elements:
    """What an array with fields holds, of which some are objects."""
    return Elements("ndarray", [*objects_in(array), array.tobytes(), array.shape])


def shape_of(array: np.ndarray) -> str:
    """The shape of an array, which may be set in place."""
    return repr(array.shape)


def layout_of(array: np.ndarray) -> str:
    """How an array lies, and whether it may be written."""
    return repr((array.shape, array.strides, array.dtype.str, array.flags.num))


def subclasses(kind: type) -> Elements:
    """The classes that derive from one."""
    return Elements("the subclasses of a class", type.__subclasses__(kind))


def attributes_in_thread(one: Any) -> Elements:
    """What a `threading.local` holds in this thread."""
    return Elements("local", list(vars(one).values()), list(vars(one)))


def same(one: Any, other: Any) -> bool:
    """Whether what was read twice is the same to a program: zeros have signs, and NaNs have bits."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, (Elements, Keys)):
        return one.is_as(other)
    if type(one) not in _PLAIN and not isinstance(one, np.generic) and not describes(one):
        # Numbers and texts of a program's own classes may have attributes.
        return False
    if isinstance(one, str):
        # A text may be one of what is known only when a compiled program runs, which does not answer.
        return str.__eq__(one, other)
    if isinstance(one, (float, complex, np.generic)):
        return np.asarray(one).tobytes() == np.asarray(other).tobytes()
    return bool(one == other)


def _all_same(some: tuple[Any, ...], others: tuple[Any, ...]) -> bool:
    if len(some) != len(others):
        return False
    return all(map(operator.is_, some, others)) or all(map(same, some, others))


def key_of(read: Any) -> tuple[Any, ...]:
    """What tells a read from others, as long as it is kept."""
    names = () if read.func is keys_of else read.args[1:2]
    return (read.func, *map(id, read.args[:1]), *names)


def slot_of(read: Any) -> Part:
    """The slot that is read, by a read of no element."""
    holder, *names = read.args
    if read.func is item:
        return Item(holder, names[0])
    return ContextValue(holder) if read.func is in_context else Attribute(holder, names[0] if names else "__class__")


def value_of(read: Read) -> Any:
    """What is read now; `GONE` from a variable that is not bound."""
    try:
        return read()
    except ValueError:  # a cell that is empty
        return GONE
