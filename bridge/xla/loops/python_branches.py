"""Python's branches in a program that is compiled: both sides are compiled, and one runs.

A side that raises an error of its own, whatever the numbers are, is one that the program must not take: the error is
raised after a run that would have taken it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.code_position import here
from bridge.errors import BridgeError
from bridge.rewind.interpreter import ARRAYS
from bridge.source.staging.truth import NotOneLoop, truth
from bridge.source.state import GONE, Place, Value, Variable
from bridge.trees import containers_of, rebuilt
from bridge.xla.loops.carrying import Unlike, equal, is_same, is_value, settling
from bridge.xla.loops.control import kind_of, promoting, read_cell
from bridge.xla.loops.expected import Reached
from bridge.xla.loops.plans import BEFORE, Stale, looks, planned
from bridge.xla.loops.repeating import choose
from bridge.xla.loops.standing import Known, passed_on, shared_on_a_side, stood_for
from bridge.xla.loops.trials import Part, with_lent

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

        return store

    staged_branch(context, test, side(then), side(otherwise), [place], [place.name])
    return held[0]


class _Side:
    """One side, and what it leaves in each place."""

    def __init__(self, context: Any, run: Side, places: Sequence[Place], plan: list[Any] | None) -> None:
        self.part = Part(context, lambda i: run(), places)
        self.raised: Exception | None = None
        self.after: dict[Any, Any] = {}
        self.before: dict[Any, tuple[Place, Any]] = {}
        self.since = 0
        if plan is not None:
            found = zip(places, self.part.before, plan, strict=True)
            self.after = {place.key: was if value is BEFORE else value for place, was, value in found}
            self.is_older = {place.key: value is BEFORE for place, value in zip(places, plan, strict=True)}
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
            if isinstance(cause, (BridgeError, NotOneLoop)) or not isinstance(cause, Exception):
                raise
            self.raised = cause

    def _take(self) -> None:
        self.after = {place.key: ARRAYS.seen(place.get()) for place in self.part.places}


def _branch(context: Any, test: Any, then: Side, otherwise: Side, places: Sequence[Place], live: Sequence[str]) -> None:
    plans = context.home.trace.plans
    code = getattr(then, "__code__", None), getattr(otherwise, "__code__", None)
    key = (*code, context.level, looks(places))
    if None not in code and key in plans:
        try:
            _chosen(context, test, then, otherwise, places, live, plans[key])
            return
        except Exception:
            del plans[key]
    found = _chosen(context, test, then, otherwise, places, live, (None, None))
    if None not in code and None not in found:
        plans[key] = found


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
            context.home.trace.faults.check_raises(is_taken, side.raised)
            other()
            return None, None
    aliases = dict(context.merged)
    parts = {key: pair for side in sides for key, pair in side.before.items()}
    outcomes = [_Outcome(context, place, place.get(), sides, aliases) for place in places if place.name in live] + [
        _Outcome(context, place, before, sides, aliases)
        for key, (place, before) in parts.items()
        if key not in {one.key for one in places}
    ]
    shared_on_a_side(context, ([pair for one in outcomes for pair in one.stands_for(k)] for k in range(2)), aliases)
    for side in sides:
        known = {one.key for one in side.part.places}
        side.part.add((place, before) for key, (place, before) in parts.items() if key not in known)

    def run(side: _Side) -> Callable[[], None]:
        def taken() -> None:
            with side.part.watched(expected=set(parts)), side.part.state():
                side.part.run(None)
                values = [ARRAYS.seen(one.place.get()) for one in outcomes]
                for one, value in zip(outcomes, values, strict=True):
                    one.check(value)
                    one.take(value)

        return taken

    kept_for_next = [planned(places, side.part.before[: len(places)], side.after, side.since) for side in sides]
    cells = [cell for one in outcomes if not one.is_same for cell in one.cells]
    codes = tuple(getattr(one, "__code__", one) for one in (then, otherwise))
    reached = Reached.by(codes, [side.part.closure for side in sides], cells)
    choose(context, wanted, [run(side) for side in sides], reached=reached)
    kept = {id(one.place) for one in outcomes}
    for place in places:
        if id(place) not in kept:
            place.set(GONE)
    for one in outcomes:
        one.place.set(one.value())
    return (None, None) if parts or plan != (None, None) else (kept_for_next[0], kept_for_next[1])


class _Outcome:
    """What a place holds after a branch: the same whichever side is taken, or memory that both write."""

    def __init__(self, context: Any, place: Place, before: Any, sides: Sequence[_Side], aliases: Known) -> None:
        self.context = context
        self.place = place
        before = ARRAYS.seen(before)
        values = [side.after.get(place.key, before) for side in sides]
        self.same: Any = None
        self.is_set = True
        self.is_same = equal(*values)
        if self.is_same:
            self.same = values[0]
            return
        self.is_set = GONE not in values
        if not self.is_set and isinstance(place, Variable) and not place.name.startswith("."):
            # Bound on one side only: whoever reads it afterwards is told that it may have no value.
            self.is_same, self.same = True, GONE
            context.home.trace.unbound[place.name] = here()
            return
        known = [value for value in values if value is not GONE]
        leaves, self.structure = containers_of(known[0])
        rows = [leaves]
        if len(known) == 2:
            others, structure = containers_of(known[1])
            if structure != self.structure:
                raise Unlike(f"{place.name} is {self.structure} on one side of a branch and {structure} on the other")
            rows.append(others)
        sinces = [
            math.inf if side.is_older.get(place.key, place.key not in side.after) else side.since
            for side, value in zip(sides, values, strict=True)
            if value is not GONE
        ]
        self.kinds: list[str] = []
        self.cells: list[Any] = []
        self.by_side = [None if value is GONE else containers_of(value)[0] for value in values]
        for column in zip(*rows, strict=True):
            kind, cell = _shared(context, place.name, column, sinces, aliases)
            self.kinds.append(kind)
            self.cells.append(cell)

    def stands_for(self, side: int) -> list[tuple[Any, Any]]:
        """Memory that the place holds afterwards, and what it is on one side."""
        leaves = None if self.is_same else self.by_side[side]
        if leaves is None:
            return []
        columns = zip(self.cells, self.kinds, leaves, strict=True)
        return [
            (cell.place.root, leaf.place.root)
            for cell, kind, leaf in columns
            if kind != "fixed" and hasattr(leaf, "view_as")
        ]

    def check(self, value: Any) -> None:
        """Raise Stale if this is not what the sides were found to leave."""
        if self.is_same:
            if not (equal(value, self.same) or (self.same is GONE and not self.is_set)):
                raise Stale
            return
        if value is GONE:
            return
        leaves, structure = containers_of(value)
        if structure != self.structure:
            raise Stale
        for cell, leaf, kind in zip(self.cells, leaves, self.kinds, strict=True):
            if kind == "fixed":
                fits = equal(leaf, cell)
            else:
                fits = is_value(leaf) and np.shape(leaf) == cell.shape
                fits = fits and np.result_type(promoting(leaf), cell.dtype) == cell.dtype
            if not fits:
                raise Stale

    def take(self, value: Any) -> None:
        """Write what the side that runs has left."""
        if self.is_same or value is GONE:
            return
        leaves, _ = containers_of(value)
        fresh = [np.copy(leaf) if hasattr(leaf, "view_as") else leaf for leaf in leaves]
        with settling(self.context):
            for cell, leaf, kind in zip(self.cells, fresh, self.kinds, strict=True):
                if kind != "fixed" and not is_same(leaf, cell):
                    cell[...] = leaf

    def value(self) -> Any:
        """What it holds now."""
        if self.is_same:
            return self.same
        return rebuilt(
            self.structure,
            [
                cell if kind == "fixed" else read_cell(cell, kind)
                for cell, kind in zip(self.cells, self.kinds, strict=True)
            ],
        )


def _shared(
    context: Any, name: str, values: tuple[Any, ...], sinces: Sequence[float], aliases: Known
) -> tuple[str, Any]:
    """Memory for what either side leaves."""
    if len(values) == 2 and equal(*values):
        return "fixed", values[0]
    for value in values:
        if not is_value(value):
            raise Unlike(f"{name} is {' or '.join(map(_look, values))} after a branch")
    if len({np.shape(value) for value in values}) > 1:
        raise Unlike(f"{name} has shape {' or '.join(str(np.shape(value)) for value in values)} after a branch")
    dtype = np.result_type(*map(promoting, values))
    cell = context.constant_buffer(np.zeros(np.shape(values[0]), dtype))
    older = [
        value.place.root
        for value, since in zip(values, sinces, strict=True)
        if hasattr(value, "view_as") and (value.place.root.serial <= since or value.place.root in aliases)
    ]
    if older:
        # It stands for arrays that have other names: a write into it, or into them, would be one into both.
        stood_for(context, name, cell.place.root, older, aliases)
    for value in values:
        passed_on(context, value, cell)
    return kind_of(*values), cell


def _look(value: Any) -> str:
    return f"an array or a number of shape {np.shape(value)}" if is_value(value) else repr(value)
