"""The graph of the program's objects: what each of them holds, and one walk over it, with a policy."""

from __future__ import annotations

import gc
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from bridge.state.slots import GONE, Attribute, Element, Item, Slot, Variable, is_member, state_of

Edge = tuple[type[Slot] | None, Any, Any, Any]
"""The kind of a slot, the thing and the name that it has there, and its value.

The kind is None where nothing else can be put into the place of the value.
"""

PLAIN = frozenset({
    type(None), bool, int, float, complex, str, bytes, slice, range, type(...), type(NotImplemented), CodeType,
    types.FrameType, type(np.sum), *(kind for kind in np.sctypeDict.values() if kind is not np.void),
}) - {np.object_}  # fmt: skip
"""Classes of values that hold no others."""


def edges(one: Any) -> Iterator[Edge]:
    """What a thing holds: elements, attributes, slots, variables of functions, what compiled code refers to.

    Of classes and modules only names tell what a program uses: `named`, `said_by`.
    """
    kind = type(one)
    if kind in PLAIN or issubclass(kind, (type, ModuleType)):
        return
    if kind is FunctionType:
        yield from _of_function(one)
        return
    if is_numbas(kind):
        yield None, one, None, source_of_numbas(one)
        return
    if kind in _VIEWED:
        yield from ((None, one, None, value) for value in gc.get_referents(one))
        return
    if kind in _WITHOUT_ATTRIBUTES:
        yield from _inside(one, kind)
        return
    known: set[int] = set()
    for edge in _inside(one, kind):
        known.add(id(edge[3]))
        yield edge
    yield from _in_attributes(one, known)


def is_numbas(kind: type) -> bool:
    """Whether a class is Numba's. Apart from the source, its functions hold the state of a compiler."""
    return str(kind.__module__).startswith("numba.")


def source_of_numbas(one: Any) -> FunctionType | None:
    """The Python function that Numba compiles for an object of its classes; None if there is none."""
    found = getattr(one, "__wrapped__", None)
    return found if type(found) is FunctionType else None


def _inside(one: Any, kind: Any) -> Iterator[Edge]:
    """What a container, or a thing of Python's or NumPy's, holds apart from attributes."""
    if issubclass(kind, dict):
        for key, value in list(dict.items(one)):
            yield None, one, None, key
            yield Item, one, key, value
    elif issubclass(kind, (list, deque)):
        plain: Any = list if issubclass(kind, list) else deque
        for k, value in enumerate(list(plain.__iter__(one))):
            yield Element, one, k, value
    elif kind is CellType:
        if _is_full(one):
            yield Variable, (one,), 0, one.cell_contents
    else:
        for value in _shown_by(one, kind):
            yield None, one, None, value


def held_by(one: Any) -> list[Any]:
    """The values that a thing holds."""
    return [edge[3] for edge in edges(one)]


def _of_function(one: FunctionType) -> Iterator[Edge]:
    closure = one.__closure__ or ()
    for k, cell in enumerate(closure):
        if _is_full(cell):
            yield Variable, closure, k, cell.cell_contents
    for name in ("__defaults__", "__kwdefaults__"):
        if getattr(one, name):
            yield Attribute, one, name, getattr(one, name)
    for name, value in list(one.__dict__.items()):
        yield Attribute, one, name, value


def _shown_by(one: Any, kind: Any) -> Iterable[Any]:
    """What a thing holds that the garbage collector does not know of, or that is no attribute."""
    if issubclass(kind, (tuple, set, frozenset)):
        return list(one)
    if issubclass(kind, np.ndarray):
        return objects_in(one)
    if issubclass(kind, np.void):
        return [one.base, *((one[name] for name in one.dtype.names or ()) if one.dtype.hasobject else ())]
    if issubclass(kind, np.flatiter):
        return [one.base]
    if issubclass(kind, np.broadcast):
        return one.iters
    if issubclass(kind, np.nditer):
        with suppress(ValueError):
            return one.operands
        return []
    if issubclass(kind, np.dtype):
        return [] if one.metadata is None else [one.metadata]
    if issubclass(kind, memoryview):
        with suppress(ValueError):  # it was released
            return [one.obj]
        return []
    if issubclass(kind, weakref.ref):
        return [one()]
    if issubclass(kind, _PROXIES):
        with suppress(ReferenceError):
            return [one.__reduce_ex__.__self__]
    return []


def objects_in(array: np.ndarray) -> list[Any]:
    """The objects in an array of objects, or in fields of a structured one."""
    if array.dtype == object:
        return list(array.flat)
    if array.dtype.names is None or not array.dtype.hasobject:
        return []
    return [one for name in array.dtype.names for one in objects_in(np.asarray(array[name]))]


def _in_attributes(one: Any, known: set[int]) -> Iterator[Edge]:
    """Attributes and slots, and whatever else compiled code refers to."""
    state = state_of(one)
    if isinstance(state, dict) and state is not one:
        known.add(id(state))
        for name, value in list(dict.items(state)):
            known.add(id(value))
            yield Attribute, one, name, value
    kind: Any = type(one)
    for name in slots_of(kind):
        value = Attribute(one, name).get()
        if value is not GONE:
            known.add(id(value))
            yield Attribute, one, name, value
    for value in gc.get_referents(one):
        if id(value) not in known and not isinstance(value, (type, ModuleType)):
            yield None, one, None, value


@lru_cache(maxsize=4096)
def slots_of(kind: type) -> tuple[str, ...]:
    """The names of the slots that classes written in Python give to their objects."""
    # Compiled classes of Python's own library may have members, too, which nobody can set.
    made = (one for one in kind.__mro__ if one.__flags__ & _IS_OF_PYTHON and _has_slots(one))
    found = (name for one in made for name, member in vars(one).items() if is_member(member))
    return tuple(dict.fromkeys(found))


def _has_slots(kind: type) -> bool:
    return "__slots__" in vars(kind) or kind.__module__.partition(".")[0] not in sys.stdlib_module_names


def _is_full(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not GONE
    except ValueError:  # a variable without a value
        return False


@lru_cache(maxsize=4096)
def names_in(code: CodeType) -> tuple[str, ...]:
    """The names of globals and attributes in code, and in that of the functions in it."""
    inner = [name for part in code.co_consts if type(part) is CodeType for name in names_in(part)]
    return tuple(dict.fromkeys([*code.co_names, *inner]))


def named(function: FunctionType, libraries: Container[str] = ()) -> Iterator[Edge]:
    """The global variables that a function, or one in it, names, and the names that it may ask modules for.

    Modules of `libraries` are left out.
    """
    names, looked_for = function.__globals__, names_in(function.__code__)
    for name in looked_for:
        value = names.get(name, GONE)
        if type(value) is ModuleType:
            if value.__name__.partition(".")[0] not in libraries:
                inside = vars(value)
                yield from ((Item, inside, one, inside[one]) for one in looked_for if one in inside)
        elif value is not GONE:
            yield Item, names, name, value


def said_by(kind: type) -> Iterator[Edge]:
    """The attributes of a class, and its bases."""
    for name, value in list(vars(kind).items()):
        yield Attribute, kind, name, value
    for base in kind.__bases__:
        yield None, kind, None, base


@dataclass(frozen=True)
class Policy:
    """Which things a walk looks into, and how many.

    Attributes
    ----------
    is_end : whether a walk looks into a thing no further.
    edges : what a thing holds, to the walk.
    most : how many things a walk looks into.
    elements : how many edges of one thing are followed.
    depth : how many things, one in another, are looked into from a root.
    """

    is_end: Callable[[Any], bool]
    edges: Callable[[Any], Iterable[Edge]] = edges
    most: int | None = None
    elements: int | None = None
    depth: int = sys.maxsize


class Walk:
    """One walk over what things hold, each once.

    Attributes
    ----------
    is_cut : there are more things than the policy allows; the walk has ended before them.
    """

    def __init__(self, roots: Iterable[Any], policy: Policy, known: Iterable[Any] = ()) -> None:
        self.policy = policy
        self.is_cut = False
        # An identity is of no other object while this one lives.
        self._seen: dict[int, Any] = {id(one): one for one in known}
        self._most = None if policy.most is None else policy.most + len(self._seen)
        self._waiting: list[tuple[Any, int]] = []
        self.add(roots)

    def add(self, roots: Iterable[Any]) -> None:
        """Go on with these things, too."""
        self._waiting += [(one, self.policy.depth) for one in roots]

    def __iter__(self) -> Iterator[tuple[Any, list[Edge]]]:
        """Each thing that is looked into, with what it holds."""
        while self._waiting:
            one, depth = self._waiting.pop()
            if not depth or type(one) in PLAIN or id(one) in self._seen or self.policy.is_end(one):
                continue
            if self._most is not None and len(self._seen) >= self._most:
                self.is_cut = True
                return
            self._seen[id(one)] = one
            found = list(islice(self.policy.edges(one), self.policy.elements))
            self._waiting += [(edge[3], depth - 1) for edge in found]
            yield one, found


_VIEWED: tuple[Any, ...] = (types.MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))
_WITHOUT_ATTRIBUTES = frozenset({CellType, dict, list, tuple, set, frozenset, deque, np.ndarray})
_PROXIES = (weakref.ProxyType, weakref.CallableProxyType)
_IS_OF_PYTHON = 1 << 9
"""The flag of classes that are made when the program runs."""
