"""The rule book: who has a rule for a function. It is read when the first context opens.

Its families, the files of `bridge.rules`, are found by looking what is there, and say themselves what they are about.
Other packages' rules are read after them, as if the user had registered them (`bridge.rulebook.guests`).
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

from bridge.code_position import frames, here, resolve, warn
from bridge.errors import RuleError
from bridge.rewind.interpreter import ARRAYS
from bridge.rulebook import guests
from bridge.rulebook.rule import MutatingRule, Rule
from bridge.signatures import operation_name

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
HOLDERS: dict[type[Any], tuple[str, type[Any]]] = {}
"""The attribute of a library's objects that is memory, and the class that they are of while that is tracked."""
GIVING_WAY: set[CodeType] = set()
"""Operators of those classes: told that the other operand is no array, they leave the operation to it."""

ON_ENTRY: list[Callable[[], None]] = []
"""Called when something was entered: whoever remembers what he found in the book forgets it."""

OF_USERS: set[Any] = set()
"""Functions that somebody outside of this package has entered: what he says of them is what holds."""


class Postponed(Exception):
    """A family is about a library that the program has not loaded; its name is the argument."""


_DOORS = frozenset({__name__, "bridge.extend"})
_lock = threading.RLock()
_own = threading.local()
_edition = object()
# Modules that are not read, and the library that each waits for. Replaced, never changed; None: nothing is read.
_waiting: dict[str, str] | None = None
_waited_for: frozenset[str] = frozenset()


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


def holder_of(kind: type[Any]) -> tuple[str, type[Any]] | None:
    """The attribute of objects of a library's class that is memory, and their class while that is tracked."""
    found = HOLDERS.get(kind)
    if found is None and kind.__module__.startswith("scipy."):
        read_book()
        found = HOLDERS.get(kind)
    return found


def read_book() -> None:
    """Read the families that were not read yet; those about another library only once the program has loaded it."""
    if _waiting is not None and sys.modules.keys().isdisjoint(_waited_for):
        return
    with _lock:
        # A family that asks for a rule while it is read finds those of the families before it.
        if not is_reading() and guests.reads() is None:
            _read_families()


def enter(write: Callable[..., Any], *what: Any) -> None:
    """Write into a table of the book; what a family enters, once the family is read.

    What somebody else enters comes after the book, whenever he does so.
    """
    if is_reading():
        _own.page.append((write, what))
        return
    if guests.must_give_way(what[0]):
        return
    if _is_entered_by_a_user():
        _turn_over(what[0])
        _of_users.add((id(getattr(write, "__self__", None)), what[0]))
    write(*what)
    _tell()


def replaces(function: Any) -> bool:
    """Whether what is about to be entered is a user's, and the book has something else; he is told so once."""
    if is_reading() or not _is_entered_by_a_user() or guests.must_give_way(function):
        return False
    _turn_over(function)
    if function in ARRAYS.handled:
        raise RuleError(
            f"a rule of {operation_name(function)}: it makes or moves memory, which a context does by no rule",
            where=resolve(here()),
            remedy="give the rule to a function of your own that calls it",
        )
    if function not in _replaced and any(function in table for table in _EITHER):
        _replaced.add(function)
        guest = guests.distribution_of(guests.reads() or "")
        warn(
            f"what {f'{guest} says' if guest else 'you say'} of {operation_name(function)} replaces what the rule "
            "book says, from here on and under every engine\n  remedy: none is needed if that is meant; else say it of "
            "a function of your own"
        )
    return function in _replaced


def retract(function: Any, kept: Any) -> None:
    """After something was entered in the place of what the book has: only the table `kept` speaks of the function."""
    if guests.must_give_way(function):
        return
    for table in _EITHER:
        if table is not kept:
            table.discard(function) if isinstance(table, set) else table.pop(function, None)


def edition() -> object:
    """Another object whenever a user has entered something."""
    return _edition


def _turn_over(function: Any) -> None:
    """A user's entry comes after everything that the book has."""
    global _edition
    read_book()
    OF_USERS.add(function)
    _edition = object()


def _is_entered_by_a_user() -> bool:
    """Whether a module outside this package enters something by a door."""
    names = (str(one.f_globals.get("__name__", "")) for one in frames())
    return next(name for name in names if name not in _DOORS).partition(".")[0] != "bridge"


def is_reading() -> bool:
    """Whether this thread reads a family."""
    return getattr(_own, "page", None) is not None


def _read_families() -> None:
    global _waiting, _waited_for
    unread = _waiting
    if unread is None:
        families = pkgutil.iter_modules(import_module("bridge.rules").__path__, "bridge.rules.")
        unread = {family.name: "bridge" for family in families}
        unread |= {module: point.name for module, point in guests.offered().items()}
    waiting = {}
    # Guests come last: they may replace what the book says.
    for module, library in unread.items():
        if not guests.is_loaded(library) and library != "bridge":
            waiting[module] = library
        elif module in guests.offered():
            guests.read(module, frozenset(OF_USERS))
        else:
            with _entered_at_once():
                try:
                    import_module(module)
                except Postponed as reason:
                    waiting[module] = str(reason)
    _waiting, _waited_for = waiting, frozenset(waiting.values())


@contextmanager
def _entered_at_once() -> Iterator[None]:
    _own.page = []
    try:
        yield
    finally:
        # Also after an error: families that this one imports were read, and will not be read again.
        page, _own.page = _own.page, None
        for write, what in page:
            if (id(getattr(write, "__self__", None)), what[0]) not in _of_users:
                write(*what)
        _tell()


_EITHER: tuple[Any, ...] = (RULES, ZERO_PULL, REFUSED, STAND_INS)
"""Tables that say what becomes of a gradient, of which one speaks of a function."""
_replaced: set[Any] = set()
_of_users: set[tuple[int, Any]] = set()


def _tell() -> None:
    for forget in ON_ENTRY:
        forget()


ARRAYS.read_rules = read_book
