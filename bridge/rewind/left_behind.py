"""What a function leaves in the program when it is called: variables around it, globals, elements, attributes, arrays.

A solver calls the program's function as often as it likes. What counts the calls, or fills a plain history, is as the
solver's own calls have left it. What carries a gradient can only be what one call leaves, whichever call it is.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from bridge.code_position import is_internal
from bridge.objects.anatomy import LIBRARIES
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import grounded
from bridge.state.graph import Edge, Policy, Walk, edges, named, said_by
from bridge.state.slots import GONE, Attribute, Contents, Item, Memory, Variable

_MOST = 256
"""How many functions, containers and objects are looked through."""
_NAMED = (Attribute, Item, Variable)
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class LeftBehind:
    """The slots where a function may leave something, with what they hold now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        walk = list(_walk(function))
        self.known = {id(one): one for one, _ in walk}
        self.found = {key: (value, _settled(value)) for key, (_, _, value) in _slots(walk).items()}

    def put_back_plain(self) -> None:
        """Plain values as they were."""
        for _, slot, before, settled, now in self._now():
            if not _is_tracked(now) and not _is_tracked(before) and not _same(settled, now):
                slot.set(before)

    def differing(self) -> str | None:
        """The name of something that carries a gradient and is another value now."""
        for name, _, before, settled, now in self._now():
            if (_is_tracked(now) or _is_tracked(before)) and not _same(settled, _settled(now)):
                return name
        return None

    def _now(self) -> Iterator[tuple[str, Any, Any, Any, Any]]:
        for key, (name, slot, now) in _slots(_walk(self.function)).items():
            if key in self.found:
                yield name, slot, *self.found[key], now
            elif not isinstance(slot, Variable) and id(slot.thing) in self.known:
                # It was not there before.
                yield name, slot, GONE, GONE, now


def _walk(function: Any) -> Walk:
    return Walk([function], Policy(_is_end, _edges, _MOST, _MOST))


def _is_end(one: Any) -> bool:
    kind = type(one)
    if isinstance(one, (*_PLAIN, ModuleType)) or hasattr(kind, "place"):
        return True
    if issubclass(kind, type):
        return _root(one) in LIBRARIES or _root(one) in sys.stdlib_module_names
    return _root(kind) in LIBRARIES and kind is not np.ndarray


def _edges(one: Any) -> Iterator[Edge]:
    """What a thing holds, its class, and what a function of the program's names."""
    if isinstance(one, type):
        yield from (edge for edge in said_by(one) if not hasattr(type(edge[3]), "__get__"))
        return
    yield from edges(one)
    yield None, one, None, type(one)
    if isinstance(one, FunctionType) and not is_internal(one.__code__.co_filename):
        yield from named(one, LIBRARIES | sys.stdlib_module_names)


def _root(kind: Any) -> str:
    return str(kind.__module__).partition(".")[0]


def _slots(walk: Iterable[tuple[Any, list[Edge]]]) -> dict[Any, tuple[str, Any, Any]]:
    """Each slot that a function reaches, by its key: its name, and what it holds; of containers and arrays a copy."""
    found: dict[Any, tuple[str, Any, Any]] = {}
    lent = _lent()
    for one, held in walk:
        if isinstance(one, (list, deque, set)):
            contents = Contents(one)
            found[contents.key] = f"an element of a {type(one).__name__}", contents, contents.get()
        elif type(one) is np.ndarray and (id(one) in lent or (one.flags.writeable and not one.dtype.hasobject)):
            memory = Memory(one)
            found[memory.key] = "an element of an array", memory, lent.get(id(one), memory.get())
        for kind, thing, part, value in held:
            if kind in _NAMED and not (type(one) is FunctionType and callable(value)):
                slot = kind.of(thing, part)
                found[slot.key] = _name(one, part), slot, value
    return found


def _name(one: Any, part: Any) -> str:
    if isinstance(one, FunctionType):
        return one.__code__.co_freevars[part] if type(part) is int else str(part)
    return "an element of a dict" if isinstance(one, dict) else f"an attribute of a {type(one).__name__}"


def _lent() -> dict[int, Any]:
    """What stands for arrays of the program, by their identities."""
    context, found = current_context(), {}
    while context is not None:
        found.update({id(one.array): one.buffer for one in getattr(context.loan, "arrays", ())})
        context = context.outer
    return found


def _is_tracked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_tracked, value))
    if isinstance(value, dict):
        return any(map(_is_tracked, value.values()))
    return hasattr(value, "place") and not isinstance(value, (type, ModuleType))


def _settled(value: Any) -> Any:
    """The same with copies of what is tracked, which may be written in place."""
    if isinstance(value, (list, tuple)):
        return [_settled(one) for one in value]
    if isinstance(value, dict):
        return {key: _settled(one) for key, one in value.items()}
    return np.array(grounded(value)) if _is_tracked(value) else value


def _same(a: Any, b: Any) -> bool:
    """Whether two values are the same: objects are themselves, numbers and arrays are told by their bits."""
    if a is b:
        return True
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    kinds = (*_PLAIN, np.ndarray)
    if not isinstance(a, kinds) or not isinstance(b, kinds):
        return False
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()
