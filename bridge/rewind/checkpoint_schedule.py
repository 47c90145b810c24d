"""The checkpoint schedule of a loop whose log would take too much memory: where snapshots are, and what is run again.

A loop is cut into segments. Some of them begin with a snapshot of the memory that the loop writes. On the way back, the
last remaining segment is run again from the nearest snapshot, with a log, and walked back. With a snapshot for each
segment, each iteration is run once more than without snapshots. With fewer, the schedule is that of binomial
checkpointing (Griewank and Walther, "Algorithm 799: Revolve", 2000): no other one with as many snapshots runs less.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np


class Size(NamedTuple):
    """Of a loop: its iterations, and the bytes of the log of one, and of a snapshot."""

    iterations: int
    log: int
    snapshot: int

    @property
    def whole(self) -> int:
        """Bytes of the whole log."""
        return self.iterations * self.log

    @property
    def least(self) -> int:
        """Bytes without which there is no way back."""
        return min(self.whole, self.log + self.snapshot)


class Store(NamedTuple):
    """From the snapshot in `source`, taken where segment `begin` begins, run to where `end` begins; keep that."""

    source: int
    begin: int
    end: int
    target: int


@dataclass(frozen=True)
class Placement:
    """Snapshots for a loop of `segments` segments, each of `length` iterations (the last one perhaps fewer).

    Parameters
    ----------
    slots : how many snapshots there are at a time.
    first : what is kept while the loop runs for the first time.
    stores : for each segment what is done, before it is run again.
    starts : for each segment the slot of the snapshot from which it is run again, and the segment that begins there.
    """

    length: int
    segments: int
    slots: int
    first: tuple[Store, ...]
    stores: tuple[tuple[Store, ...], ...]
    starts: tuple[tuple[int, int], ...]

    @property
    def has_all(self) -> bool:
        """Whether every segment has a snapshot."""
        return self.slots >= self.segments

    @property
    def runs(self) -> float:
        """How often an iteration is run again in the mean."""
        advanced = sum(one.end - one.begin for stores in self.stores for one in stores)
        advanced += sum(k - begin for k, (_, begin) in enumerate(self.starts))
        return 1 + advanced / self.segments

    def bytes(self, size: Size) -> int:
        """What snapshots and the log of a segment take."""
        return self.slots * size.snapshot + self.length * size.log


def placement(size: Size, allowed: int) -> Placement | None:
    """The placement within `allowed` bytes that runs least again, and of these the smallest; None if none fits."""
    choices = [one for one in _choices(size, allowed) if one is not None]
    if not choices:
        return None
    _, _, slots, length = min(choices)
    return placed(math.ceil(size.iterations / length), slots, length)


def _choices(size: Size, allowed: int) -> Iterator[tuple[int, int, int, int]]:
    """Iterations that are run again, bytes, number of snapshots, length of a segment."""
    best = max(1, round(math.sqrt(size.iterations * size.snapshot / size.log)))
    for length in {best, max(1, best - 1), best + 1, *_numbers(size.iterations)}:
        slots = math.ceil(size.iterations / length)
        taken = slots * size.snapshot + length * size.log
        if taken <= allowed:
            yield size.iterations, taken, slots, length
    most = (allowed - size.log) // size.snapshot if size.snapshot else size.iterations
    for slots in _numbers(min(most, size.iterations)):
        length = (allowed - slots * size.snapshot) // size.log
        segments = math.ceil(size.iterations / length)
        if slots < segments:
            again = (segments + advances(segments, slots)) * length
            yield again, slots * size.snapshot + length * size.log, slots, length


def _numbers(most: int) -> list[int]:
    """Numbers up to `most`: all of the small ones, and some of the others."""
    large = np.unique(np.geomspace(64, most, 200).astype(int)).tolist() if most > 64 else []
    return [*range(1, min(most, 64) + 1), *(one for one in large if one > 64)]


def advances(segments: int, slots: int) -> int:
    """How many segments are run again only to come to others, with the best placement of `slots` snapshots."""
    return _least_runs(segments, slots) - segments + 1 if segments > 1 else 0


def _least_runs(segments: int, slots: int) -> int:
    """Of all ways back through segments, the first of which has a snapshot: the fewest that are run without a log."""
    rounds = _rounds(segments, slots)
    return rounds * segments - math.comb(slots + rounds, rounds - 1) if rounds else 0


def _rounds(segments: int, slots: int) -> int:
    """How often a segment is run without a log at most."""
    rounds = 0
    while math.comb(slots + rounds, slots) < segments:
        rounds += 1
    return rounds


def placed(segments: int, slots: int, length: int) -> Placement:
    """The best placement of `slots` snapshots."""
    stores: list[list[Store]] = [[] for _ in range(segments)]
    starts: list[tuple[int, int]] = [(0, 0)] * segments
    first: list[Store] = []
    pending: list[Store] = []
    went_back = False
    # Parts to be walked back, the last one on top: where they begin and end, slot of their snapshot, free slots.
    parts = [(0, segments, 0, tuple(range(slots - 1, 0, -1)))]
    while parts:
        begin, end, slot, free = parts.pop()
        if end - begin == 1 or not free:
            for k in range(end - 1, begin - 1, -1):
                starts[k] = slot, begin
            if went_back:
                stores[end - 1] = pending
            else:
                first, went_back = pending, True
            pending = []
            continue
        middle = begin + _first_part(end - begin, len(free) + 1)
        *rest, target = free
        pending.append(Store(slot, begin, middle, target))
        parts.append((begin, middle, slot, free))
        parts.append((middle, end, target, tuple(rest)))
    return Placement(length, segments, slots, tuple(first), tuple(map(tuple, stores)), tuple(starts))


def _first_part(segments: int, slots: int) -> int:
    """After how many segments the next snapshot lies."""
    rounds = _rounds(segments, slots)
    # The rest has one snapshot less, and is run as often; the part before it is run once less often.
    return max(1, segments - math.comb(slots - 1 + rounds, slots - 1), math.comb(slots + rounds - 2, slots))
