"""Entries of the log that are loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from bridge.errors import TraceError
from bridge.position import here, resolve
from bridge.rewind.log import Entry, Overwritten
from bridge.rewind.places import Root, serial_now
from bridge.rewind.values import lowered_to
from bridge.xla.loops.recorded import Recorded, Sweep, homes_of
from bridge.xla.tracing.integers import Bounds, bounds_of

Body = Callable[[Any], None]


class Structured(Entry):
    """A loop or a branch: its backward pass is one too, and undoes as it goes."""

    overwrites = True
    moves = False

    def __init__(
        self, context: Any, bodies: list[Body], bounds: Bounds = (None, None), carried: Sequence[Any] = ()
    ) -> None:
        self.position = here()
        self.context = context
        self.bounds = bounds
        self.cells = list(carried)
        since = serial_now()
        self.recorded = [Recorded(context, body, since) for body in bodies]
        self.activated: list[Root] = []
        self._find_active()
        self.roots = list(dict.fromkeys(root for one in self.recorded for root in one.roots if root.active))
        self.written_roots = list(dict.fromkeys(root for one in self.recorded for root in (*one.whole, *one.written)))
        self.out: tuple[Root, ...] = tuple(self.roots)
        self.rewound = False
        self.undone = False
        self.marks: dict[Root, Any] = {}

    def _find_active(self) -> None:
        """Which memory carries a gradient after an iteration it carries one before the next."""
        from bridge.xla.loops.repeating import tried

        while True:
            for one in self.recorded:
                written = tried(self.context, one.describe, self.bounds, self.cells)
                self.cells = list(dict.fromkeys([*self.cells, *written]))
            fresh = [root for one in self.recorded for root in one.woken if not root.active]
            if not fresh:
                for one in self.recorded:
                    one.settle_activity()
                return
            for root in dict.fromkeys(fresh):
                root.active = True
                self.activated.append(root)

    @property
    def activates(self) -> bool:  # type: ignore[override]
        return bool(self.activated)

    def woken(self) -> list[Root]:
        return self.activated

    def reads(self) -> Iterator[Any]:
        return iter(self.roots)

    def overwritten(self) -> Iterator[Overwritten]:
        """The memory that its bodies write, whole: what they overwrote of it is kept iteration by iteration."""
        for root in self.written_roots:
            yield Overwritten(root, root.held, Ellipsis, None)

    def take(self) -> Any:
        """Go back through it, if a cotangent has arrived; nothing is left for a pull then."""
        if any(root.shadow is not None for root in self.roots):
            context = self.context
            homes, marks = homes_of(self.roots), None
            if context.walking:
                self.marks = {root: np.copy(home) for root, home in homes.items()}
            elif context.mending:
                marks = self.marks
            sweep = Sweep(homes, marks, context.walking, context.once)
            self.sweep(lambda one, i, k: one.backward(i, k, sweep), back=True)
            self.rewound = self.undone = True
        return None

    def undo(self) -> None:
        if self.rewound:
            self.rewound = False
            return
        back, self.undone = not self.undone, not self.undone
        self.sweep(lambda one, i, k: one.exchange(i, k, back), back)

    def sweep(self, step: Callable[[Recorded, Any, Any], None], back: bool) -> None:
        """Run `step` for each iteration, from the last to the first if `back`."""
        raise NotImplementedError


class Loop(Structured):
    """A loop in the log."""

    @property
    def name(self) -> str:
        return "loop"

    @classmethod
    def recorded_loop(
        cls, context: Any, lower: Any, upper: Any, body: Body, going: Any, limited: bool, carried: Sequence[Any]
    ) -> Any:
        """Run a loop under the log of `context`; returns where it ended."""
        from bridge.xla.loops.repeating import repeat

        low, high = bounds_of(lower, upper)
        lower, upper = lowered_to(context.outer, lower), lowered_to(context.outer, upper)
        made = cls(context, [body], (low, high), carried)
        if low is None or high is None or not limited:
            raise TraceError(
                "a gradient passes through a loop of which nobody knows how long it may be",
                where=resolve(made.position),
                remedy="give while_loop a limit, or fori_loop bounds that are plain integers",
            )
        (one,) = made.recorded
        one.make_logs(max(0, high - low))
        made.lower = lower
        made.upper = repeat(context.outer, lower, upper, lambda i: one.forward(i, i - lower), going, carried=made.cells)
        context.log.append(made)
        return made.upper

    lower: Any
    upper: Any

    def sweep(self, step: Callable[[Recorded, Any, Any], None], back: bool) -> None:
        from bridge.xla.loops.repeating import repeat

        (one,) = self.recorded
        count = self.upper - self.lower

        def iteration(j: Any) -> None:
            k = count - 1 - j if back else j
            step(one, self.lower + k, k)

        repeat(self.context.outer, 0, count, iteration, carried=self.cells)


class Choice(Structured):
    """A branch in the log: the one that ran goes back."""

    predicate: Any

    @property
    def name(self) -> str:
        return "cond"

    @classmethod
    def recorded_choice(cls, context: Any, predicate: Any, bodies: list[Body], carried: Sequence[Any]) -> None:
        """Run one of two bodies under the log of `context`."""
        made = cls(context, bodies, carried=carried)
        made.predicate = predicate
        for one in made.recorded:
            one.make_logs(1)
        made.sweep(lambda one, i, k: one.forward(i, k), back=False)
        context.log.append(made)

    def sweep(self, step: Callable[[Recorded, Any, Any], None], back: bool) -> None:
        from bridge.xla.loops.repeating import choose

        choose(self.context.outer, self.predicate, [partial(step, one, 0, 0) for one in self.recorded], self.cells)
