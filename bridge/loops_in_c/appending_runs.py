"""Lists that a compiled loop appends to, while it runs: room for the values, and what Python appends afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.loops_in_c import memory
from bridge.loops_in_c.appending import History, Part, filled_of, needed_of, room_of
from bridge.loops_in_c.building import Run
from bridge.loops_in_c.ir import Program
from bridge.source.looping import READER

FIRST_ROOM = 1024
"""The first size of the local arrays that hold values."""


class Appended(NamedTuple):
    """A tracked value that was appended, which is a part of a local array from `begin` on."""

    place: Any
    array: str
    begin: int


class AppendingRuns:
    """The lists of one compiled loop, and the sizes of its local arrays that were enough so far."""

    def __init__(self, histories: list[History]) -> None:
        self.histories = histories
        self.sizes: dict[str, int] = {}

    def rooms(self, program: Program) -> dict[str, int]:
        """The variables that hold the sizes of local arrays."""
        return {
            room_of(name): self.sizes.get(name, FIRST_ROOM)
            for name in program.arrays
            if room_of(name) in program.variables
        }

    def has_grown(self, run: Run) -> bool:
        """Whether compiled code has stopped because a local array was too small; it is larger in the next run."""
        full = [name for name in self._arrays() if run.number(needed_of(name)) > run.numbers[room_of(name)]]
        for name in full:
            size = 2 * run.number(needed_of(name))
            if not memory.fits(16 * size):
                run.frame.full = 1
                return False
            self.sizes[name] = run.numbers[room_of(name)] = size
        return bool(full)

    def _arrays(self) -> Iterator[str]:
        for history in self.histories:
            for part in history.parts:
                yield from (part.values, part.details)

    def append(self, run: Run, made: Callable[..., Any], lists: Mapping[str, Any]) -> list[Appended]:
        """Append what compiled code has appended; the tracked values among it."""
        tracked: list[Appended] = []
        for history in self.histories:
            count = run.number(history.count)
            columns = [self._values(run, part, count, made, tracked) for part in history.parts]
            values = list(zip(*columns, strict=True)) if history.is_tuple else columns[0]
            if values:
                READER.of(lists[history.name].extend)(values)
        return tracked

    def _values(self, run: Run, part: Part, count: int, made: Callable[..., Any], tracked: list[Appended]) -> list[Any]:
        """The values of one part, made as the program's."""
        run.shorten(part.values, run.number(filled_of(part.values)) if part.ndim else count)
        run.shorten(part.details, count * max(part.ndim, 1))
        values, details = run.local(part.values), run.local(part.details)
        is_active = run.library.program.arrays[part.values].memory in run.library.plan.active_memory
        found, begin = [], 0
        for k in range(count):
            begin, first = (begin, begin) if part.ndim else (k, k)
            if part.ndim:
                shape = tuple(details[k * part.ndim : (k + 1) * part.ndim])
                end = begin + int(np.prod(shape))
                one = made(values[begin:end].reshape(shape).copy(), False, is_active)
                begin = end
            else:
                one = made(values[k], bool(details[k]), is_active)
            if is_tracked(one):
                tracked.append(Appended(one.place, part.values, first))
            found.append(one)
        return found
