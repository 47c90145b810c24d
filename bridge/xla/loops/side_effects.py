"""Side effects of unread code, found by comparing what a part of a program can reach before and after a trial.

Statements of the program report what they change (`state.Watch`). A heap that `heapq` pops from, a `Counter`, an array
that a library fills are found by comparison. Containers and objects are state that a loop may carry. Of other things
only the contents can be restored, and a part that changes them is no loop. What an iterator has given cannot be
restored.
"""

from __future__ import annotations

import array
import collections
from collections.abc import Iterable, Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, is_internal, resolve
from bridge.errors import TraceError
from bridge.source.state import Watch
from bridge.state.graph import PLAIN, is_numbas, source_of_numbas
from bridge.state.slots import GONE, Attribute, Contents, state_of
from bridge.xla.moving import Moving

_CONTAINERS = (list, dict, set, collections.deque)
_BYTES = (bytearray, array.array)
_MOST_THINGS, _MOST_ELEMENTS, _MOST_BYTES = 1000, 1000, 1 << 16


class ReachableState:
    """What functions can reach by the names in their code, as it was when this was made."""

    def __init__(self, functions: Iterable[Any]) -> None:
        self._parts: list[tuple[Contents, Any]] = []
        self._contents: list[tuple[Any, Any]] = []
        self._objects: list[tuple[Any, dict[str, Any]]] = []
        self._moving: dict[int, Moving] = {}
        seen: set[int] = set()
        waiting = list(functions)
        while waiting and len(seen) < _MOST_THINGS:
            one = waiting.pop()
            if id(one) not in seen and type(one) not in PLAIN and not is_tracked(one):
                seen.add(id(one))
                waiting += self._looked_at(one)

    def _looked_at(self, one: Any) -> Iterable[Any]:
        """Keep what a thing holds; what is to be looked at next."""
        kind = type(one)
        if kind is FunctionType:
            return _reached(one)
        if is_numbas(kind):
            return (source_of_numbas(one),)
        if kind is MethodType:
            return one.__func__, one.__self__
        if kind is partial:
            return one.func, *one.args, *one.keywords.values()
        if issubclass(kind, tuple):
            return one[:_MOST_ELEMENTS]
        if issubclass(kind, _CONTAINERS):
            if len(one) > _MOST_ELEMENTS:
                return ()
            self._parts.append((Contents(one), Contents(one).get()))
            return list(dict.values(one)) if issubclass(kind, dict) else list(one)
        if issubclass(kind, (np.ndarray, *_BYTES)):
            self._keep_contents(one)
            return ()
        if hasattr(kind, "__next__") and type(kind.__next__) is not FunctionType and not issubclass(kind, type):
            self._moving[id(one)] = Moving(one)
        if issubclass(kind, (type, ModuleType, np.generic)) or _is_librarys(kind):
            return ()
        held = dict(state_of(one) or {})
        self._objects.append((one, held))
        return held.values()

    def _keep_contents(self, one: Any) -> None:
        if isinstance(one, np.ndarray):
            if one.flags.writeable and one.nbytes <= _MOST_BYTES and not one.dtype.hasobject:
                self._contents.append((one, one.copy()))
        elif len(one) <= _MOST_BYTES:
            self._contents.append((one, one[:]))

    @property
    def iterators(self) -> dict[int, Any]:
        """Iterators of Python's and of libraries, by identity."""
        return {key: one.thing for key, one in self._moving.items()}

    def moved(self, is_certain: bool = True) -> str | None:
        """What has given elements since, which it does not give again; or may have, for all that is seen."""
        moved = (one for one in self._moving.values() if one.has_moved() or not (is_certain or one.is_seen))
        return next((one.name for one in moved), None)

    def check_moved(self, error: BaseException | None = None) -> None:
        """Raise if an iterator has moved on in a part of the program that has to run again, or in one that failed."""
        name = self.moved(is_certain=error is None)
        if name is not None:
            raise TraceError(
                f"a part of the program cannot be run again, because it takes elements of {name}"
                + ("" if error is None else f": {str(error).partition(chr(10))[0]}"),
                where=resolve(here()),
                remedy='make a list of the elements before the loop or the branch, or use engine="native"',
            ) from error

    def note_changes(self, watch: Watch) -> None:
        """Let a watch know of what has changed since, with what it held; contents are put back."""
        for slot, before in self._parts:
            if not slot.is_same(before, slot.get()):
                watch.add(slot, before)
        for thing, held in self._objects:
            now = state_of(thing) or {}
            for name in [*held, *(name for name in now if name not in held)]:
                if now.get(name, GONE) is not held.get(name, GONE):
                    watch.add(Attribute(thing, name), held.get(name, GONE))
        for one, before in self._contents:
            if bytes(one) != bytes(before):
                one[... if isinstance(one, np.ndarray) else slice(None)] = before
                watch.refused = watch.refused or f"code that is not read changes a {type(one).__name__} in it"


def _reached(function: FunctionType) -> Iterator[Any]:
    """What a function of the program has: variables of enclosing functions, defaults, attributes, global variables."""
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # a variable without a value
            continue
    if is_internal(function.__code__.co_filename):
        return
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()
    yield from function.__dict__.values()
    names = function.__globals__
    yield from (names[name] for name in set(_names_in(function.__code__)) if name in names)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names_in(part)


def _is_librarys(kind: type) -> bool:
    return kind.__module__.partition(".")[0] in _LIBRARIES or not hasattr(kind, "__dict__")


_LIBRARIES = frozenset({"bridge", "builtins", "numpy", "scipy", "jax", "jaxlib", "logging", "threading", "rules"})
