"""What a part of a program leaves behind: variables, attributes, elements of containers, each with a name.

While a part runs for trial, what it changes of the program's objects is noted (`Watch`): that is state, too, which a
loop has to carry, unless the object was made in that part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from bridge.code_position import Position, here, resolve
from bridge.errors import AliasError
from bridge.state.slots import Part, Variable
from bridge.state.snapshot import Snapshot

Place = Variable | Part


def variables_of(function: Any, names: tuple[str, ...]) -> list[Place]:
    """The variables of these names, of a function that binds them."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    return [Variable(name, cells[name]) for name in names]


class Watch(Snapshot):
    """What one part of the program changes of objects that were there before it.

    Attributes
    ----------
    iterators : those that it can reach and did not make, by identity.
    """

    def __init__(self) -> None:
        super().__init__()
        self.refused: str | None = None
        self.iterators: dict[int, Any] = {}
        self.fresh: dict[int, Any] = {}

    def note(self, kind: type[Place], thing: Any, part: Any) -> None:
        """Before a slot of a thing changes: it is kept with what it holds."""
        if id(thing) not in self.fresh:
            slot = kind.of(thing, part)
            self.add(slot, slot.get())


class Watches:
    """The parts of a program that are being watched, each inside of the one before; of one loan."""

    def __init__(self) -> None:
        self.open: list[Watch] = []
        # Objects of which some may be one, with the line that has made them.
        self.ambiguous: dict[int, tuple[Any, Position]] = {}

    def note(self, kind: type[Place], thing: Any, part: Any) -> None:
        """Take note of a slot of a thing before it changes; AliasError if that may be a slot of another one, too."""
        if id(thing) in self.ambiguous:
            made_at = resolve(self.ambiguous[id(thing)][1])
            raise AliasError(
                f"an attribute of a {type(thing).__name__} is set, and it depends on values whether this is the object "
                f"that was there before or one that a loop or a branch has made ({made_at})",
                where=resolve(here()),
                remedy="make another object of its attributes before, and set those of that one",
            )
        for watch in self.open:
            watch.note(kind, thing, part)

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
        self._then = {id(kept): values for kept, values in self.held}

    @contextmanager
    def again(self) -> Iterator[None]:
        """Inside, they hold what they held."""
        with ExitStack() as stack:
            for kept in [kept for loan in self.loans for kept in loan.changed()]:
                now = kept.now()
                then = self._then.get(id(kept), {})
                wanted = {name: then.get(name, kept.before[name]) for name in now}
                differing = {
                    name: value for name, value in wanted.items() if not kept.slot(name).is_same(value, now[name])
                }
                if differing:
                    kept.restore(differing)
                    stack.callback(kept.restore, {name: now[name] for name in differing})
            yield
