"""The function that runs in the place of one of the program's: its rewritten code, and all else its own."""

from __future__ import annotations

import sys
import weakref
from types import CodeType, FunctionType

from bridge.rewind.interpreter import current_context
from bridge.source.reading import twin
from bridge.state.slots import Variable


class _Twin:
    """The twin of a function without variables of enclosing functions: the same one until the function changes.

    `looped` is the twin with hooks in its loops, if it was needed.
    """

    __slots__ = ("code", "defaults", "function", "keywords", "looped")

    def __init__(self, function: FunctionType, code: CodeType) -> None:
        self.function = twin(function, code)
        self.looped: FunctionType | None = None
        self.code = function.__code__
        self.defaults = function.__defaults__
        self.keywords = function.__kwdefaults__

    def stands_for(self, function: FunctionType) -> bool:
        """Whether the function is what it was."""
        same = self.code is function.__code__ and self.defaults is function.__defaults__
        return same and self.keywords is function.__kwdefaults__ and not function.__dict__


twins: dict[int, _Twin] = {}
"""The twins of functions of modules, by the identity of the function.

A twin has the names of its function, and so the function itself: with it, it would never end. Modules stay, and what
else has the names of functions (`exec`, an interpreter's session that is over) goes, with all that is in it.
"""


def twin_of(function: FunctionType, code: CodeType, rebinds: tuple[int, ...]) -> FunctionType:
    """The twin of a function that is read; that of a module's, without variables around it, is made once."""
    if function.__closure__ is None and _is_of_a_module(function):
        number = id(function)
        if number not in twins:
            weakref.finalize(function, twins.pop, number, None).atexit = False
        made = twins[number] = _Twin(function, code)
        return made.function
    if rebinds:
        context = current_context()
        if context is not None and context.loan is not None:
            for number in rebinds:
                context.loan.keep(Variable, function.__closure__, number, None)
    return twin(function, code)


def _is_of_a_module(function: FunctionType) -> bool:
    """Whether the names that a function knows are those of a module which is loaded."""
    names = function.__globals__
    name = names.get("__name__")
    return type(name) is str and getattr(sys.modules.get(name), "__dict__", None) is names


def note_rebound(function: FunctionType, rebinds: tuple[int, ...]) -> None:
    """Before a function that was made in the call, and is read, gives other values to variables around it."""
    context = current_context()
    if context is not None and context.loan is not None:
        for number in rebinds if context.loan.watches.open else ():
            context.loan.watches.note(Variable, function.__closure__, number)
