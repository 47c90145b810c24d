"""Attributes that a loop or a branch sets first: what a read gives where they stay unset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.rewind.interpreter import ARRAYS
from bridge.source.borrowing import LentOutside
from bridge.source.staging.maybe import Maybe, note_uncertain, unbound_local
from bridge.source.staging.truth import NotOneLoop
from bridge.state.slots import ANSWERED, GONE, Part
from bridge.trees import containers_of
from bridge.xla.loops.carried_values import Unlike
from bridge.xla.loops.dry_runs import unheard, untouched


class Unset:
    """How a place is described where paths that leave it unset meet others.

    Where the class has a plain value under the name, a read gives that, and the place holds it. Else the place holds
    a `Maybe`, with the flag that says whether it is set.
    """

    def __init__(self, place: Any, start: Any = None) -> None:
        self.place = place
        self.default: Any = GONE
        self.is_name = False
        self.is_maybe = type(start) is Maybe
        self.answers = type(start) is Maybe and start.answers

    def note(self, context: Any) -> None:
        """From now on, it is not known whether the place holds something of its own."""
        if self.is_maybe or self.default is not GONE or self.is_name:
            note_uncertain(context.home.trace, self.place.thing, self.place.part)

    def meet(self, values: Sequence[Any]) -> None:
        """Take note of what paths leave in the place, some of which may leave it unset."""
        place = self.place
        if not isinstance(place, Part) or not any(value is GONE or type(value) is Maybe for value in values):
            return
        found = place.absent()
        self.is_name = place.is_name
        if found is not GONE and found is not ANSWERED:
            self.default = ARRAYS.seen(found)
            have_lent(self.default)
        else:
            self.is_maybe = not place.is_name
            self.answers = found is ANSWERED

    def filled(self, value: Any) -> Any:
        """What stands for a value that a path leaves; GONE stays GONE where a read raises."""
        if value is GONE:
            return self.default
        if self.is_maybe and type(value) is not Maybe:
            return Maybe(self.place.name, value, True, self.answers)
        return value


def have_lent(value: Any) -> None:
    """Have the program's own arrays lent that a place is bound to on one path: what is written there is theirs."""
    for leaf in containers_of(value)[0]:
        if type(leaf) is np.ndarray and leaf.flags.writeable:
            if leaf.dtype.kind not in "fc":
                raise Unlike(
                    f"it binds a name to an array of {leaf.dtype} that the program has: writes into it are not seen"
                )
            raise LentOutside(leaf)


def note_unbound(context: Any, run: Any, raised: BaseException) -> None:
    """Take note of a side of a branch that reads a variable which has no value in the first turn of a loop."""
    if isinstance(raised, NameError):
        context.home.trace.raised_unbound[run.__code__] = unbound_local(raised)


def check_bound_before(context: Any, run: Any, is_taken: Any) -> None:
    """Look whether the first turn of a loop takes a side that reads a variable which later turns find bound."""
    trace = context.home.trace
    raised = trace.raised_unbound.get(getattr(run, "__code__", None))
    if raised is None:
        return
    cells = zip(run.__code__.co_freevars, run.__closure__ or (), strict=True)
    read = [cell for name, cell in cells if f"'{name}'" in str(raised)]
    turns = [(cell, *trace.first_turns[id(cell)]) for cell in read if id(cell) in trace.first_turns]
    if not read or any(cell.cell_contents is not start for cell, start, _ in turns):
        # The turn may have bound it.
        raise NotOneLoop(f"a side of a branch may read a variable that has no value: {raised}")
    with untouched(context), unheard(trace):
        for _, _, number in turns:
            trace.faults.check_raises(np.logical_and(is_taken, np.equal(number, 0)), raised)
