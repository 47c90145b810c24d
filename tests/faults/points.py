"""Where a differentiated call may fail: before and after every event, entry, swap and contribution of a cotangent."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bridge.rewind import strong_zeros
from bridge.rewind.checkpoint import Checkpoint
from bridge.rewind.context import Context
from bridge.rewind.log import Entry
from bridge.rewind.memory import ArrayMemory, OuterMemory
from bridge.rewind.places import Part
from bridge.rewind.roots import Root
from bridge.source import lending
from bridge.source.borrowing import Loan

EVENTS = ("result", "copied", "write", "update", "scatter_add", "mutated")
STEPS = ("take", "undo", "push", "forget_before")
LENT = ("lend", "keep", "touch")
SWEEPS = ("rewind", "play_forward")


class Failing(Exception):
    """What an engine, or anything else, raises."""


ERRORS: tuple[type[BaseException], ...] = (Failing, KeyboardInterrupt, MemoryError, OSError, SystemExit)


class Faults:
    """Counts the points that a call passes, and raises `error` at the one of number `at`, counted from one."""

    def __init__(self, at: int = 0, error: type[BaseException] = Failing) -> None:
        self.at, self.error = at, error
        self.passed = 0
        self.where = ""
        # The kind of each point that was passed, if somebody wants to know; how many sweeps are under way.
        self.kinds: list[str] | None = None
        self.sweeps = 0
        self.lent: list[tuple[lending.Lent, bytes]] = []

    def point(self, where: str) -> None:
        self.passed += 1
        if self.kinds is not None:
            self.kinds.append(f"{'backward' if self.sweeps else 'forward'}, {where}")
        if self.passed == self.at:
            self.where = where
            raise self.error(f"raised {where}, at point {self.at}")

    def hooked(self) -> Iterator[tuple[Any, str]]:
        """Each function that is a point, as its owner and its name."""
        return hooked()

    @contextmanager
    def injected(self) -> Iterator[Faults]:
        """Inside, calls pass the points."""
        put_back: list[Callable[[], None]] = []
        try:
            for owner, name in self.hooked():
                before = vars(owner)[name]
                setattr(owner, name, self._around(before, owner.__name__.rpartition(".")[2], name))
                put_back.append(functools.partial(setattr, owner, name, before))
            put_back.append(functools.partial(setattr, lending.Lent, "__init__", lending.Lent.__init__))
            lending.Lent.__init__ = self._noting(lending.Lent.__init__)  # type: ignore[method-assign]
            yield self
        finally:
            for each in put_back:
                each()

    def lost(self) -> list[tuple[int, ...]]:
        """Shapes of arrays that were lent and hold other bits now; what a program makes itself keeps what it wrote."""
        own = [lent.is_log or lent.loan._has_made(lent.array) for lent, _ in self.lent]
        pairs = zip(self.lent, own, strict=True)
        return [lent.array.shape for (lent, bits), is_own in pairs if not is_own and lent.array.tobytes() != bits]

    def by_thread(self, faults: threading.local) -> None:
        """Points are those of each thread's own `faults.own`, if it has any; inside of one `injected`."""

        def point(where: str) -> None:
            own = getattr(faults, "own", None)
            if own is not None:
                own.point(where)

        self.point = point  # type: ignore[method-assign]

    def _noting(self, made: Callable[..., None]) -> Any:
        """Notes what is lent, and the bits that it is to have again."""

        def noting(lent: Any, *args: Any) -> None:
            made(lent, *args)
            self.lent.append((lent, lent.before.tobytes()))

        return noting

    def _around(self, function: Callable[..., Any], owner: str, name: str) -> Callable[..., Any]:
        is_sweep = name in SWEEPS

        def hooked(*args: Any, **kwargs: Any) -> Any:
            # A method that many kinds of entries inherit is a point of each of them.
            kind = type(args[0]).__name__ if args and isinstance(args[0], (Entry, Part)) else owner
            self.point(f"before {kind}.{name}")
            self.sweeps += is_sweep
            try:
                result = function(*args, **kwargs)
            finally:
                self.sweeps -= is_sweep
            self.point(f"after {kind}.{name}")
            return result

        return hooked


def hooked() -> Iterator[tuple[Any, str]]:
    """Each function that is a point, as its owner and its name."""
    for kinds, names in (
        (Context, (*EVENTS, *SWEEPS)),
        (Entry, STEPS),
        (Root, ("accumulate",)),
        (Part, ("accumulate",)),
    ):
        for kind in _kinds(kinds):
            yield from ((kind, name) for name in names if name in vars(kind))
    for kind in (ArrayMemory, OuterMemory):
        yield kind, "swap"
    yield strong_zeros, "push_present"
    yield Checkpoint, "finish"
    yield from ((Loan, name) for name in LENT)
    yield lending, "bits_of"


def _kinds(kind: type) -> Iterator[type]:
    """A class and those below it, each once."""
    seen: dict[type, None] = {}
    waiting = [kind]
    while waiting:
        one = waiting.pop()
        seen[one] = None
        waiting += [below for below in one.__subclasses__() if below not in seen]
    yield from seen
