"""Variables after a branch: the value that both sides leave, or memory that both sides write."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from bridge.code_position import here
from bridge.rewind.interpreter import ARRAYS
from bridge.source.state import Place
from bridge.state.slots import GONE, Part, Variable
from bridge.trees import containers_of, rebuilt, shown
from bridge.xla.loops.carried_values import Unlike, equal, is_same, is_value, kind_of, promoting, read_cell, settling
from bridge.xla.loops.may_alias import Bound, Known, passed_on, stood_for
from bridge.xla.loops.phi import Phi
from bridge.xla.loops.trial_cache import PlanMismatch
from bridge.xla.loops.unset import Unset


class Side(Protocol):
    """A side that was tried: what it left in each place, and which memory is older than the trial."""

    after: dict[Any, Any]
    is_older: dict[Any, bool]
    since: int


def _grown(name: str, values: Sequence[Any], one: Any, other: Any) -> str:
    """What differs between the containers that two sides of a branch leave at a place."""
    if all(type(value) is list for value in values):
        lengths = sorted(map(len, values))
        if lengths[0] != lengths[1]:
            return f"{name} grows in a branch: its length is {lengths[1]} on one side and {lengths[0]} on the other"
    return f"{name} is {shown(one)} on one side of a branch and {shown(other)} on the other"


class MergedVariable:
    """A variable after a branch: the value that both sides leave, or memory that both sides write."""

    def __init__(self, context: Any, place: Place, before: Any, sides: Sequence[Side], codes: Sequence[Any]) -> None:
        self.context = context
        self.place = place
        self.choosing: list[Phi | None] = []
        before = ARRAYS.seen(before)
        values = [side.after.get(place.key, before) for side in sides]
        self.same: Any = None
        self.is_set = True
        self.unset = Unset(place)
        if not equal(*values) and isinstance(place, Part):
            self.unset.meet(values)
            values = list(map(self.unset.filled, values))
        self.is_same = equal(*values)
        if self.is_same:
            self.same = values[0]
            return
        self.is_set = all(value is not GONE for value in values)
        is_name = place.is_name if isinstance(place, Part) else not place.name.startswith(".")
        if not self.is_set and isinstance(place, (Variable, Part)) and is_name:
            # Bound on one side only: whoever reads it afterwards is told that it may have no value.
            self.is_same, self.same = True, GONE
            context.home.trace.unbound[place.bound_name] = here()
            return
        known = [value for value in values if value is not GONE]
        leaves, self.structure = containers_of(known[0])
        rows = [leaves]
        if len(known) == 2:
            others, structure = containers_of(known[1])
            if structure != self.structure:
                raise Unlike(_grown(place.name, known, self.structure, structure))
            rows.append(others)
        sinces = [
            math.inf if side.is_older.get(place.key, place.key not in side.after) else side.since
            for side, value in zip(sides, values, strict=True)
            if value is not GONE
        ]
        self.kinds: list[str] = []
        self.cells: list[Any] = []
        self.by_side = [None if value is GONE else containers_of(value)[0] for value in values]
        self.columns = list(zip(*rows, strict=True))
        self.sinces = sinces
        for number, column in enumerate(self.columns):
            kind, cell = _shared(context, place.name, column)
            self.kinds.append(kind)
            self.cells.append(cell)
            chosen = None
            if kind == "array":
                chosen = Phi(context, (*codes, place.name, number), cell, column, sinces)
            self.choosing.append(chosen)

    @property
    def written(self) -> list[Any]:
        """The memory that it has made, into which the sides write."""
        both = [] if self.is_same else zip(self.cells, self.kinds, strict=True)
        return [cell for cell, kind in both if kind != "fixed"]

    def name(self, aliases: Known) -> None:
        """Take note of what its memory stands for: a write into either would be one into both."""
        if self.is_same:
            return
        for cell, column, choosing in zip(self.cells, self.columns, self.choosing, strict=True):
            if choosing is None:
                continue
            followed = choosing.followed
            older = [
                value.place.root
                for value, since in zip(column, self.sinces, strict=True)
                if hasattr(value, "view_as") and (value.place.root.serial <= since or value.place.root in aliases)
            ]
            made = [one for one in older if one not in followed and choosing.which is not None and one in aliases]
            if older:
                stood_for(self.context, self.place.name, cell.place.root, older, aliases, {*followed, *made})
            for value in column:
                passed_on(self.context, value, cell, choosing.which is not None)

    def stands_for(self, side: int) -> list[Bound]:
        """Memory that the place holds afterwards, what it is on one side, and what it follows."""
        leaves = None if self.is_same else self.by_side[side]
        if leaves is None:
            return []
        columns = zip(self.cells, self.choosing, leaves, strict=True)
        return [
            (cell.place.root, leaf.place.root, choosing.followed)
            for cell, choosing, leaf in columns
            if choosing is not None and hasattr(leaf, "view_as")
        ]

    def check(self, value: Any) -> None:
        """Raise PlanMismatch if this is not what the sides were found to leave."""
        value = self.unset.filled(value)
        if self.is_same:
            if not (equal(value, self.same) or (self.same is GONE and not self.is_set)):
                raise PlanMismatch
            return
        if value is GONE:
            return
        leaves, structure = containers_of(value)
        if structure != self.structure:
            raise PlanMismatch
        for cell, leaf, kind in zip(self.cells, leaves, self.kinds, strict=True):
            if kind == "fixed":
                fits = equal(leaf, cell)
            else:
                fits = is_value(leaf) and np.shape(leaf) == cell.shape
                fits = fits and np.result_type(promoting(leaf), cell.dtype) == cell.dtype
            if not fits:
                raise PlanMismatch

    def take(self, value: Any) -> None:
        """Write what the side that runs has left."""
        value = self.unset.filled(value)
        if self.is_same or value is GONE:
            return
        leaves, _ = containers_of(value)
        fresh = [np.copy(leaf) if hasattr(leaf, "view_as") else leaf for leaf in leaves]
        for choosing, leaf in zip(self.choosing, leaves, strict=True):
            if choosing is not None:
                choosing.take(choosing.number(leaf))
        with settling(self.context):
            for cell, leaf, kind in zip(self.cells, fresh, self.kinds, strict=True):
                if kind != "fixed" and not is_same(leaf, cell):
                    cell[...] = leaf

    def value(self) -> Any:
        """What it holds now."""
        self.unset.note(self.context)
        if self.is_same:
            return self.same
        return rebuilt(
            self.structure,
            [
                cell if kind == "fixed" else read_cell(cell, kind)
                for cell, kind in zip(self.cells, self.kinds, strict=True)
            ],
        )


def _shared(context: Any, name: str, values: tuple[Any, ...]) -> tuple[str, Any]:
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
    return kind_of(*values), cell


def _look(value: Any) -> str:
    return f"an array or a number of shape {np.shape(value)}" if is_value(value) else repr(value)
