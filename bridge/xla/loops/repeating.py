"""Bodies that run in XLA loops and branches, at every level: as they are, with tangents, and with a log.

A differentiating context runs a body as a loop of the context outside it, whose body records, and logs the whole
as one entry. The backward pass is a loop again: put back what one iteration overwrote, run it again with its log,
and rewind that. Kept from the forward loop are only the slices that it overwrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.forward import ForwardContext
from bridge.rewind.log import Entry, Overwritten
from bridge.rewind.roots import Root, serial_now
from bridge.rewind.values import lowered_to
from bridge.xla.loops.dry_runs import Body, asked, inside, tried
from bridge.xla.loops.recorded import Recorded, Sweep
from bridge.xla.loops.replaying import Replayed, Step, placement_for
from bridge.xla.loops.shadows import Tangents, homes_of
from bridge.xla.tracing.integers import Bounds, bounds_of

Cells = Sequence[Any]


@dataclass(frozen=True)
class Turns:
    """How often a body runs: for each i from `lower` up to `upper`, or while `going()` holds.

    `limited` says whether `upper` is a number that somebody has given. `rows` is how many turns a log is to hold of a
    loop whose length nobody knows; one that makes more overwrites them, and must say so.
    """

    lower: Any
    upper: Any
    going: Callable[[], Any] | None = None
    limited: bool = True
    rows: int | None = None

    @property
    def bounds(self) -> Bounds:
        """Between which integers they lie, where that is known."""
        return bounds_of(self.lower, self.upper)


def repeat(context: Any, turns: Turns, body: Body, carried: Cells = ()) -> Any:
    """Run `body(i)` for each turn; returns where it ended.

    `carried` is memory of the outermost context of which it is known that the body writes it.
    """
    if not context.differentiates:
        going = turns.going and inside(context, turns.going)
        return context.repeat(turns.lower, turns.upper, inside(context, body), going, carried)
    going = turns.going
    if going is not None:
        turns = replace(turns, going=lambda: lowered_to(context.outer, asked(context, going)))
    if isinstance(context, ForwardContext):
        tangents = Tangents.reached(context, [body], carried, turns.bounds)
        return repeat(context.outer, turns, tangents.under(context, body), carried)
    return Loop(context, turns, body, carried).end


def is_logged(context: Any) -> bool:
    """Whether what a loop overwrites is kept, turn by turn."""
    while context.differentiates:
        if not isinstance(context, ForwardContext):
            return True
        context = context.outer
    return False


def choose(context: Any, predicate: Any, branches: Sequence[Callable[[], None]], carried: Cells = ()) -> None:
    """Run the first branch where the predicate holds, else the second."""
    if not context.differentiates:
        context.choose(predicate, [inside(context, branch) for branch in branches], carried)
        return
    bodies = [_without_index(branch) for branch in branches]
    predicate = lowered_to(context.outer, predicate)
    if isinstance(context, ForwardContext):
        tangents = Tangents.reached(context, bodies, carried)
        choose(context.outer, predicate, [partial(tangents.under(context, body), 0) for body in bodies], carried)
        return
    Choice(context, predicate, bodies, carried)


def _without_index(branch: Callable[[], None]) -> Body:
    return lambda i: branch()


class Structured(Entry):
    """The entry of a loop or a branch: its backward pass is one too, and undoes as it goes."""

    overwrites = True
    moves = False

    def __init__(self, context: Any, bodies: list[Body], bounds: Bounds = (None, None), carried: Cells = ()) -> None:
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
    def is_known(self) -> bool:
        """Whether all is known of its bodies that anybody asks: what a dry run does, the description has done.

        Without this, loops inside of each other would be run twice as often with each that is around them.
        """
        return self.context.home.trace.is_dry and not self.context.outer.differentiates

    def pass_over(self) -> None:
        """Leave what a dry run of its bodies leaves."""
        for one in self.recorded:
            one.fingerprint.close(one)
        self.context.home.trace.outline(self.cells)

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

    def begin_to_keep(self, wanted: int) -> float:
        """How many bytes it may keep, with the loops in its bodies, of those that it would like to."""
        self.scope = self.context.home.trace.allowances.scope
        self.number, allowed = self.scope.begin(wanted)
        return allowed

    def keeps(self, taken: int, allowed: float) -> None:
        """It keeps so much of what it is allowed; loops in its bodies get the rest."""
        self.scope.taken[self.number] = taken
        for one in self.recorded:
            one.allowed = max(0.0, allowed - taken)

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
        if self.context.once and not self.context.walking:
            self.scope.end(self.number)
        return None

    def undo(self) -> None:
        if self.rewound:
            self.rewound = False
            return
        self.undone = not self.undone
        self.exchange(self.undone)

    def exchange(self, back: bool) -> None:
        """Let memory hold what it held before, or, not `back`, after it."""
        self.sweep(lambda one, i, k: one.exchange(i, k, back), back)

    def sweep(self, step: Step, back: bool) -> None:
        """Run `step` for each iteration, from the last to the first if `back`."""
        raise NotImplementedError


class Loop(Structured):
    """A loop in the log: to make one is to run it; `end` is where it ended."""

    def __init__(self, context: Any, turns: Turns, body: Body, carried: Cells) -> None:
        low, high = turns.bounds
        self.lower = lower = lowered_to(context.outer, turns.lower)
        below = replace(turns, lower=lower, upper=lowered_to(context.outer, turns.upper))
        super().__init__(context, [body], (low, high), carried)
        self.rows = rows = turns.rows
        if rows is not None:
            low, high = 0, rows
        if low is None or high is None or not turns.limited:
            raise TraceError(
                "a gradient passes through a loop of which nobody knows how long it may be",
                where=resolve(self.position),
                remedy="give while_loop a limit, or fori_loop bounds that are plain integers",
            )
        (one,) = self.recorded
        length = max(0, high - low)
        chosen = placement_for(self, length)
        if chosen is not None and rows is not None:
            # Snapshots are placed for so many turns, and no more.
            below = replace(below, upper=lower + rows)
        self.replayed = None if chosen is None else Replayed(self, chosen, low, high)
        if self.replayed is not None:
            self.end = self.replayed.run(below, repeat)
        else:
            # Also a loop that makes no turn has its body traced.
            one.make_logs(max(1, length))
            if self.is_known:
                self.pass_over()
                self.end = context.home.trace.ended(below.upper, below.going, below.bounds)
            else:
                self.end = repeat(context.outer, below, lambda i: one.forward(i, self._row(i - lower)), self.cells)
        context.log.append(self)

    @property
    def name(self) -> str:
        return "loop"

    def take(self) -> Any:
        if self.replayed is not None and (self.context.walking or not self.context.once):
            self.replayed.keep_other()
        return super().take()

    def exchange(self, back: bool) -> None:
        if self.replayed is None:
            super().exchange(back)
        else:
            self.replayed.exchange()

    def sweep(self, step: Step, back: bool) -> None:
        if self.replayed is not None:
            self.replayed.sweep(step)
            return
        (one,) = self.recorded
        count = self.end - self.lower

        def iteration(j: Any) -> None:
            k = count - 1 - j if back else j
            step(one, self.lower + k, self._row(k))

        repeat(self.context.outer, Turns(0, count, rows=self.rows), iteration, self.cells)

    def _row(self, k: Any) -> Any:
        """Where turn `k` is kept in the log."""
        return k if self.rows is None else k % self.rows


class Choice(Structured):
    """A branch in the log, run when it is made: the one that ran goes back."""

    def __init__(self, context: Any, predicate: Any, bodies: list[Body], carried: Cells) -> None:
        super().__init__(context, bodies, carried=carried)
        self.predicate = predicate
        own = sum(one.bytes for one in self.recorded)
        self.keeps(own, self.begin_to_keep(own + max(one.wishes.most for one in self.recorded)))
        for one in self.recorded:
            one.make_logs(1)
        if self.is_known:
            self.pass_over()
        else:
            self.sweep(lambda one, i, k: one.forward(i, k), back=False)
        context.log.append(self)

    @property
    def name(self) -> str:
        return "cond"

    def sweep(self, step: Step, back: bool) -> None:
        choose(self.context.outer, self.predicate, [partial(step, one, 0, 0) for one in self.recorded], self.cells)
