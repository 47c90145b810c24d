"""Python's branches in a compiled program: both sides are compiled, and one runs.

If a side raises an error of the program for all values, the program must not take that side: the error is raised after
a run that would have taken it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from bridge.errors import BridgeError
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.roots import ground_of
from bridge.source.staging.maybe import unbound_local
from bridge.source.staging.truth import NotOneLoop, truth
from bridge.source.state import Place
from bridge.state.slots import GONE, Value
from bridge.xla.loops.branch_merge import MergedVariable
from bridge.xla.loops.carried_values import equal
from bridge.xla.loops.loop_entries import choose
from bridge.xla.loops.may_alias import shared_on_a_side
from bridge.xla.loops.phi import keep
from bridge.xla.loops.taped import of_the_program
from bridge.xla.loops.trial_cache import UNCHANGED, abstract_values, plan_of
from bridge.xla.loops.trial_errors import check_cause
from bridge.xla.loops.trials import TrialPart, with_lent
from bridge.xla.loops.unset import check_bound_before, have_lent, note_unbound

Side = Callable[[], Any]


def staged_branch(
    context: Any, test: Any, then: Side, otherwise: Side, places: Sequence[Place], live: Sequence[str]
) -> None:
    """`if test: then() else: otherwise()`; `places` are the variables that either side binds."""
    trace = context.home.trace
    if trace.branches >= _DEEPEST:
        raise NotOneLoop(
            f"branches lie more than {_DEEPEST} deep in each other: a function calls itself, and how often depends on "
            "values"
        )
    trace.branches += 1
    try:
        with_lent(context, lambda: _branch(context, test, then, otherwise, places, live))
    finally:
        trace.branches -= 1


_DEEPEST = 24
"""Branches in each other, each of which depends on values."""


def staged_choice(context: Any, test: Any, then: Side, otherwise: Side) -> Any:
    """`then() if test else otherwise()`."""
    held: list[Any] = [GONE]
    place: Any = Value(held)

    def side(run: Side) -> Side:
        def store() -> None:
            held[0] = run()

        store.part = run  # type: ignore[attr-defined]
        return store

    staged_branch(context, test, side(then), side(otherwise), [place], [place.name])
    return held[0]


class _Side:
    """One side, and what it leaves in each place."""

    def __init__(self, context: Any, run: Side, places: Sequence[Place], plan: list[Any] | None) -> None:
        self.part = TrialPart(context, lambda i: run(), places)
        self.run: Any = getattr(run, "part", run)
        self.raised: BaseException | None = None
        self.after: dict[Any, Any] = {}
        self.before: dict[Any, tuple[Place, Any]] = {}
        self.since = 0
        if plan is not None:
            found = zip(places, self.part.before, plan, strict=True)
            self.after = {place.key: was if value is UNCHANGED else value for place, was, value in found}
            self.is_older = {place.key: value is UNCHANGED for place, value in zip(places, plan, strict=True)}
            return
        self._try()

    def _try(self) -> None:
        """Run it for trial."""
        try:
            _, _, self.since, watch = self.part.tried((None, None), lambda i: None, self._take)
            self.before = watch.parts
            if watch.parts:
                # Objects that it changes are places, too.
                self.part.add(watch.parts.values())
                self.part.tried((None, None), lambda i: None, self._take)
            self.is_older = {}
        except NotOneLoop as error:
            cause = error.__cause__
            if isinstance(cause, (BridgeError, NotOneLoop)) or cause is None:
                raise
            self.part.check_again(cause)
            self.raised = cause

    def _take(self) -> None:
        self.after = {place.key: ARRAYS.seen(place.get()) for place in self.part.places}


def _branch(context: Any, test: Any, then: Side, otherwise: Side, places: Sequence[Place], live: Sequence[str]) -> None:
    plans = context.home.trace.plans
    code = getattr(then, "__code__", None), getattr(otherwise, "__code__", None)
    key = (*code, context.level, abstract_values(places))
    if None not in code and key in plans:
        heard = context.home.trace.fingerprint
        forget = heard.unless_tried_again() if heard is not None else None
        try:
            _chosen(context, test, then, otherwise, places, live, plans[key])
            return
        except Exception as error:
            check_cause(context, error, was_tried=True)
            plans.pop(key, None)
            if forget is not None:
                forget()
    found = _chosen(context, test, then, otherwise, places, live, (None, None))
    if None not in code and None not in found:
        plans[key] = found


def _lend(sides: Iterable[dict[Any, Any]]) -> None:
    """Have the program's own arrays lent that a place is bound to on one side: what is written there is theirs."""
    first, second = sides
    for key in first.keys() | second.keys():
        values = first.get(key), second.get(key)
        if equal(*values):
            continue
        for value in values:
            have_lent(value)


def _chosen(
    context: Any, test: Any, then: Side, otherwise: Side, places: Sequence[Place], live: Sequence[str], plan: Any
) -> tuple[Any, Any]:
    """Run a branch, as it was planned if it was; returns a plan for the next time."""
    sides = [_Side(context, run, places, own) for run, own in zip((then, otherwise), plan, strict=True)]
    wanted = truth(test)
    for side, other, is_taken in zip(sides, (otherwise, then), (wanted, np.logical_not(wanted)), strict=True):
        if side.raised is not None:
            if context.home.trace.tries:
                raise NotOneLoop(
                    f"one side of a branch raises {type(side.raised).__name__}, which the program may catch"
                )
            note_unbound(context, side.run, side.raised)
            context.home.trace.faults.check_raises(is_taken, unbound_local(side.raised))
            other()
            return None, None
        check_bound_before(context, side.run, is_taken)
    aliases = dict(context.merged)
    parts = {key: pair for side in sides for key, pair in side.before.items()}
    codes = tuple(getattr(one, "__code__", one) for one in (then, otherwise))
    _lend(side.after for side in sides)
    outcomes = [MergedVariable(context, place, place.get(), sides, codes) for place in places if place.name in live] + [
        MergedVariable(context, place, before, sides, codes)
        for key, (place, before) in parts.items()
        if key not in {one.key for one in places}
    ]
    choosing = [one for outcome in outcomes for one in outcome.choosing if one is not None]
    keep(context, choosing, places)
    for one in outcomes:
        one.name(aliases)
    shared_on_a_side(context, ([pair for one in outcomes for pair in one.stands_for(k)] for k in range(2)), aliases)
    for side in sides:
        known = {one.key for one in side.part.places}
        side.part.add((place, before) for key, (place, before) in parts.items() if key not in known)

    def run(side: _Side) -> Callable[[], None]:
        @of_the_program
        def taken() -> None:
            with side.part.watched(expected=set(parts)), side.part.state():
                side.part.run(None)
                values = [ARRAYS.seen(one.place.get()) for one in outcomes]
                for one, value in zip(outcomes, values, strict=True):
                    one.check(value)
                    one.take(value)

        return taken

    named = ChainMap(aliases, context.home.trace.following.known)
    kept_for_next = [plan_of(places, side.part.before[: len(places)], side.after, side.since, named) for side in sides]
    # A side that turns out to write integers is run again: in branches in each other, twice as often with each.
    written = [cell for one in outcomes for cell in one.written]
    varying = [ground_of(cell.place.root) for cell in written if cell.dtype.kind in "iub"]
    choose(context, wanted, [run(side) for side in sides], varying)
    kept = {id(one.place) for one in outcomes}
    for place in places:
        if id(place) not in kept:
            place.set(GONE)
    for one in outcomes:
        one.place.set(one.value())
    for chosen in choosing:
        chosen.follow()
    return (None, None) if parts or plan != (None, None) else (kept_for_next[0], kept_for_next[1])
