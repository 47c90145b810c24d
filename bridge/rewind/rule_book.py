"""The rule book: who has a rule for a function. It is read when the first context opens.

Its families, the files of `bridge.rules`, are found by looking what is there, and say themselves what they are about.
While a thread reads a family, others see nothing of it; one that finds no rule waits until the reading is over.
"""

from __future__ import annotations

import pkgutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import CodeType
from typing import Any

from bridge.rewind.rule import MutatingRule, Rule

RULES: dict[Any, Rule] = {}
MUTATING: dict[Any, MutatingRule] = {}
ZERO_PULL: set[Any] = set()
REFUSED: dict[Any, str] = {}
LOWERINGS: dict[Any, Callable[..., Any]] = {}
"""What computes a function in JAX, for functions that are not NumPy's."""
STAND_INS: dict[Any, Callable[..., Any]] = {}
"""What a program that is read calls in place of a function that NumPy's protocols do not reach."""
CALLING: set[Any] = set()
"""Stand-ins that call functions which they are given."""
OPERATORS: dict[type[Any], Callable[..., Any]] = {}
"""What computes the operators between tracked values and objects of a class."""
GIVING_WAY: set[CodeType] = set()
"""Operators of those classes: told that the other operand is no array, they leave the operation to it."""

ON_ENTRY: list[Callable[[], None]] = []
"""Called when something was entered: whoever remembers what he found in the book forgets it."""


class TrackedObject:
    """An object that holds tracked values and stands for one of a library's, made by the stand-in of its class.

    It counts as a tracked value where calls look for stand-ins.
    """


class Postponed(Exception):
    """A family is about a library that the program has not loaded; its name is the argument."""


_lock = threading.RLock()
_own = threading.local()
# Which families are not read, and the library that each waits for. Replaced, never changed; None: nothing is read.
_waiting: dict[str, str] | None = None


def find(function: Any) -> Rule | None:
    """The rule of a function; None if there is none."""
    found = RULES.get(function)
    if found is None and function not in ZERO_PULL:
        read_book()
        found = RULES.get(function)
    return found


def operators_of(x: Any) -> Callable[..., Any] | None:
    """What computes operators between tracked values and the object `x`; None if its class has nothing of the kind."""
    read_book()
    return next((OPERATORS[kind] for kind in type(x).__mro__ if kind in OPERATORS), None)


def read_book() -> None:
    """Read the families that were not read yet; those about another library only once the program has loaded it."""
    if _waiting is not None and not any(map(sys.modules.get, _waiting.values())):
        return
    with _lock:
        # A family that asks for a rule while it is read finds those of the families before it.
        if not is_reading():
            _read_families()


def enter(write: Callable[..., Any], *what: Any) -> None:
    """Write into a table of the book; what a family enters, once the family is read."""
    if is_reading():
        _own.page.append((write, what))
    else:
        write(*what)
        _tell()


def is_reading() -> bool:
    """Whether this thread reads a family."""
    return getattr(_own, "page", None) is not None


def _read_families() -> None:
    global _waiting
    unread = _waiting
    if unread is None:
        unread = {family.name: "bridge" for family in pkgutil.iter_modules(import_module("bridge.rules").__path__)}
    waiting = {}
    for name, library in unread.items():
        if sys.modules.get(library) is None:
            waiting[name] = library
            continue
        with _entered_at_once():
            try:
                import_module(f"bridge.rules.{name}")
            except Postponed as reason:
                waiting[name] = str(reason)
    _waiting = waiting


@contextmanager
def _entered_at_once() -> Iterator[None]:
    _own.page = []
    try:
        yield
    finally:
        # Also after an error: families that this one imports were read, and will not be read again.
        page, _own.page = _own.page, None
        for write, what in page:
            write(*what)
        _tell()


def _tell() -> None:
    for forget in ON_ENTRY:
        forget()
