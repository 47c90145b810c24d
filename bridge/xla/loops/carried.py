"""What a loop of the program carries from turn to turn: one place of its state, and how."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from bridge.rewind.interpreter import ARRAYS
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import GONE, Place
from bridge.trees import containers_of
from bridge.xla.loops.carrying import Constant, Counter, Memory, equal, growth, is_integer, look_of, memory
from bridge.xla.loops.plans import Stale


class Carried:
    """A place of the program's state, and how a loop carries it."""

    def __init__(self, place: Place, start: Any, is_read: bool) -> None:
        self.place = place
        self.start = ARRAYS.seen(start)
        self.is_read = is_read
        self.by: Constant = Constant(self.start)
        self.sample: Any = None

    def tried(
        self, context: Any, then: Any, after: Any, growth: int | None, since: int, hands: Set[Any] = frozenset()
    ) -> bool:
        """Take what a turn for trial found and left; whether it is carried otherwise now."""
        start = self.start if self.is_read else GONE
        old = self.by
        if isinstance(old, Counter) and growth == old.step:
            return False
        if isinstance(old, Memory) and growth is not None and is_integer(start):
            self.by = Counter(start, growth)
            return True
        if isinstance(old, Memory):
            look = look_of(self.place, then, after, since, hands)
            if look is None:
                return False
            if look.structure != old.look.structure:
                raise NotOneLoop(f"what {self.place.name} holds changes from turn to turn")
            if not look.is_wider_than(old.look):
                return False
        look = look_of(self.place, start, after, since, hands)
        if look is not None:
            self.by = memory(context, look, start, after)
            self.sample = after
        return look is not None

    def plan(self) -> Any:
        """How it is carried, to be kept for the next time."""
        if isinstance(self.by, Memory):
            return self.by.look, self.sample
        return self.by.step if isinstance(self.by, Counter) else None

    def adopt(self, context: Any, plan: Any) -> None:
        """Let it be carried as it was the last time."""
        start = self.start if self.is_read else GONE
        if isinstance(plan, tuple):
            look, self.sample = plan
            if start is not GONE and containers_of(start)[1] != look.structure:
                raise Stale
            self.by = memory(context, look, start, self.sample)
        elif plan is not None:
            self.by = Counter(start, plan)

    def check(self, then: Any, after: Any, since: int) -> None:
        """Raise Stale if a turn leaves something that is not carried as planned."""
        if isinstance(self.by, Counter):
            fits = growth(then, after) == self.by.step
        elif isinstance(self.by, Memory):
            look = look_of(self.place, then, after, since)
            fits = look is None or (look.structure == self.by.look.structure and not look.is_wider_than(self.by.look))
        else:
            fits = after is GONE or equal(after, self.by.value)
        if not fits:
            raise Stale
