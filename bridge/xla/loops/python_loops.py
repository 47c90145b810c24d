"""Python's `for` loops in a compiled program, as XLA loops.

Trials find what the iterations carry (`loop_state`). A loop is unrolled (`NotOneLoop`) if its state has no stable
types, or if it cannot be traced with an unknown index. The first iteration may run by itself, if only the later ones
leave the types that they found. If iterations exchange the names of arrays, several iterations are one of the XLA loop,
as many as it takes until each array has its first name again.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from bridge.code_position import here
from bridge.rewind.roots import serial_now
from bridge.rewind.values import is_abstract, lowered_to
from bridge.source.staging.short_loops import SHORT
from bridge.source.staging.truth import NotOneLoop, is_true, unknown
from bridge.source.state import variables_of
from bridge.xla.loops.carried_values import (
    Memory,
    Rebound,
    Unlike,
)
from bridge.xla.loops.dry_runs import unheard, untouched
from bridge.xla.loops.loop_entries import repeat
from bridge.xla.loops.loop_state import LoopState, run_planned
from bridge.xla.loops.recorded_body import is_logged
from bridge.xla.loops.structured import Turns
from bridge.xla.loops.trials import with_lent
from bridge.xla.tracing.integers import affine_of, useful

Names = tuple[str, ...]

_PERIODS = 3
"""How many turns may be one: the longest cycle in which arrays change their names."""


def staged_loop(
    context: Any,
    items: Any,
    body: Any,
    live: Names,
    exposed: Names,
    stored: Names,
    stops: Names,
    is_short: bool = False,
) -> Any:
    """`for` over items with numbers; NotOneLoop, with the number of turns that were made, if it is to be unrolled.

    One that `is_short` is to be unrolled unless there are long loops in it.

    Returns
    -------
    The number of turns, if the loop may end early; else None.
    """
    names = live, exposed, stored, stops
    count = items.count
    if is_short:
        return with_lent(context, partial(_counted, context, items, body, names, 0, 1, math.inf, is_short))
    if is_abstract(count):
        return _counted(context, items, body, names, 0, 1, math.inf)
    done, own = 0, math.inf
    while True:
        try:
            return _in_periods(context, items, body, names, done, own)
        except Unlike as error:
            error.done = done
            if done or count < 3:
                raise
            # What a turn leaves may look as what it found, from the second one on.
            own = serial_now()
            first = items.at(0)
            items.take(1)
            body(first)
            done = 1
            if not items.is_in_step():
                moved = NotOneLoop("its first turn moves on what it iterates over")
                moved.done = done
                raise moved from error
            flags = [one.get() for one in variables_of(body, stops)]
            if any(map(unknown, flags)) or any(map(is_true, flags)):
                error.done = count if not any(map(unknown, flags)) else done
                raise
        except NotOneLoop as error:
            error.done = done
            raise


def _in_periods(context: Any, items: Any, body: Any, names: tuple[Names, ...], done: int, own: float) -> Any:
    """The turns after the first `done`, as many of them as one as it takes until arrays have their names again."""
    for period in range(1, _PERIODS + 1):
        if items.count - done < 2 * period:
            raise NotOneLoop("it is short")
        try:
            return with_lent(context, partial(_counted, context, items, body, names, done, period, own))
        except Rebound:
            if period == _PERIODS:
                raise
    return None


def _counted(
    context: Any, items: Any, body: Any, names: Any, done: int, period: int, own: float, is_short: bool = False
) -> Any:
    """The turns of a `for` loop after the first `done`, each `period` of them as one; returns how many if it may end.

    Memory with a higher number than `own` was made by the turn that ran by itself, and has no older names.
    """
    count, rows = items.count, None

    def turn(k: Any) -> None:
        for one in range(period):
            number = k if period == 1 else k * period + one
            body(items.at(number + done if done else number))
            if period > 1 and any(unknown(flag.get()) or is_true(flag.get()) for flag in variables_of(body, names[3])):
                raise NotOneLoop("it may end between two turns that would have to be one")

    if is_abstract(count):
        low, high = affine_of(count).bounds()
        high = useful(high)
        may_be_empty = low is None or low < 1
        turns = count
        if low is None or low < 0:
            # More may be known of the number in the backward pass, or less.
            with untouched(context), unheard(context.home.trace):
                turns = np.maximum(count, 0)
        if high is None and is_logged(context):
            faults = context.home.trace.faults
            rows = faults.limit()
            faults.check_turns(rows, lowered_to(context.home.trace, turns > rows), affine_of(turns))
    else:
        low = high = turns = (count - done) // period
        may_be_empty = False

    ends: list[Any] = [None]

    def run(loop: LoopState) -> None:
        going = None
        if any(isinstance(one.by, Memory) for one in loop.stops):
            loop.count_turns()
            going = loop.going
        end = repeat(context, Turns(0, turns, going, rows=rows), loop.step, loop.varying)
        loop.finish(turns if going is None else end)
        ends[:] = [None if going is None else end + done]

    trace = context.home.trace
    before = trace.long_loops

    def found() -> None:
        if is_short and trace.long_loops == before:
            raise NotOneLoop("it is short, and so are the loops in it")

    what = (body, done, period)
    run_planned(context, lambda: LoopState(context, turn, body, names, may_be_empty, own), (0, high), what, run, found)
    if high is None or high > SHORT:
        trace.long_loops += 1
    if period > 1:
        for k in range(done + turns * period, count):
            body(items.at(k))
    return ends[0]


def unrolling(context: Any, count: Any, reason: str) -> None:
    """Take note that a loop is unrolled, and why."""
    context.home.trace.length.note_unrolled(here(), count, reason)
