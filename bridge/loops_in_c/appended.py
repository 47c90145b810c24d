"""Lists that a compiled loop appends to, while it runs: room for the values, and what Python appends afterwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from bridge.arrays.tracked import is_tracked
from bridge.loops_in_c import memory
from bridge.loops_in_c.appending import Column, History, filled_of, needed_of, room_of
from bridge.loops_in_c.building import Run
from bridge.loops_in_c.ir import Program
from bridge.loops_in_c.tangent import tangent_of
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

    def append(
        self, run: Run, made: Callable[..., Any], lists: Mapping[str, Any], given: Sequence[Any]
    ) -> tuple[list[Appended], dict[int, Any]]:
        """Append what compiled code has appended. Returns the tracked values among it, and arrays by their identities.

        Parameters
        ----------
        made : makes a value of the program.
        lists, given : the lists by their variables, and the arrays that the loop began with.
        """
        tracked: list[Appended] = []
        arrays = {-1 - k: one for k, one in enumerate(given)}
        for history in self.histories:
            count = run.number(history.count)
            columns = [list(self._values(run, part, count, made, tracked, arrays)) for part in history.parts]
            values = list(zip(*columns, strict=True)) if history.is_tuple else columns[0]
            if values:
                READER.of(lists[history.name].extend)(values)
        return tracked, arrays

    def _values(
        self,
        run: Run,
        part: Column,
        count: int,
        made: Callable[..., Any],
        tracked: list[Appended],
        arrays: dict[int, Any],
    ) -> Iterator[Any]:
        """The values of one part, made as the program's."""
        is_active = run.library.program.arrays[part.values].memory in run.library.plan.active_memory
        width = part.ndim + 1
        size = run.number(filled_of(part.values)) if part.ndim else count
        names = [part.values, tangent_of(part.values)]
        for name in names if names[1] in run.library.program.arrays else names[:1]:
            run.shorten(name, size)
        run.shorten(part.details, count * width)
        values, details = run.local(part.values), run.local(part.details)
        tangents = run.local(names[1]) if names[1] in run.library.program.arrays else None
        begin = 0
        for k in range(count):
            *shape, detail = details[k * width : (k + 1) * width].tolist()
            end = begin + math.prod(shape)
            if part.ndim and detail in arrays:
                one = arrays[detail]
            else:
                # A copy: an array of the program owns its memory.
                one = values[begin:end].reshape(shape).copy() if part.ndim else values[k]
                tangent = None if tangents is None else tangents[begin:end] if part.ndim else tangents[k]
                if tangent is not None and part.ndim:
                    tangent = tangent.reshape(shape).copy()
                one = made(one, not part.ndim and detail, is_active, tangent)
                if is_tracked(one):
                    tracked.append(Appended(one.place, part.values, begin))
                if part.ndim and detail:
                    arrays[detail] = one
            begin = end
            yield one
