"""What a part of a program leaves behind: variables, attributes, elements of containers, each with a name.

While a part runs for trial, what it changes of the program's objects is noted (`Watch`): that is state, too, which a
loop has to carry, unless the object was made in that part.
"""

from __future__ import annotations

import builtins
import gc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import CellType, FunctionType, ModuleType
from typing import Any

from bridge.code_position import variable_of
from bridge.source.keeping import GONE, Attributes, Cells, Contents, Kept, Names, is_member

ANSWERED = object()
"""In the place of what a read gives that code of the class answers."""

_PLAIN_READS: tuple[Any, ...] = (object.__getattribute__, type.__getattribute__, ModuleType.__getattribute__)


class Variable:
    """A variable of a function, by its cell."""

    def __init__(self, name: str, cell: CellType) -> None:
        self.name = name
        self.cell = cell

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from others."""
        return (id(self.cell),)

    @property
    def bound_name(self) -> str:
        """Its name alone, which messages of Python's have."""
        if " " not in self.name:
            return self.name
        # A cell has no name: the functions that have it do.
        closures = [one for one in gc.get_referrers(self.cell) if type(one) is tuple]
        functions = [one for one in gc.get_referrers(*closures) if type(one) is FunctionType]
        pairs = (zip(one.__code__.co_freevars, one.__closure__ or (), strict=False) for one in functions)
        return next((name for names in pairs for name, cell in names if cell is self.cell), self.name)

    def get(self) -> Any:
        """What it holds; GONE if it has no value."""
        try:
            return self.cell.cell_contents
        except ValueError:
            return GONE

    def set(self, value: Any) -> None:
        """Give it a value; GONE takes it away."""
        if value is not GONE:
            self.cell.cell_contents = value
        elif self.get() is not GONE:
            del self.cell.cell_contents


class Part:
    """An attribute of an object, the contents of a container, a global variable."""

    def __init__(self, things: type[Kept], thing: Any, name: Any) -> None:
        self.kept = things(thing)
        self.part = name

    @property
    def name(self) -> str:
        """What it is called: by the name of its class, or as what the running code calls it."""
        kind = type(self.kept.thing).__name__
        if type(self.kept) is Attributes:
            return f"{kind}.{self.part}"
        return str(self.part or kind if (name := variable_of(self.kept.thing)) is None else f"{kind} {name!r}")

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from others."""
        return id(self.kept.thing), self.part

    def get(self) -> Any:
        """What it holds; GONE if it is not there."""
        return self.kept.part(self.part)

    def set(self, value: Any) -> None:
        """Let it hold something else."""
        self.kept.restore({self.part: value})

    @property
    def bound_name(self) -> str:
        """The name of the part alone."""
        return str(self.part)

    @property
    def is_name(self) -> bool:
        """Whether it is a global variable."""
        return type(self.kept) is Names

    def absent(self) -> Any:
        """What a read gives while it is not there: an attribute of the class, a builtin.

        GONE if the read raises, ANSWERED if code of the class answers it.
        """
        if self.is_name:
            return getattr(builtins, self.part, GONE)
        thing, kind = self.kept.thing, type(self.kept.thing)
        classes = [*(thing.__mro__ if isinstance(thing, type) else ()), *kind.__mro__]
        found = next((vars(one)[self.part] for one in classes if self.part in vars(one)), GONE)
        if found is GONE or is_member(found):
            return ANSWERED if hasattr(kind, "__getattr__") else GONE
        reads: Any = kind.__getattribute__
        is_plain = reads in _PLAIN_READS and not hasattr(type(found), "__get__")
        return found if is_plain else ANSWERED


class Value:
    """The place of the value of an expression."""

    name = "the value"

    def __init__(self, held: list[Any]) -> None:
        self.held = held
        self.key = (id(held),)

    def get(self) -> Any:
        return self.held[0]

    def set(self, value: Any) -> None:
        self.held[0] = value


Place = Variable | Part


def variables_of(function: Any, names: tuple[str, ...]) -> list[Place]:
    """The variables of these names, of a function that binds them."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return [Variable(name, cells[name]) for name in names]


class Watch:
    """What one part of the program changes of objects that were there before it.

    Attributes
    ----------
    iterators : those that it can reach and did not make, by identity.
    """

    def __init__(self) -> None:
        self.refused: str | None = None
        self.iterators: dict[int, Any] = {}
        self.parts: dict[tuple[Any, ...], tuple[Place, Any]] = {}
        self.fresh: dict[int, Any] = {}

    def note(self, things: type[Kept], thing: Any, name: Any) -> None:
        """Before a part of a thing changes: it is kept with what it holds."""
        if id(thing) in self.fresh:
            return
        part: Place
        if things is Cells:
            part = Variable(f"a variable of an enclosing function, {name}", thing[name])
        else:
            part = Part(things, thing, None if issubclass(things, Contents) else name)
        self.add(part, part.get())

    def add(self, part: Place, before: Any) -> None:
        """Keep a part that changes, with what it held before."""
        self.parts.setdefault(part.key, (part, before))

    def put_back(self) -> None:
        """Let everything hold what it held."""
        for part, before in self.parts.values():
            part.set(before)


class Watches:
    """The parts of a program that are being watched, each inside of the one before; of one loan."""

    def __init__(self) -> None:
        self.open: list[Watch] = []

    def note(self, things: type[Kept], thing: Any, name: Any) -> None:
        for watch in self.open:
            watch.note(things, thing, name)

    def refuse(self, reason: str) -> None:
        """Take note of something that cannot be in a loop or a branch of the compiled program."""
        for watch in self.open:
            watch.refused = watch.refused or reason

    def made(self, thing: Any) -> None:
        """Take note of an object that was made just now."""
        for watch in self.open:
            watch.fresh[id(thing)] = thing

    @contextmanager
    def without_changes(self, what: str) -> Iterator[None]:
        """Inside, nothing that was there before may change, if anybody watches; `what` would change it."""
        if not self.open:
            yield
            return
        inner = Watch()
        with self.watching(inner):
            yield
        if inner.parts:
            name = next(iter(inner.parts.values()))[0].name
            self.refuse(f"{what} changes {name}")

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        """Inside, note what changes."""
        self.open.append(watch)
        try:
            yield
        finally:
            self.open.remove(watch)


class Moment:
    """What the objects that a program changes held at one moment, for parts of it that run again later."""

    def __init__(self, context: Any) -> None:
        self.loans: list[Any] = []
        while context is not None:
            if context.loan is not None:
                self.loans.append(context.loan)
            context = context.outer
        self.held = [(kept, kept.now()) for loan in self.loans for kept in loan.kept.values()]
        self._then = {id(kept): parts for kept, parts in self.held}

    @contextmanager
    def again(self) -> Iterator[None]:
        """Inside, they hold what they held."""
        with ExitStack() as stack:
            for kept in [kept for loan in self.loans for kept in loan.changed()]:
                now = kept.now()
                then = self._then.get(id(kept), {})
                wanted = {name: then.get(name, kept.before[name]) for name in now}
                differing = {name: value for name, value in wanted.items() if not _is(value, now[name])}
                if differing:
                    kept.restore(differing)
                    stack.callback(kept.restore, {name: now[name] for name in differing})
            yield


def _is(a: Any, b: Any) -> bool:
    """Whether two parts are the same; of containers, whether they hold the same."""
    if a is b:
        return True
    # The contents of a list, or pairs of keys and values.
    return type(a) is type(b) and type(a) in (list, tuple) and len(a) == len(b) and all(map(_is, a, b))
