"""One variable, attribute or element that a loop of the program carries, and how it carries it."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from bridge.rewind.interpreter import ARRAYS
from bridge.source.staging.maybe import Maybe
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import Place
from bridge.state.slots import GONE, Part
from bridge.trees import containers_of
from bridge.xla.loops.carried_values import (
    Constant,
    Counter,
    Memory,
    Unlike,
    equal,
    growth,
    is_integer,
    memory,
    state_type,
)
from bridge.xla.loops.phi import Phi
from bridge.xla.loops.trial_cache import PlanMismatch
from bridge.xla.loops.unset import Unset


class LoopVariable:
    """A place of the program's state, and how a loop carries it: as a constant, a counter or memory."""

    def __init__(self, place: Place, start: Any, is_read: bool) -> None:
        self.place = place
        self.start = ARRAYS.seen(start)
        self.is_read = is_read
        self.by: Constant = Constant(self.start)
        self.sample: Any = None
        self.choosing: list[Phi] = []
        self.numbers: list[tuple[Phi, Any]] = []
        self.followers_of: Any = None
        self.unset = Unset(place, self.start)
        self.is_always_set = True

    def tried(
        self, context: Any, then: Any, after: Any, growth: int | None, since: int, hands: Set[Any] = frozenset()
    ) -> bool:
        """Take what a turn for trial found and left; whether it is carried otherwise now."""
        if self.start is GONE and after is not GONE and isinstance(self.place, Part):
            self._begin_unset(context)
        self.is_always_set = self.is_always_set and type(after) is not Maybe
        after = self.unset.filled(after)
        start = self.start if self.is_read else GONE
        old = self.by
        if isinstance(old, Counter) and growth == old.step:
            return False
        if isinstance(old, Memory) and growth is not None and is_integer(start):
            self.by = Counter(start, growth)
            return True
        if isinstance(old, Memory):
            look = state_type(self.place, then, after, since, hands)
            if look is None:
                return False
            if look.structure != old.look.structure:
                raise NotOneLoop(f"what {self.place.name} holds changes from turn to turn")
            if not look.is_wider_than(old.look):
                return False
        look = state_type(self.place, start, after, since, hands)
        if look is not None:
            self.by = memory(context, look, start, after)
            self.sample = after
        return look is not None

    def _begin_unset(self, context: Any) -> None:
        """Let an attribute begin with what a read gives while it is unset; Unlike if that cannot be carried."""
        self.unset.meet([GONE])
        self.unset.note(context)
        self.start = self.unset.default
        if self.start is GONE and (self.unset.answers or not self.unset.is_maybe):
            raise Unlike(f"{self.place.name} is set first in a turn")

    def left(self, count: Any, may_be_empty: bool) -> Any:
        """What the place holds after `count` turns."""
        value = self.by.at(count)
        is_set = type(value) is Maybe and self.is_always_set and not may_be_empty
        return value.held if is_set else value

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
                raise PlanMismatch
            self.by = memory(context, look, start, self.sample)
        elif plan is not None:
            self.by = Counter(start, plan)

    def check(self, then: Any, after: Any, since: int) -> None:
        """Raise PlanMismatch if an iteration leaves a value that the plan does not carry."""
        if isinstance(self.by, Counter):
            fits = growth(then, after) == self.by.step
        elif isinstance(self.by, Memory):
            look = state_type(self.place, then, after, since)
            fits = look is None or (look.structure == self.by.look.structure and not look.is_wider_than(self.by.look))
        else:
            fits = after is GONE or equal(after, self.by.value)
        if not fits:
            raise PlanMismatch

    def meet(self, context: Any, code: Any, after: Any, since: int) -> bool:
        """Let its memory follow what a turn has left, of memory with numbers up to `since`; whether that is new."""
        if not isinstance(self.by, Memory) or after is GONE:
            return False
        if self.followers_of is not self.by:
            context.home.trace.following.drop(one.cell.place.root for one in self.choosing)
            self.followers_of = self.by
            self.choosing = [
                Phi(context, (code, self.place.name, number), cell, (), (), since)
                for number, (cell, kind) in enumerate(zip(self.by.cells, self.by.look.kinds, strict=True))
                if kind == "array"
            ]
            self._meet(self.start if self.is_read else GONE, since)
        return self._meet(self.unset.filled(after), since)

    def _meet(self, value: Any, since: int) -> bool:
        return any([one.meet(leaf, since) for one, leaf in self._bound_to(value)])

    def _bound_to(self, value: Any) -> list[tuple[Phi, Any]]:
        """What its memory is for a value of the place."""
        if value is GONE or not self.choosing:
            return []
        assert isinstance(self.by, Memory)
        leaves = [
            leaf for leaf, kind in zip(containers_of(value)[0], self.by.look.kinds, strict=True) if kind == "array"
        ]
        return list(zip(self.choosing, leaves, strict=True))

    def follow(self) -> None:
        """From now on, what its memory is known to be is followed; now it is what there was before the loop."""
        for one, leaf in self._bound_to(self.start if self.is_read else GONE):
            if one.is_new:
                one.take(one.number(leaf))
        for one in self.choosing:
            one.follow()

    def take(self, value: Any) -> None:
        """Get what a turn has left."""
        value = self.unset.filled(value)
        self.numbers = [(one, one.number(leaf)) for one, leaf in self._bound_to(value)]
        self.by.take(value)

    def settle(self) -> None:
        """Keep what was taken; called when all places have theirs."""
        for one, number in self.numbers:
            one.take(number)
        self.numbers = []
        self.by.settle()

    @property
    def followed(self) -> set[Any]:
        """The memory that its memory follows."""
        return {root for one in self.choosing for root in one.followed}

    @property
    def following(self) -> dict[Any, Phi]:
        """Its memory that follows other memory."""
        return {one.cell.place.root: one for one in self.choosing if one.which is not None}
