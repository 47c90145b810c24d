"""Where the program has an array that is lent: there it gets what stands for the array, for code that is not read.

Looked through are the variables of the functions that run, their global and enclosing variables, and from there objects
of the program, lists, dictionaries and deques, some levels deep.
"""

from __future__ import annotations

import collections
from types import CellType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.source.keeping import Attributes, Contents, Kept, Names
from bridge.source.lending import whole_of

if TYPE_CHECKING:
    from bridge.source.borrowing import Loan
    from bridge.source.lending import Lent

_DEPTH = 4
_MOST = 256
"""A container of more elements is data; only its first ones are looked at."""

_OPAQUE = (type, ModuleType, FunctionType, MethodType, CellType, str, bytes, int, float, complex, np.generic)


class Exchange:
    """One array that is lent, and the things that were looked through for it.

    Attributes
    ----------
    is_of_outside : something has it that the function which runs, or the checkpointed one, has not made.
    """

    def __init__(self, loan: Loan, lent: Lent) -> None:
        self.loan = loan
        self.lent = lent
        self.is_of_outside = False
        self._seen: set[int] = set()

    def in_frame(self, frame: Any, is_outside: bool) -> None:
        """In what a function that runs has: its variables, those of functions around it, and those of its module."""
        for name, value in list(frame.f_locals.items()):
            if (is_outside or name in frame.f_code.co_freevars) and self._is_lent(value):
                self.is_of_outside = True
            self.inside(value, _DEPTH)
        names = frame.f_globals
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for name in {name for code in (frame.f_code,) for name in code.co_names}:
            value = names.get(name)
            if self._is_lent(value):
                self._put(Names, names, name, names, value)
            else:
                self.inside(value, _DEPTH)

    def inside(self, thing: Any, depth: int) -> None:
        """In an object or a container, and in what it has."""
        if (
            depth == 0
            or thing is None
            or issubclass(type(thing), _OPAQUE)
            or id(thing) in self._seen
            or is_tracked(thing)
        ):
            return
        self._seen.add(id(thing))
        if isinstance(thing, dict):
            self._in_items(thing, list(thing.items())[:_MOST], depth)
        elif isinstance(thing, (list, collections.deque)):
            self._in_items(thing, list(enumerate(thing))[:_MOST], depth)
        elif isinstance(thing, (tuple, set, frozenset)):
            for value in list(thing)[:_MOST]:
                self.inside(value, depth - 1)
        else:
            self._in_attributes(thing, depth)

    def _in_items(self, container: Any, items: list[tuple[Any, Any]], depth: int) -> None:
        for key, value in items:
            if self._is_lent(value):
                self._put(Contents, container, key, container, value)
            else:
                self.inside(value, depth - 1)

    def _in_attributes(self, thing: Any, depth: int) -> None:
        state = getattr(thing, "__dict__", None)
        if type(state) is not dict or type(thing).__module__.partition(".")[0] in ("bridge", "numpy", "scipy"):
            return
        for name, value in list(state.items()):
            if self._is_lent(value):
                self._put(Attributes, thing, name, state, value)
            else:
                self.inside(value, depth - 1)

    def _is_lent(self, value: Any) -> bool:
        return type(value) is np.ndarray and whole_of(value) is self.lent.array

    def _put(self, kind: type[Kept], thing: Any, name: Any, container: Any, value: Any) -> None:
        self.is_of_outside = True
        view = self.lent.shown(value)
        self.loan.keep(kind, thing, name, view)
        container[name] = view
