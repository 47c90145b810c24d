"""What a function leaves in the program when it is called: variables around it, globals, elements, attributes, arrays.

A solver calls the program's function as often as it likes. What counts the calls, or fills a plain history, is as the
solver's own calls have left it. What carries a gradient can only be what one call leaves, whichever call it is.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.code_position import is_internal
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import grounded

_MOST = 256
"""How many functions, containers and objects are looked through."""
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic)


class LeftBehind:
    """What is found where a function may leave something, as it is now."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.found = {place: (value, _settled(value)) for place, value in _places(function)}

    def put_back_plain(self) -> None:
        """Plain values as they were."""
        for place, now in _places(self.function):
            before, settled = self.found.get(place, (now, now))
            if not _is_tracked(now) and not _is_tracked(before) and not _same(settled, now):
                place.set(before)

    def differing(self) -> str | None:
        """The name of something that carries a gradient and is another value now."""
        for place, now in _places(self.function):
            before, settled = self.found.get(place, (now, now))
            if (_is_tracked(now) or _is_tracked(before)) and not _same(settled, _settled(now)):
                return place.name
        return None


class _Place:
    """A variable, an attribute, an element of a dict, or the contents of a list or an array."""

    def __init__(self, kind: str, thing: Any, name: str, key: Any = None) -> None:
        self.kind, self.thing, self.name, self.key = kind, thing, name, key

    def __hash__(self) -> int:
        return hash((id(self.thing), self.key))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Place) and self.thing is other.thing and self.key == other.key

    def set(self, value: Any) -> None:
        if self.kind == "cell":
            self.thing.cell_contents = value
        elif self.kind == "item":
            self.thing[self.key] = value
        else:
            self.thing[... if self.kind == "array" else slice(None)] = value


def _items(thing: dict[Any, Any], name: str) -> Iterator[tuple[_Place, Any]]:
    for key, value in list(thing.items())[:_MOST]:
        yield _Place("item", thing, name, key), value


def _places(function: Callable[..., Any]) -> Iterator[tuple[_Place, Any]]:
    """Each place that a function reaches, and what is there: of containers and arrays a copy."""
    waiting: list[Any] = [function]
    seen: set[int] = set()
    lent = _lent()
    while waiting and len(seen) < _MOST:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, (*_PLAIN, type, types.ModuleType)) or hasattr(one, "place"):
            continue
        seen.add(id(one))
        if isinstance(one, types.FunctionType):
            for name, cell in zip(one.__code__.co_freevars, one.__closure__ or (), strict=True):
                if cell != types.CellType():
                    yield _Place("cell", cell, name), cell.cell_contents
                    waiting.append(cell.cell_contents)
            for name in () if is_internal(one.__code__.co_filename) else one.__code__.co_names:
                value = one.__globals__.get(name)
                if value is not None and not callable(value):
                    yield _Place("item", one.__globals__, name, name), value
                    waiting.append(value)
        elif isinstance(one, types.MethodType):
            waiting += [one.__func__, one.__self__]
        elif type(one) is list:
            yield _Place("list", one, "an element of a list"), list(one)
            waiting += one[:_MOST]
        elif isinstance(one, dict):
            yield from _items(one, "an element of a dict")
            waiting += list(one.values())[:_MOST]
        elif type(one) is np.ndarray:
            if id(one) in lent:
                yield _Place("array", one, "an element of an array"), lent[id(one)]
            elif one.flags.writeable and not one.dtype.hasobject:
                yield _Place("array", one, "an element of an array"), one.copy()
        elif type(one).__module__.partition(".")[0] not in ("bridge", "numpy", "scipy", "builtins"):
            state = getattr(one, "__dict__", None)
            if type(state) is dict:
                yield from _items(state, f"an attribute of a {type(one).__name__}")
                waiting += list(state.values())[:_MOST]


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
    return hasattr(value, "place") and not isinstance(value, (type, types.ModuleType))


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
