"""The log of a loop under `memory=`: discarded in the forward pass, and made again in parts for the backward pass."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from bridge.errors import ReplayError
from bridge.loops_in_c.building import Run
from bridge.rewind.checkpoint_schedule import Placement, Size, Store, placed, placement


class State(NamedTuple):
    """What a loop has computed when an iteration begins: all that the next iterations read."""

    memory: list[np.ndarray]
    integers: np.ndarray
    floats: np.ndarray
    local: list[np.ndarray | None]


class Replay:
    """Runs parts of a loop again, from snapshots of its state.

    Parameters
    ----------
    run : the loop. It runs on copies of what it writes.
    written : the memory of these copies.
    schedule : where the snapshots are, and which parts are run from them.
    done : how many iterations the loop has run.
    """

    def __init__(self, run: Run, written: Sequence[np.ndarray], schedule: Placement, done: int) -> None:
        self.run, self.written, self.schedule, self.done = run, written, schedule, done

    def logs(self) -> Iterator[None]:
        """The parts, from the last to the first; after each step the run has the log of one part, and ends with it."""
        run, schedule = self.run, self.schedule
        run.release()
        run.begin()
        slots = {0: self._state()}
        for store in schedule.first:
            self._store(slots, store)
        # All iterations run before the first backward step, so local arrays and shadows have their final capacity.
        for k in reversed(range(schedule.segments)):
            for store in schedule.stores[k]:
                self._store(slots, store)
            slot, begin = schedule.starts[k]
            self._return_to(slots[slot])
            self._run(begin, k, discards=True)
            self._run(k, k + 1, discards=False)
            yield
        run.release()

    def _store(self, slots: dict[int, State], store: Store) -> None:
        self._return_to(slots[store.source])
        self._run(store.begin, store.end, discards=True)
        slots[store.target] = self._state()

    def _run(self, begin: int, end: int, discards: bool) -> None:
        """Run the segments from `begin` to `end`."""
        length = self.schedule.length
        first, last = begin * length, min(end * length, self.done)
        if first >= last:
            return
        done = self.run.proceed(first, last - first, discards)
        if done != last - first or self.run.frame.full:
            raise ReplayError(
                f"a loop in C has stopped after {first + done} of {self.done} iterations when it was run again",
                remedy="let Python run the loops (BRIDGE_LOOPS=python)",
            )

    def _state(self) -> State:
        run = self.run
        return State([one.copy() for one in self.written], run.integers.copy(), run.floats.copy(), run.local_state())

    def _return_to(self, state: State) -> None:
        for array, held in zip(self.written, state.memory, strict=True):
            array[...] = held
        self.run.return_to(state.integers, state.floats, state.local)


def size_of(run: Run, written: int, done: int) -> Size:
    """The sizes by which a schedule is chosen; `written` are the bytes of the memory that the loop writes."""
    local = sum(one.nbytes for one in run.local_state() if one is not None)
    return Size(done, math.ceil(run.logged / done), written + local + run.integers.nbytes + run.floats.nbytes)


def schedule_of(size: Size, allowed: int) -> Placement | None:
    """The schedule that keeps within `allowed` bytes; None if there is none."""
    if size.whole + size.snapshot <= allowed:
        return placed(1, 1, size.iterations)
    return placement(size, allowed)
