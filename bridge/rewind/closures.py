"""Functions that are run again later: with the variables of enclosing functions as they were at the first run.

A Python function sees what its variables hold when it runs: a body that was made in the loop `for t in ...` sees
the last `t` when the backward pass runs it again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType, MethodType
from typing import Any


class Closure:
    """A function that sees the variables of enclosing functions as they are now, whenever it runs.

    Variables of functions that it reaches through its variables count too. What it assigns to them itself stays
    assigned, unless somebody else has assigned in between.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.cells = [(cell, cell.cell_contents) for cell in _cells(function)]
        functools.update_wrapper(self, function, updated=())
        self.__name__ = _name_of(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.restored():
            return self.function(*args, **kwargs)

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Inside, the variables are as they were."""
        changed = []
        for cell, then in self.cells:
            now = _contents(cell)
            if now is not then:
                changed.append((cell, now))
                cell.cell_contents = then
        try:
            yield
        finally:
            for cell, now in changed:
                if now is _EMPTY:
                    del cell.cell_contents
                else:
                    cell.cell_contents = now


def _name_of(function: Any) -> str:
    """The name of a function, also where some of its arguments are given, or it is one to a function of ours."""
    while isinstance(function, functools.partial):
        is_ours = function.func.__module__.partition(".")[0] == "bridge"
        function = function.args[0] if is_ours and function.args else function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _cells(function: Any) -> Iterator[CellType]:
    """The variables of enclosing functions that a function reads, or that functions read which it may call."""
    waiting, seen = [function], set()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        if isinstance(one, functools.partial):
            waiting += [one.func, *one.args, *one.keywords.values()]
        elif isinstance(one, MethodType):
            waiting += [one.__func__, one.__self__]
        elif isinstance(one, FunctionType):
            waiting.append(getattr(one, "__wrapped__", None))
            for cell in one.__closure__ or ():
                if id(cell) not in seen and _contents(cell) is not _EMPTY:
                    seen.add(id(cell))
                    yield cell
                    waiting.append(cell.cell_contents)
        elif isinstance(one, (list, tuple)) and len(one) <= _FEW:
            waiting += one
        elif isinstance(one, dict) and len(one) <= _FEW:
            waiting += one.values()


_FEW = 64
"""Containers of more elements are data, not functions that a body calls."""


_EMPTY = object()


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _EMPTY
