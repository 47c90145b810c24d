"""What a loop keeps for its backward pass: its whole log, or snapshots of memory from which parts run again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bridge.code_position import resolve
from bridge.errors import MemoryBoundError
from bridge.options import as_text
from bridge.rewind.checkpoint_schedule import Placement, Size, placement
from bridge.rewind.forward import ForwardContext
from bridge.xla.loops.structured import Step, Structured, Turns


def size_of(loop: Structured, iterations: int) -> Size:
    """How much a loop would keep; in forward mode there is a tangent beside each number."""
    (one,) = loop.recorded
    copies, context = 1, loop.context.outer
    while context is not None:
        copies, context = copies * (1 + isinstance(context, ForwardContext)), context.outer
    snapshot = sum(int(np.prod(root.shape)) * root.dtype.itemsize for root in loop.written_roots)
    return Size(iterations, copies * one.bytes, copies * snapshot)


def placement_for(loop: Structured, iterations: int) -> Placement | None:
    """Where a loop is to keep snapshots; None if it keeps its whole log.

    Loops in its body, of which one iteration's are alive at a time, get what it leaves: what they want, if that is less
    than half.
    """
    (one,) = loop.recorded
    size, allowances = size_of(loop, iterations), loop.context.home.trace.allowances
    inner = one.wishes.most
    allowed = loop.begin_to_keep(size.whole + inner)
    own = max(allowed - inner, allowed / 2)
    found, taken = None, size.whole
    if size.whole > own:
        found = placement(size, int(min(allowed, max(own, size.least))))
        if found is None:
            allowances.refuse(_too_large(loop, size, int(allowed)))
        else:
            taken = found.bytes(size)
            allowances.told[_told(loop, size, found, int(allowed))] = None
    loop.keeps(taken, allowed)
    return found


def _too_large(loop: Structured, size: Size, allowed: int) -> MemoryBoundError:
    return MemoryBoundError(
        f"a loop of {size.iterations} iterations writes memory of {as_text(size.snapshot)}, and each overwrites "
        f"{as_text(size.log)}: its way back needs {as_text(size.least)}, and memory= leaves {as_text(allowed)} for it",
        where=resolve(loop.position),
        remedy="allow more, or write less in an iteration: slices instead of whole arrays",
    )


def _told(loop: Structured, size: Size, found: Placement, allowed: int) -> str:
    return (
        f"{resolve(loop.position)}: a loop of {size.iterations} iterations would keep {as_text(size.whole)}; "
        f"within {as_text(allowed)} it keeps {found.slots} snapshots of {as_text(size.snapshot)} "
        f"and the log of {found.length} iterations, and runs each iteration {found.runs:.3g} times more"
    )


class Recomputed:
    """The backward pass of a loop that keeps snapshots."""

    def __init__(self, loop: Structured, chosen: Placement, low: int, high: int) -> None:
        self.loop, self.chosen, self.low, self.high = loop, chosen, low, high
        (self.one,) = loop.recorded
        self.trace = loop.context.home.trace
        below = loop.context.outer
        self.snapshots = [below.blank((chosen.slots, *root.shape), root.dtype) for root in loop.written_roots]
        self.one.make_logs(chosen.length)
        self.others: list[Any] = []
        self.frame = self.trace.frames[-1]
        self.was_swept = False

    def run(self, turns: Turns, repeat: Callable[..., Any]) -> Any:
        """Run the loop for the first time; returns where it ended."""
        self.repeat, self.turns, self.end = repeat, turns, turns.upper
        first = self.chosen.first
        begins, slots = [0, *(one.end for one in first)], [0, *(one.target for one in first)]
        ends = [*(one.end for one in first), self.chosen.segments]
        if turns.going is not None:
            reached = self.trace.constant_buffer(np.zeros((), np.int64))
            reached[...] = turns.lower
        stations = [self._table(column) for column in (begins, slots, ends)]

        def part(number: Any) -> None:
            begin, slot, end = (table(number) for table in stations)
            self._keep(slot)
            ended = self._repeat(replace(turns, lower=self._at(begin), upper=self._at(end)), self._once)
            if turns.going is not None:
                reached[...] = ended

        self._repeat(replace(turns, lower=0, upper=len(begins)), part)
        if turns.going is not None:
            self.end = self._between(reached[()], self.low, self.high)
        return self.end

    def sweep(self, step: Step) -> None:
        """Run `step` for each iteration, from the last to the first, each with its row of the log filled."""
        chosen = self.chosen
        slots, begins = (self._table(column) for column in zip(*chosen.starts, strict=True))
        before = [0]
        for stores in chosen.stores:
            before.append(before[-1] + len(stores))
        firsts, numbers = self._table(before[:-1]), self._table([len(stores) for stores in chosen.stores])
        flat = [one for stores in chosen.stores for one in stores]
        columns = [self._table(column) for column in zip(*flat, strict=True)]

        def store(source: Any, begin: Any, end: Any, target: Any) -> None:
            self._put_back(source)
            self._advance(begin, end)
            self._keep(target)

        # Slots are used again and again: for another sweep, they are filled anew from the first one.
        if not chosen.has_all and (self.was_swept or self.trace.frames[-1] is not self.frame):
            for one in chosen.first:
                store(*one)
        self.was_swept = True

        def segment(number: Any) -> None:
            k = chosen.segments - 1 - number
            if flat:
                start, last = firsts(k), len(flat) - 1

                def stored(t: Any) -> None:
                    number = self._between(start + t, 0, last)
                    store(*(table(number) for table in columns))

                self._repeat_up_to(numbers(k), stored)
            self._put_back(slots(k))
            if not chosen.has_all:
                self._advance(begins(k), k)
            begin, count = self._at(k), self._length(k)
            self._repeat_up_to(count, lambda j: self.one.forward(self._index(begin + j), j))
            self._repeat_up_to(
                count, lambda j: step(self.one, self._index(begin + (count - 1 - j)), self._row(count - 1 - j))
            )

        self._repeat_up_to(chosen.segments, segment)

    def exchange(self) -> None:
        """Let memory hold what it held at the other end of the loop."""
        if not self.others:
            self.keep_other()
            self._put_back(0)
            return
        for root, other in zip(self.loop.written_roots, self.others, strict=True):
            now = root.held.copy()
            root.held[...] = other
            other[...] = now

    def keep_other(self) -> None:
        """Keep what memory holds now, before the loop is walked back."""
        self.others = [root.held.copy() for root in self.loop.written_roots]

    # Parts of the loop.

    def _once(self, i: Any) -> None:
        self.one.run(i)

    def _advance(self, begin: Any, end: Any) -> None:
        """Run segments again, without a log."""
        turns = replace(self.turns, lower=self._at(begin), upper=self._at(end), going=None)
        self._repeat(turns, lambda i: self.one.run(i))

    def _keep(self, slot: Any) -> None:
        for root, snapshot in zip(self.loop.written_roots, self.snapshots, strict=True):
            snapshot[slot] = root.held

    def _put_back(self, slot: Any) -> None:
        for root, snapshot in zip(self.loop.written_roots, self.snapshots, strict=True):
            root.held[...] = snapshot[slot]

    def _repeat(self, turns: Turns, body: Callable[[Any], Any]) -> Any:
        return self.repeat(self.loop.context.outer, turns, body, self.loop.cells)

    def _repeat_up_to(self, count: Any, body: Callable[[Any], Any]) -> None:
        self._repeat(replace(self.turns, lower=0, upper=count, going=None), body)

    # Numbers.

    def _at(self, segment: Any) -> Any:
        """The index with which a segment begins; where the loop ends, for those after that."""
        index = self.turns.lower + segment * self.chosen.length
        if not hasattr(index, "place") and not hasattr(self.end, "place"):
            return min(index, self.end)
        return self._between(np.minimum(index, self.end), self.low, self.high)

    def _length(self, segment: Any) -> Any:
        """How many iterations a segment has."""
        rest = self._at(segment + 1) - self._at(segment)
        return self._between(rest, 0, self.chosen.length) if hasattr(rest, "place") else rest

    def _index(self, i: Any) -> Any:
        return self._between(i, self.low, self.high - 1)

    def _row(self, j: Any) -> Any:
        return self._between(j, 0, self.chosen.length - 1)

    def _between(self, number: Any, low: int, high: int) -> Any:
        """A traced integer of which it is known between what it lies."""
        return self.trace.between(number, low, high) if hasattr(number, "place") else number

    def _table(self, column: Sequence[int]) -> Callable[[Any], Any]:
        """Look up a number of a column by its place."""
        known = np.asarray(column, np.int64)
        if (known == known[0]).all():
            return lambda k: int(known[0])
        low, high = int(known.min()), int(known.max())
        if (np.diff(known) == known[1] - known[0]).all():
            return lambda k: self._between(int(known[0]) + k * int(known[1] - known[0]), low, high)
        table = self.trace.constant_buffer(known)
        return lambda k: self._between(table[k], low, high)
