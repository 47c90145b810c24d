"""A body that runs with a log: what an iteration overwrites, what of that is kept, and the backward pass.

The backward pass finds the memory before an iteration by the places that the iteration overwrote. Integers in these
places that the body computed are kept with the overwritten slices. Those that follow from the loop's own index are
computed again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.rewind import strong_zeros
from bridge.rewind.forward import ForwardContext
from bridge.rewind.log import Entry
from bridge.rewind.roots import Root, ground_of
from bridge.xla.loops.key_substitution import Unknowns, target_of
from bridge.xla.loops.shadows import lend, settle
from bridge.xla.loops.taped import Taped
from bridge.xla.regions.affine import serial_of_now
from bridge.xla.tracing.allowances import Wishes
from bridge.xla.tracing.memos import Memo


@dataclass(frozen=True)
class Sweep:
    """A walk back through a loop, as it was begun: a context outside may take it again when this one has ended.

    `homes` are the shadows of older memory; `marks`, memory like it, says which cotangents structurally exist at
    the loop's end, where that is known; in a walk with marks in place of cotangents, `walking`, the homes hold them.
    """

    homes: dict[Root, Any]
    marks: dict[Root, Any] | None
    walking: bool
    once: bool


class RecordedBody:
    """One body under the log of a context, for loops and branches alike.

    `allowed` are the bytes that loops inside of it may take for what they keep, `wishes` those that they would like.
    """

    def __init__(self, context: Any, body: Taped, since: int) -> None:
        self.context = context
        self.body = body
        self.since = since
        self.woken: list[Root] = []
        self.settled = serial_of_now()
        self.roots: list[Root] = []
        self.whole: list[Root] = []
        self.written: list[Root] = []
        self.saved: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
        self.indices: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
        self.logs: list[Any] = []
        self.index_logs: list[Any] = []
        self.memo = Memo(None)
        self.results: list[tuple[tuple[int, ...], np.dtype[Any]]] = []
        self.result_logs: list[Any] = []
        self.active: dict[Root, bool] = {}
        self.allowed = math.inf
        self.wishes = Wishes()
        self.followers = self.context.home.trace.following.active

    def describe(self, i: Any) -> None:
        """Run the body once and note what it does; effects on the program are the caller's to undo."""
        entries = self.run(i)
        older = [root for entry in entries for root in _roots(entry) if root.serial <= self.since]
        self.roots = [root for root in dict.fromkeys(older) if root.dtype.kind in "fc"]
        self.active = {}
        self.woken = [root for entry in entries for root in entry.woken() if root.serial <= self.since]
        for root in self.woken:
            root.active = False
        self.whole = [root for root in dict.fromkeys(_written_whole(entries)) if root.serial <= self.since]
        parts = self._parts(entries)
        self.written = [place.root for place, _ in parts]
        self.saved = [(tuple(np.shape(saved)), saved.dtype) for _, saved in parts]
        self._find_places(i, parts)
        self.indices = [(tuple(one.shape), one.dtype) for one in self.unknowns.values()]
        self.results = [(np.shape(like), np.result_type(like)) for like, _ in self.memo.found]

    @property
    def bytes(self) -> int:
        """What the log of one iteration takes."""
        whole = [(root.shape, root.dtype) for root in self.whole]
        parts = (*whole, *self.saved, *self.indices, *self.results)
        return sum(math.prod(shape) * dtype.itemsize for shape, dtype in parts)

    def run(self, i: Any, given: list[Any] | None = None) -> list[Entry]:
        """Run the body with a log of its own. `given` are the results of its expensive calls in the forward pass.

        A context outside may run it again long after this one has ended: older memory is active as it was.
        """
        context = self.context
        trace = context.home.trace
        log, context.log = context.log, []
        before = {root: root.active for root in self.active}
        # In derivatives of derivatives, what was computed is memory of a context that differentiates as well.
        memo, trace.memo = trace.memo, None if context.outer.differentiates else Memo(trace.frames[-1], given)
        self.memo = trace.memo or Memo(None)
        try:
            for root, active in self.active.items():
                root.active = active
            allowances = trace.allowances.within(self.allowed, self.wishes)
            followers = trace.following.as_they_were(self.followers)
            settled = trace.as_settled(self.settled)
            with context.reopened(), _unheard(context), followers, settled, allowances as scope:
                self.body(i)
            self.wishes = scope.wishes
            return context.log
        finally:
            trace.memo = memo
            context.log = log
            for root, active in before.items():
                root.active = active

    def settle_activity(self) -> None:
        """Note which older memory carries a gradient, now that it is known."""
        self.active = {root: root.active for root in self.roots}

    def _parts(self, entries: list[Entry]) -> list[tuple[Any, Any]]:
        """`(place, saved)` of the older memory that the entries overwrote."""
        whole = set(self.whole)
        return [
            (part.place, part.saved)
            for entry in entries
            for part in entry.overwritten()
            if part.place.root.serial <= self.since and part.place.root not in whole
        ]

    def make_logs(self, count: int) -> None:
        """Memory for what `count` iterations overwrite."""
        below, trace = self.context.outer, self.context.home.trace
        whole = [(root.shape, root.dtype) for root in self.whole]
        self.logs = [below.blank((count, *shape), dtype) for shape, dtype in (*whole, *self.saved)]
        self.index_logs = [trace.blank((count, *shape), dtype) for shape, dtype in self.indices]
        self.result_logs = [trace.blank((count, *shape), dtype) for shape, dtype in self.results]

    @property
    def integers(self) -> list[Any]:
        """The integers and masks in the logs, which each iteration writes, as memory of the outermost context."""
        logs = (*self.logs, *self.index_logs, *self.result_logs)
        return [ground_of(log.place.root) for log in logs if log.dtype.kind in "iub"]

    def forward(self, i: Any, k: Any) -> None:
        """Iteration `i`, for which row `k` keeps what it overwrites."""
        for root, log in zip(self.whole, self.logs, strict=False):
            log[k] = root.held
        parts = self._parts(self.run(i))
        for (_, saved), log in zip(parts, self.logs[len(self.whole) :], strict=True):
            log[k] = saved
        self._find_places(i, parts)
        for one, log in zip(self.unknowns.values(), self.index_logs, strict=True):
            log[k] = one
        trace = self.context.home.trace
        for (like, contents), log in zip(self.memo.found, self.result_logs, strict=True):
            log[k] = trace.entered(like, contents)

    def _find_places(self, i: Any, parts: list[tuple[Any, Any]]) -> None:
        """Note where older memory was overwritten, and what has to be kept to find it again."""
        self.places = [place for place, _ in parts]
        self.unknowns = Unknowns(self.context.home.trace, i, self.places)

    def exchange(self, i: Any, k: Any, back: bool, keep: bool = True) -> None:
        """Put back what iteration `k` overwrote, or, not `back`, what it wrote."""
        replaced = self.unknowns.replaced(i, [log[k] for log in self.index_logs])
        swap = self.context.memory.swap
        targets: list[tuple[Any, Any, Any]] = [
            (root.held, Ellipsis, log) for root, log in zip(self.whole, self.logs, strict=False)
        ]
        for place, log in zip(self.places, self.logs[len(self.whole) :], strict=True):
            array, key = target_of(place, replaced)
            targets.append((array, key, log))
        for array, key, log in reversed(targets) if back else targets:
            if keep:
                log[k] = swap(array, key, log[k])
            else:
                array[key] = log[k]

    def backward(self, i: Any, k: Any, sweep: Sweep) -> None:
        """Undo iteration `k`, run it again with its log, and rewind that."""
        context = self.context
        self.exchange(i, k, back=True, keep=not sweep.once)
        log, position, walking = context.log, context.undone_from, context.walking
        active = {root: root.active for root in self.active}
        lend(sweep.homes)
        try:
            given = [log.place.context.read(log[k].place) for log in self.result_logs]
            context.log, context.undone_from, context.walking = self.run(i, given), None, sweep.walking
            for root, was in self.active.items():
                root.active = was
            if sweep.walking:
                strong_zeros.walk(context, ())
            elif sweep.marks is None:
                context.rewind(())
            else:
                lend(sweep.marks)
                present = strong_zeros.walk(context, ())
                context.play_forward()
                settle(sweep.marks)
                lend(sweep.homes)
                context.rewind((), present)
        finally:
            context.log, context.undone_from, context.walking = log, position, walking
            for root, was in active.items():
                root.active = was
        settle(sweep.homes)


@contextmanager
def _unheard(context: Any) -> Iterator[None]:
    """Disable the listener: it was notified of the operations when the body was recorded."""
    before, context.listener = context.listener, None
    try:
        yield
    finally:
        context.listener = before


def is_logged(context: Any) -> bool:
    """Whether what a loop overwrites is kept, turn by turn."""
    while context.differentiates:
        if not isinstance(context, ForwardContext):
            return True
        context = context.outer
    return False


def _written_whole(entries: list[Entry]) -> Iterator[Root]:
    """Memory of which nothing was kept before an entry wrote it, by loops and branches: all of it has to be."""
    for entry in entries:
        yield from (part.place.root for part in entry.overwritten() if part.saved is None)


def _roots(entry: Entry) -> Iterator[Root]:
    """The roots that an entry reads or writes."""
    yield from (place.root for place in (*entry.writes(), *entry.reads()))
