"""Memory that follows other memory: a name that a branch has bound to one array or another.

Such a name has memory of its own, which holds what the array holds that it stands for, and a number beside it says
which one that is. Reads know nothing of this. A write into it is repeated in each array that it may stand for, where
the number says so; a write into one of these is repeated in all that may stand for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.places import Layout, Walk
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded_in
from bridge.rewind.values import is_abstract_mask


class Follower(NamedTuple):
    """Memory that follows other memory.

    `which` holds the number of the candidate that `cell` is, counted from 1; 0 if it is none of them.
    """

    cell: Any
    which: Any
    candidates: tuple[Any, ...]

    @property
    def root(self) -> Any:
        return self.cell.place.root


class _Same(Walk):
    """The array that lies in another one as a place does in its root."""

    __slots__ = ()

    def layout(self, above: Any, part: Layout) -> Any:
        return above.view_as(*part.key)


SAME = _Same()


def whole(root: Any) -> Any:
    """All of the memory of a root, as the program has it."""
    return ARRAYS.buffer(root.held, root)


class Followers:
    """Who follows whom, as things are now: what a part of the program has made is forgotten after it.

    Attributes
    ----------
    known : followers that there have been, by their memory.
    is_wanted : whether the program could reach what a place stands for when that was asked for the first time.
    """

    def __init__(self) -> None:
        self.active: tuple[Follower, ...] = ()
        self.known: dict[Any, Follower] = {}
        self.is_wanted: dict[Any, bool] = {}

    def add(self, follower: Follower) -> None:
        """From now on, this one follows."""
        context = follower.cell.place.context
        if OPEN and recorded_in(context, _follow_again, *follower) is not NOT_RECORDED:
            return
        self.drop([follower.root])
        self.active = (*self.active, follower)
        self.known[follower.root] = follower
        follower.cell.place.context.followers = self

    def drop(self, roots: Iterable[Any]) -> None:
        """From now on, memory follows nothing."""
        gone = set(roots)
        if OPEN:
            for one in self.active:
                if one.root in gone:
                    recorded_in(one.cell.place.context, _drop_again, one.cell)
        self.active = tuple(one for one in self.active if one.root not in gone)

    @contextmanager
    def as_they_were(self, active: tuple[Follower, ...]) -> Iterator[None]:
        """Inside, these are all; afterwards it is as before."""
        before, self.active = self.active, active
        try:
            yield
        finally:
            self.active = before

    def written(self, target: Any, key: Any) -> None:
        """`target[key]` was written: let all that stands for it, and all that it stands for, hold the same."""
        context, root = target.place.context, target.place.root
        if context.settling or not any(root is one.root or _holds(one, root) for one in self.active):
            return
        if is_abstract_mask(key):
            key = Ellipsis
        before, context.settling = context.settling, True
        try:
            _Spread(self.active, _Region(target.place, key)).run()
        finally:
            context.settling = before


def _follow_again(context: Any, cell: Any, which: Any, candidates: tuple[Any, ...]) -> None:
    context.home.trace.following.add(Follower(cell, which, candidates))


def _drop_again(context: Any, cell: Any) -> None:
    context.home.trace.following.drop([cell.place.root])


def _holds(follower: Follower, root: Any) -> bool:
    return any(one.place.root is root for one in follower.candidates)


class _Region(NamedTuple):
    """A part of memory: the same part is found in other memory that lies alike."""

    place: Any
    key: Any

    def of(self, array: Any) -> Any:
        return self.place.within(array, SAME)[self.key]

    def put(self, array: Any, is_wanted: Any, value: Any) -> None:
        inside = self.place.within(array, SAME)
        inside[self.key] = np.where(is_wanted, value, inside[self.key])


class _Spread:
    """What one write makes of those who follow: first what the written memory stands for, then what stands for that."""

    def __init__(self, followers: tuple[Follower, ...], region: _Region) -> None:
        self.followers = {one.root: one for one in followers}
        self.region = region
        self.origin = region.place.root
        # Of memory that has changed, which part has: None for any.
        self.changed: dict[Any, _Region | None] = {self.origin: region}

    def run(self) -> None:
        if self.origin in self.followers:
            self._hand_up(self.followers[self.origin], self.region, True)
        for one in self.followers.values():
            if one.root is not self.origin:
                self._follow(one)

    def _hand_up(self, one: Follower, region: _Region | None, is_wanted: Any) -> None:
        """Write what a follower holds into the array that it is."""
        for number, candidate in enumerate(one.candidates, 1):
            is_this = np.logical_and(one.which[()] == number, is_wanted)
            _put(region, candidate, is_this, one.cell)
            root = candidate.place.root
            part = region if candidate.place is root else None
            self.changed[root] = part if self.changed.get(root, part) is part else None
            if root in self.followers:
                self._hand_up(self.followers[root], part, is_this)

    def _follow(self, one: Follower) -> None:
        """Let a follower hold what the array holds that it is, if that has changed."""
        for number, candidate in enumerate(one.candidates, 1):
            root = candidate.place.root
            if root in self.changed:
                part = self.changed[root] if candidate.place is root else None
                _put(part, one.cell, one.which[()] == number, candidate)
                self.changed[one.root] = part if self.changed.get(one.root, part) is part else None


def _put(region: _Region | None, array: Any, is_wanted: Any, source: Any) -> None:
    """Let a part of an array, or all of it, hold what the same part of another one does, where that is wanted."""
    if region is None:
        array[...] = np.where(is_wanted, source, array)
    else:
        region.put(array, is_wanted, region.of(source))
