"""Loops and branches at every level of contexts: plain XLA loops, loops with tangents, and loops with a log.

A differentiating context runs a body as a loop of the context outside, with a body that logs, and has the whole loop as
one entry in its log. The backward pass is a loop again: restore what one iteration overwrote, run it again with its
log, and rewind that log. Only the slices that the forward loop overwrote are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from bridge.arrays.buffer import own_number
from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.forward import ForwardContext
from bridge.rewind.operands import Fixed, Listed
from bridge.rewind.roots import ground_of
from bridge.rewind.tape import Recorder, recorder_of
from bridge.rewind.values import lowered_to
from bridge.xla.loops.dry_runs import Body, asked, inside, unrecorded
from bridge.xla.loops.recompute import Recomputed, placement_for
from bridge.xla.loops.shadows import Tangents
from bridge.xla.loops.structured import Cells, Step, Structured, Turns
from bridge.xla.loops.taped import Taped, body_operand


def repeat(context: Any, turns: Turns, body: Body, carried: Cells = ()) -> Any:
    """Run `body(i)` for each turn; returns where it ended.

    `carried` is memory of the outermost context of which it is known that the body writes it.
    """
    recorder = recorder_of(context)
    if recorder is not None and context.level < recorder.level:
        recorder.fail("a loop of a context outside")
    if not context.differentiates:
        going = turns.going and inside(context, turns.going)
        return context.repeat(turns.lower, turns.upper, inside(context, body), going, carried)
    taped = Taped.of(context, body)
    asks = None if turns.going is None else Taped.of(context, turns.going, takes_index=False)
    written = taped.settle(turns.bounds, carried)
    if asks is not None:
        asks.settle(turns.bounds, written)
    if recorder is None:
        return _repeat(context, turns, taped, asks, carried)
    position = here()
    bounds = recorder.operand(turns.lower), recorder.operand(turns.upper)
    with unrecorded(context.home.trace, recorder.before):
        end = _repeat(context, turns, taped, asks, carried)
    bodies = body_operand(recorder, taped), Fixed(None) if asks is None else body_operand(recorder, asks)
    rest = Fixed(turns.rows), _cells(recorder, carried)
    recorder.add(_repeat_again, (Fixed(context), *bounds, *bodies, *rest), end, position)
    return end


def _repeat_again(context: Any, lower: Any, upper: Any, body: Taped, going: Any, rows: Any, carried: Any) -> Any:
    """A loop of a tape."""
    turns = Turns(lower, upper, going, rows)
    return repeat(context, turns, body, list(map(as_cell, carried)))


def _cells(recorder: Recorder, carried: Cells) -> Listed:
    """Memory that a body is known to write, as far as a replay finds it again."""
    found = map(recorder.cell, carried)
    return Listed(list, tuple([one for one in found if one is not None]))


def as_cell(found: Any) -> Any:
    """Memory of the outermost context, given that or what is made of it."""
    return ground_of(found.place.root) if hasattr(found, "place") else found


def _repeat(context: Any, turns: Turns, body: Taped, asks: Taped | None, carried: Cells) -> Any:
    if asks is not None:
        turns = replace(turns, going=lambda: lowered_to(context.outer, asked(context, asks)))
    if isinstance(context, ForwardContext):
        tangents = Tangents.reached(context, [body], carried, turns.bounds)
        if context.home.trace.is_told(context):
            tangents.pass_over(context)
            return context.home.trace.ended(turns.upper, turns.going, turns.bounds)
        return repeat(context.outer, turns, tangents.under(context, body), carried)
    return LoopEntry(context, turns, body, carried).end


def choose(context: Any, predicate: Any, branches: Sequence[Callable[[], None]], carried: Cells = ()) -> None:
    """Run the first branch where the predicate holds, else the second."""
    recorder = recorder_of(context)
    if recorder is not None and context.level < recorder.level:
        recorder.fail("a branch of a context outside")
    if not context.differentiates:
        context.choose(predicate, [inside(context, branch) for branch in branches], carried)
        return
    taped = [Taped.of(context, branch, takes_index=False) for branch in branches]
    for one in taped:
        one.settle(carried=carried)
    if recorder is None:
        _choose(context, predicate, taped, carried)
        return
    position, operand = here(), recorder.operand(predicate)
    with unrecorded(context.home.trace, recorder.before):
        _choose(context, predicate, taped, carried)
    bodies = Listed(list, tuple([body_operand(recorder, one) for one in taped]))
    recorder.add(_choose_again, (Fixed(context), operand, bodies, _cells(recorder, carried)), None, position)


def _choose_again(context: Any, predicate: Any, branches: Any, carried: Any) -> None:
    """A branch of a tape."""
    choose(context, predicate, branches, list(map(as_cell, carried)))


def _choose(context: Any, predicate: Any, bodies: Sequence[Taped], carried: Cells) -> None:
    predicate = lowered_to(context.outer, predicate)
    if isinstance(context, ForwardContext):
        tangents = Tangents.reached(context, bodies, carried)
        if context.home.trace.is_told(context):
            tangents.pass_over(context)
            return
        choose(context.outer, predicate, [partial(tangents.under(context, one), 0) for one in bodies], carried)
        return
    BranchEntry(context, predicate, bodies, carried)


class LoopEntry(Structured):
    """A loop in the log. The constructor runs it; `end` is the number after the last iteration."""

    def __init__(self, context: Any, turns: Turns, body: Taped, carried: Cells) -> None:
        low, high = turns.bounds
        # The index is one of Python's numbers on the way there, and has to be one on the way back.
        self.lower = lower = own_number(lowered_to(context.outer, turns.lower))
        below = replace(turns, lower=lower, upper=own_number(lowered_to(context.outer, turns.upper)))
        super().__init__(context, [body], turns.bounds, carried)
        self.rows = rows = turns.rows
        if rows is not None:
            low, high = 0, rows
        if low is None or high is None:
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
        self.replayed = None if chosen is None else Recomputed(self, chosen, low, high)
        if self.replayed is not None:
            self.end = self.replayed.run(below, repeat)
        else:
            # Also a loop that makes no turn has its body traced.
            one.make_logs(max(1, length))
            self.cells += one.integers
            if context.home.trace.is_told(context):
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


class BranchEntry(Structured):
    """A branch in the log. The constructor runs it; the backward pass goes through the side that ran."""

    def __init__(self, context: Any, predicate: Any, bodies: Sequence[Taped], carried: Cells) -> None:
        super().__init__(context, bodies, carried=carried)
        self.predicate = predicate
        own = sum(one.bytes for one in self.recorded)
        self.keeps(own, self.begin_to_keep(own + max(one.wishes.most for one in self.recorded)))
        for one in self.recorded:
            one.make_logs(1)
            self.cells += one.integers
        if context.home.trace.is_told(context):
            self.pass_over()
        else:
            self.sweep(lambda one, i, k: one.forward(i, k), back=False)
        context.log.append(self)

    @property
    def name(self) -> str:
        return "cond"

    def sweep(self, step: Step, back: bool) -> None:
        choose(self.context.outer, self.predicate, [partial(step, one, 0, 0) for one in self.recorded], self.cells)
