"""Functions that are run again later: with the variables of enclosing functions as they were at the first run.

A Python function sees what its variables hold when it runs: a body that was made in the loop `for t in ...` sees
the last `t` when the backward pass runs it again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import CellType, FunctionType, MethodType
from typing import Any

from bridge.state.graph import Policy, Walk
from bridge.state.slots import Variable
from bridge.state.snapshot import Snapshot


class Closure:
    """A function that sees the variables of enclosing functions as they are now, whenever it runs.

    Variables of functions that it reaches through its variables count too. What it assigns to them itself stays
    assigned, unless somebody else has assigned in between.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.variables = Snapshot(_variables(function))
        functools.update_wrapper(self, function, updated=())
        self.__name__ = _name_of(function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with self.variables.restored():
            return self.function(*args, **kwargs)

    @property
    def cells(self) -> list[tuple[CellType, Any]]:
        """The variables, with what they held."""
        return [(slot.cell, before) for slot, before in self.variables.parts.values()]


def _name_of(function: Any) -> str:
    """The name of a function, also where some of its arguments are given, or it is one to a function of ours."""
    while isinstance(function, functools.partial):
        is_ours = function.func.__module__.partition(".")[0] == "bridge"
        function = function.args[0] if is_ours and function.args else function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _variables(function: Any) -> Iterator[Variable]:
    """The variables of enclosing functions that a function reads, or that functions read which it may call."""
    for _, found in Walk([function], _CALLED):
        for kind, closure, number, _ in found:
            if kind is Variable:
                yield Variable.of(closure, number)


def _calls_nothing(one: Any) -> bool:
    """Whether a thing is no function, nor holds functions that a body may call."""
    if isinstance(one, (list, tuple, dict)):
        return len(one) > _FEW
    return not isinstance(one, (FunctionType, MethodType, functools.partial))


_FEW = 64
"""Containers of more elements are data, not functions that a body calls."""

_CALLED = Policy(_calls_nothing)
