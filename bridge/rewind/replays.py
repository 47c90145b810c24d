"""Whether a checkpointed call that was run again has done the same: its values, what it read, its operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import repeat
from typing import Any, NamedTuple, Protocol
from zlib import crc32

import numpy as np

from bridge.code_position import Position
from bridge.errors import ReplayError
from bridge.rewind.context import Context
from bridge.rewind.fingerprint import Fingerprint, constants, parting
from bridge.rewind.log import Entry, Overwritten
from bridge.rewind.memory import grounded
from bridge.rewind.places import DEEP, View, by_address, places_in
from bridge.rewind.roots import Root


class Constants(NamedTuple):
    """Hashes of the constants that a run of a call read: what was not among its arguments.

    Attributes
    ----------
    steps : its operations, and how many plain operands each has.
    sums : the plain operands.
    older : the numbers of memory that was there before the call.
    reads : how many places each operation reads and writes.
    keys : the keys of these places.
    """

    steps: int
    sums: int
    older: frozenset[int]
    reads: int
    keys: int


class Replayed(Protocol):
    """The log entry of a checkpointed call, with a record of its first run."""

    context: Context
    position: Position
    results: list[Any]
    saved: list[Overwritten]
    activated: list[Root]
    constants: Constants
    noted: Fingerprint | None
    since: int

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def out(self) -> Sequence[Root]:
        """The roots of its results."""

    @property
    def where(self) -> str | None:
        """The line of the program."""


def check_same(entry: Replayed, results: list[Any], noted: Fingerprint | None) -> None:
    """Raise ReplayError unless a call did the same when it was run again; `noted` is the fingerprint of that run.

    What compiled programs cannot tell before they run, they are left to tell then.
    """
    pairs = zip(results, entry.results, strict=False)
    same = len(results) == len(entry.results) and all(
        _equal(new.value, old.value) for new, old in pairs if old.place.root in entry.out
    )
    writes = Counter(id(part.place.root) for part in entry.saved)
    same = same and all(
        _equal(array[key], saved) for place, array, key, saved in entry.saved if writes[id(place.root)] == 1
    )
    if same:
        woken = frozenset(root.serial for root in entry.activated)
        if not _same_constants(entry.constants, constants_of(entry.context, entry.context.log, entry.since), woken):
            raise other_constants(entry.name, entry.where)
    if not same:
        raise ReplayError(
            f"{entry.name} gave other values when it was run again for the backward pass",
            where=entry.where,
            remedy="make it depend on its arguments only: pass random numbers in, keep counters and files outside",
        )
    if entry.noted is None or noted is None:
        return
    differs = parting(entry.noted, noted)
    if differs is not None:
        raise ReplayError(
            f"{entry.name} did something else when it was run again for the backward pass: {differs}",
            where=entry.where,
            remedy="make it depend on its arguments only, and leave what it reads as it is until the backward pass",
        )
    for before, now in zip(constants(entry.noted), constants(noted), strict=False):
        is_as = before.is_as(now, (entry.noted, noted))
        if is_as is None:
            entry.context.home.must_be_same(before.contents, now.contents, entry.name, entry.position)
        elif not is_as:
            raise other_constants(entry.name, entry.where)


def other_constants(name: str, where: Any) -> ReplayError:
    """The error of a call that has read something else when it was run again."""
    return ReplayError(
        f"{name} has read other constants when it was run again for the backward pass: an array or a number that it "
        "captured was changed in between",
        where=where,
        remedy="pass it as an argument, which is kept, or do not change it before the backward pass",
    )


def constants_of(context: Context, entries: list[Entry], since: int) -> Constants:
    """Checksums of a call's operations; and of what their pulls and indices read that the call was not given.

    That is plain arrays, numbers, and which memory that existed before the call, up to the serial number `since`.
    Memory of whose making nothing is known, below 0, may be the call's own, and has another number in its first run.
    """
    steps = sums = reads = keys = 0
    older: set[int] = set()
    checksum = context.snapshots.checksum
    for entry in entries:
        found: list[Any] = []
        picked: list[Any] = []
        if entry.replays:
            inner: Constants = entry.constants  # type: ignore[attr-defined]
            found.append(inner.sums)
            picked.append(inner.keys)
            older |= inner.older
            steps, reads = hash((steps, inner.steps)), hash((reads, inner.reads))
        elif (call := entry.call) is not None:
            for x, place in zip(call.args, call.inputs, strict=False):
                if x is not None:
                    _add_plain(found, x, place, checksum)
            for x in call.kwargs.values():
                _add_plain(found, x, None, _checksum)
            mask = getattr(entry, "mask", None)
            if mask is not None:
                _add_plain(found, mask, None, _checksum)
        read = list(entry.reads())
        older.update(place.root.serial for place in read)
        # A write into memory without a gradient changes values only, and may be one of code that is not read.
        written = [] if type(entry.out) is Root else [place for place in places_in(entry.out) if place.root.active]
        for place in (*read, *written):
            if type(place) is not Root:
                _add_keys(picked, place)
        steps = hash((steps, entry.name, len(found), found.count(None)))
        reads = hash((reads, len(read), len(written)))
        sums, keys = hash((sums, *found)), hash((keys, *picked))
    return Constants(steps, sums, frozenset(serial for serial in older if 0 <= serial <= since), reads, keys)


def _add_keys(found: list[Any], place: Any) -> None:
    """Add the keys by which a place lies in its root."""
    while place is not place.root:
        # A view of views may be found by its address in the second run.
        is_deep = place.depth >= DEEP and isinstance(place, View)
        place, key = by_address(place) if is_deep else (place.parent, place.key)
        _add_plain(found, key, None, _checksum)


def _add_plain(found: list[Any], x: Any, place: Any, checksum: Callable[[np.ndarray], int | None]) -> None:
    """Add checksums of the plain arrays in an operand or a key, and its plain numbers and texts."""
    kind = type(x)
    if kind in _PLAIN_ARRAYS:
        found.append(checksum(x) if place is None else None)
    elif kind is slice:
        found.append(":")
        for bound in (x.start, x.stop, x.step):
            if bound is None or type(bound) is int:
                found.append(bound)
            else:
                _add_plain(found, bound, None, checksum)
    elif isinstance(x, (list, tuple)):
        for part, inner in zip(x, place or repeat(None), strict=False):
            _add_plain(found, part, inner, checksum)
    elif place is None and isinstance(x, _PLAIN):
        found.append(x if kind is int else repr(x))


def _checksum(array: np.ndarray) -> int:
    return crc32(array.tobytes())


_PLAIN_ARRAYS = frozenset({np.ndarray, np.memmap})
_PLAIN = (int, float, complex, np.generic, str, type(None), type(Ellipsis))


def _same_constants(before: Constants, now: Constants, woken: frozenset[int]) -> bool:
    """Whether two runs read the same constants, where they logged the same operations.

    An array may carry a gradient in the second run that it did not carry yet in the first: then more is logged. Memory
    that the first run read and then `woken`, by writing the first gradient into it, was put back, and is no other.
    """
    if before.steps != now.steps:
        return True
    is_older = before.older <= now.older <= before.older | woken
    return before.sums == now.sums and is_older and (before.reads != now.reads or before.keys == now.keys)


def _equal(new: Any, old: Any) -> bool:
    new, old = grounded(new), grounded(old)
    return np.shape(new) == np.shape(old) and bool(
        np.array_equal(new, old, equal_nan=np.asarray(new).dtype.kind in "fc")
    )
