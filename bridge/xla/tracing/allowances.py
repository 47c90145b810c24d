"""How much memory the loops of a program may take for what they keep: shares of the bound that the user gave.

A loop keeps a log from when it runs until it is walked back. So the loops of one part of a program that keep theirs at
the same time share what that part is allowed, and the loops in a body what the loop around them leaves. How much they
would like to have is known from a run before: of a body, one without effect; of the program, its first tracing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bridge.errors import MemoryBoundError


class Wishes:
    """What the loops of a part of a program would like to keep, in their order, and when each begins to and ends."""

    def __init__(self) -> None:
        self.wanted: list[int] = []
        self.events: list[tuple[int, bool]] = []

    def begin(self, wanted: int) -> int:
        """The number of a loop that begins to keep something."""
        self.wanted.append(wanted)
        self.events.append((len(self.wanted) - 1, True))
        return len(self.wanted) - 1

    def end(self, number: int) -> None:
        """A loop keeps nothing any more."""
        self.events.append((number, False))

    def together(self) -> Iterator[list[int]]:
        """The loops that keep something at the same time, whenever one begins to."""
        alive: list[int] = []
        for number, begins in self.events:
            if begins:
                alive.append(number)
                yield list(alive)
            else:
                alive.remove(number)

    @property
    def most(self) -> int:
        """What they would like to keep at most at a time."""
        return max((sum(self.wanted[k] for k in alive) for alive in self.together()), default=0)

    def share(self, number: int, allowed: float) -> float:
        """What a loop may keep, if all together are allowed so much."""
        found = float(self.wanted[number])
        for alive in self.together():
            if number in alive:
                found = min(found, shares([self.wanted[k] for k in alive], allowed)[alive.index(number)])
        return found


class Scope:
    """A part of a program: what it is allowed, what its loops would like and have taken.

    `plan` are their wishes in a run before; without it, who comes first is served first.
    """

    def __init__(self, allowed: float, plan: Wishes | None = None) -> None:
        self.allowed = allowed
        self.plan = plan
        self.wishes = Wishes()
        self.taken: dict[int, int] = {}
        self.refused: MemoryBoundError | None = None

    @property
    def left(self) -> float:
        return max(0.0, self.allowed - sum(self.taken.values()))

    def begin(self, wanted: int) -> tuple[int, float]:
        """The number of the next loop, which would like to keep `wanted` bytes, and how many it may."""
        number = self.wishes.begin(wanted)
        if self.plan is None or number >= len(self.plan.wanted) or math.isinf(self.allowed):
            return number, self.left
        return number, self.plan.share(number, self.allowed)

    def end(self, number: int) -> None:
        """A loop keeps nothing any more."""
        if self.taken.pop(number, None) is not None:
            self.wishes.end(number)


class Allowances:
    """The scopes that are open, the innermost last; and what is told of loops that are bounded."""

    def __init__(self, bound: int | None, plan: Wishes | None = None) -> None:
        self.whole = self.scope = Scope(math.inf if bound is None else bound, plan)
        self.told: dict[str, None] = {}

    @contextmanager
    def within(self, allowed: float, plan: Wishes | None = None) -> Iterator[Scope]:
        """A part of the program that is allowed so much."""
        before, self.scope = self.scope, Scope(allowed, plan)
        try:
            yield self.scope
        finally:
            self.scope = before

    def refuse(self, error: MemoryBoundError) -> None:
        """A loop does not fit: an error, unless it may fit once it is known what the loops after it want."""
        if self.scope is not self.whole or self.whole.plan is not None:
            raise error
        self.whole.refused = self.whole.refused or error

    def plan_for_another(self) -> Wishes | None:
        """What is to be known when the program is traced again, because its loops have not shared; None if they have.

        Raises
        ------
        MemoryBoundError : a loop does not fit, and there is nobody to share with.
        """
        whole = self.whole
        if whole.plan is None and len(whole.wishes.wanted) > 1 and whole.wishes.most > whole.allowed:
            return whole.wishes
        if whole.refused is not None:
            raise whole.refused
        return None


def shares(wishes: Sequence[int], allowed: float) -> list[Any]:
    """What is allowed, shared: those who want little get all of it, the others the same."""
    found: list[Any] = [0] * len(wishes)
    left = allowed
    order = sorted(range(len(wishes)), key=lambda k: wishes[k])
    for number, k in enumerate(order):
        found[k] = min(wishes[k], left / (len(order) - number))
        left -= found[k]
    return found
