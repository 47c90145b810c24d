"""Python's `while` in a compiled program, as an XLA loop.

If the condition depends on counters alone, the iterations are counted, and the loop has a fixed length. Otherwise the
condition is computed between two iterations, and a run tells how many there were.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.values import is_abstract, lowered_to
from bridge.source.staging.short_loops import SHORT
from bridge.source.staging.truth import NotOneLoop, is_true, truth, unknown
from bridge.state.slots import Part as Changed
from bridge.xla.loops.carried_values import (
    Counter,
    Memory,
)
from bridge.xla.loops.dry_runs import asked
from bridge.xla.loops.loop_entries import repeat
from bridge.xla.loops.loop_state import LoopState, run_planned
from bridge.xla.loops.recorded_body import is_logged
from bridge.xla.loops.structured import Turns
from bridge.xla.loops.trials import TrialPart, with_lent
from bridge.xla.tracing.integers import affine_of

Names = tuple[str, ...]


def staged_repeat(
    context: Any,
    test: Any,
    body: Any,
    live: Names,
    exposed: Names,
    stored: Names,
    stops: Names,
    limit: int | None = None,
) -> None:
    """`while`; one that wants more iterations than a `limit` is an error of the run."""
    with_lent(context, lambda: _repeated(context, test, body, (live, exposed, stored, stops), limit))


def _repeated(context: Any, test: Any, body: Any, names: tuple[Names, ...], limit: int | None) -> None:
    def turn(k: Any) -> None:
        body()

    def run(loop: LoopState) -> None:
        if not loop.is_planned:
            check_condition(context, test)
        _run(context, loop, test, limit)

    run_planned(
        context,
        lambda: LoopState(context, turn, body, names, may_be_empty=True, exchanges=True, asks=test),
        (0, limit),
        (body, test.__code__),
        run,
    )


def _run(context: Any, loop: LoopState, test: Any, limit: int | None) -> None:
    """The turns, when it is known what they carry."""
    count = _count(loop, test)
    if count is not None:
        repeat(context, Turns(0, count), loop.step, loop.varying)
        context.home.trace.long_loops += count > SHORT
        loop.finish(count)
        return

    def going() -> Any:
        with loop._begun(), loop.part.state():
            loop._set(loop.turns)
            wanted = test()
            wanted = truth(wanted) if unknown(wanted) else np.bool_(is_true(wanted))
            return wanted & loop.going()

    faults = context.home.trace.faults
    rows = faults.limit() if limit is None and is_logged(context) else None
    loop.count_turns()
    most = _MANY if limit is None else limit
    end = repeat(context, Turns(0, most, going, rows), loop.step, loop.varying)
    if rows is not None:
        wants_more = np.logical_or(end > rows, asked(context, going))
        faults.check_turns(rows, lowered_to(context.home.trace, wants_more), affine_of(end))
    if limit is not None:
        faults.check_limit(limit, asked(context, going))
    context.home.trace.long_loops += 1
    loop.finish(end)


def check_condition(context: Any, test: Any) -> None:
    """NotOneLoop if the condition of a `while` does more than to ask."""
    asks = TrialPart(context, lambda k: test(), [])
    _, _, since, watch = asks.tried((0, None), lambda k: None, lambda: None)
    names = [place.name for place, _ in watch.parts.values()]
    faults = context.home.trace.faults.cells
    if names or any(root.serial <= since and root not in faults for root in asks.written):
        raise NotOneLoop(f"its condition changes {names[0] if names else 'an array'}")


def _count(loop: LoopState, test: Any) -> int | None:
    """How many turns a `while` makes whose condition depends on counters alone; None if it is another one."""
    if any(isinstance(one.by, Memory) for one in loop.stops):
        return None
    names = {one.place.name for one in loop.carried if isinstance(one.by, Counter) and not is_abstract(one.by.value)}
    varying = {one.place.name for one in loop.carried if isinstance(one.by, Memory)} | {
        one.place.name for one in loop.carried if isinstance(one.by, Counter) and is_abstract(one.by.value)
    }
    read = set(test.__code__.co_freevars)
    if not names & read or varying & read or any(isinstance(one.place, Changed) for one in loop.carried):
        return None
    counters = [one for one in loop.carried if one.place.name in names & read]
    length = loop.context.home.trace.length
    with loop._begun(), loop.part.state():
        loop._set(0)
        before = length.operations, length.tried
        for k in range(_MOST_TURNS):
            for one in counters:
                one.place.set(one.by.at(k))
            wanted = test()
            if unknown(wanted) or (length.operations, length.tried) != before:
                # The condition emits operations, and would do so again for each iteration that is counted.
                return None
            if not is_true(wanted):
                return k
    return None


_MANY = 2**62
_MOST_TURNS = 1_000_000
"""Turns that are counted of a `while` loop whose condition depends on counters alone."""
