"""Bodies that run in XLA loops and branches, at every level: as they are, with tangents, and with a log.

A differentiating context runs a body as a loop of the context outside it, whose body records, and logs the whole
as one entry. The backward pass is a loop again: put back what one iteration overwrote, run it again with its log,
and rewind that. Kept from the forward loop are only the slices that it overwrote.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bridge.arrays.buffer import own_number
from bridge.code_position import resolve
from bridge.errors import TraceError
from bridge.rewind.forward import ForwardContext
from bridge.rewind.values import lowered_to
from bridge.xla.loops.dry_runs import Body, asked, inside
from bridge.xla.loops.expected import Reached
from bridge.xla.loops.replaying import Replayed, placement_for
from bridge.xla.loops.shadows import Tangents
from bridge.xla.loops.structured import Cells, Step, Structured, Turns


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


def choose(
    context: Any,
    predicate: Any,
    branches: Sequence[Callable[[], None]],
    carried: Cells = (),
    reached: Reached | None = None,
) -> None:
    """Run the first branch where the predicate holds, else the second."""
    if not context.differentiates:
        context.choose(predicate, [inside(context, branch) for branch in branches], carried)
        return
    bodies = [_without_index(branch) for branch in branches]
    predicate = lowered_to(context.outer, predicate)
    if isinstance(context, ForwardContext):
        tangents = Tangents.reached(context, bodies, carried)
        sides = [partial(tangents.under(context, body), 0) for body in bodies]
        choose(context.outer, predicate, sides, carried, reached)
        return
    Choice(context, predicate, bodies, carried, reached)


def _without_index(branch: Callable[[], None]) -> Body:
    return lambda i: branch()


class Loop(Structured):
    """A loop in the log: to make one is to run it; `end` is where it ended."""

    def __init__(self, context: Any, turns: Turns, body: Body, carried: Cells) -> None:
        low, high = turns.bounds
        # The index is one of Python's numbers on the way there, and has to be one on the way back.
        self.lower = lower = own_number(lowered_to(context.outer, turns.lower))
        below = replace(turns, lower=lower, upper=own_number(lowered_to(context.outer, turns.upper)))
        super().__init__(context, [body], turns.bounds, carried, turns.reached)
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
            self.cells += one.integers
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

    def __init__(
        self, context: Any, predicate: Any, bodies: list[Body], carried: Cells, reached: Reached | None
    ) -> None:
        super().__init__(context, bodies, carried=carried, reached=reached)
        self.predicate = predicate
        own = sum(one.bytes for one in self.recorded)
        self.keeps(own, self.begin_to_keep(own + max(one.wishes.most for one in self.recorded)))
        for one in self.recorded:
            one.make_logs(1)
            self.cells += one.integers
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
