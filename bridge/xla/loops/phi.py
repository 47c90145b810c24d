"""Array phis: if a branch binds a name to one of several arrays, the name's memory follows the array that it is.

A number beside the memory is the index of that array. The side that runs writes it. If a side has bound the name in an
inner branch, it uses the number of that branch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from bridge.rewind.indices import is_known
from bridge.rewind.memory import grounded
from bridge.rewind.places import Layout, View
from bridge.rewind.roots import Root, serial_now
from bridge.source.state import Place
from bridge.state.slots import GONE, Variable
from bridge.xla.loops.carried_values import settling
from bridge.xla.loops.may_alias import others_of
from bridge.xla.loops.trial_cache import PlanMismatch
from bridge.xla.tracing.following import SAME, Follower, whole


class _Older(NamedTuple):
    """Part of older memory; equal steps from one root lead to the same part."""

    root: Any
    steps: list[Any]
    array: Any


class Phi:
    """Which of the arrays that there were before a branch the memory of a name is after it.

    Parameters
    ----------
    cell : the memory.
    leaves : what the name is bound to on the sides.
    sinces : memory with higher numbers was made by the side.
    since : memory with higher numbers is not followed later on; without it, what there is now.

    Attributes
    ----------
    older : the arrays; None if it cannot be said which they are.
    kept : those of them that it follows: the others nobody can reach.
    """

    def __init__(
        self,
        context: Any,
        key: Any,
        cell: Any,
        leaves: Sequence[Any],
        sinces: Sequence[float],
        since: float | None = None,
    ) -> None:
        self.context, self.key, self.cell = context, key, cell
        self.following = context.home.trace.following
        self.older: list[_Older] | None = []
        self.kept: list[_Older] = []
        self.which: Any = None
        self.is_new = False
        self.since = serial_now() if since is None else since
        for leaf, before in zip(leaves, sinces, strict=True):
            self.meet(leaf, before)

    def meet(self, leaf: Any, since: float) -> bool:
        """Let it be possible that the name is bound to this, too; whether that is new."""
        found = self._older(leaf, since)
        fresh = [] if found is None or self.older is None else [one for one in found if not _number(self.older, one)]
        is_new = bool(fresh) or (found is None and self.older is not None)
        self.older = None if found is None or self.older is None else self.older + fresh
        return is_new

    def _older(self, leaf: Any, since: float) -> list[_Older] | None:
        """What a value may be of memory with numbers up to `since`."""
        if not hasattr(leaf, "view_as") or leaf.place is self.cell.place:
            return []
        root = leaf.place.root
        if root.serial <= since:
            one = _part_of(self.context, self.cell, leaf)
            return None if one is None else [one]
        inner = self.following.known.get(root)
        if inner is None:
            return []
        parts = [_part_of(self.context, self.cell, one) for one in inner.candidates if one.place.root.serial <= since]
        return None if leaf.place is not root or None in parts else [one for one in parts if one is not None]

    def keep(self, reaches: Any) -> None:
        """Find out which of them are to be followed, and make memory for their number."""
        wanted = self.following.is_wanted
        for one in self.older or ():
            key = *self.key, one.root
            run, root = self.context.home.trace.fingerprint, one.root

            def ask(key: Any = key, root: Any = root) -> bool:
                return wanted[key] if key in wanted else reaches({root, *others_of(self.context, root)})

            wanted[key] = ask() if run is None else run.decides(self.key, root, ask)
            if wanted[key] and not _number(self.kept, one):
                self.kept.append(one)
        if self.kept and self.which is None:
            self.is_new = True
            self.which = self.context.constant_buffer(np.zeros((), np.int64))

    @property
    def followed(self) -> Set[Root]:
        """The memory that a write into this one reaches."""
        return {one.root for one in self.kept}

    def number(self, leaf: Any) -> Any:
        """The number of the array that a name is bound to; PlanMismatch if that may be one that was not found."""
        older = self._older(leaf, self.since)
        if self.older is not None and (older is None or any(_number(self.older, one) == 0 for one in older)):
            raise PlanMismatch
        if self.which is None:
            return None
        if getattr(leaf, "place", None) is self.cell.place:
            return self.which[()]
        inner = None if not hasattr(leaf, "view_as") else self.following.known.get(leaf.place.root)
        if inner is None or leaf.place.root.serial <= self.since:
            return _number(self.kept, older[0]) if older else 0
        number: Any = 0
        for k, candidate in enumerate(inner.candidates, 1):
            if candidate.place.root is self.cell.place.root:
                # The turn may leave what it has found.
                mine = self.which[()]
            else:
                part = _part_of(self.context, self.cell, candidate)
                mine = 0 if part is None else _number(self.kept, part)
            number = np.where(inner.which[()] == k, mine, number)
        return number

    def take(self, number: Any) -> None:
        """Keep the number of what the name is bound to, now that those of all others are known."""
        if number is not None:
            with settling(self.context):
                self.which[...] = number

    def follow(self) -> None:
        """From now on, the memory follows them."""
        self.is_new = False
        if self.older is None:
            self.which = None
            self.kept = []
            self.following.drop([self.cell.place.root])
        if self.which is not None:
            self.following.add(Follower(self.cell, self.which, tuple(one.array for one in self.kept)))


def item(context: Any, found: Any, key: Any, values: Sequence[Any]) -> Any:
    """`values[key]` of a list of arrays, at an index that is known only in the run: a view of the selected array.

    `found` is a copy of that array. If an item is not tracked, the result is a read-only copy.
    """
    cell = np.copy(found)
    parts = [_part_of(context, cell, one) if hasattr(one, "view_as") else None for one in values]
    if None in parts:
        return np.broadcast_to(found, found.shape)
    which = context.constant_buffer(np.zeros((), np.int64))
    with settling(context):
        which[...] = np.where(key < 0, key + len(values), key) + 1
    context.home.trace.following.add(Follower(cell, which, tuple(one.array for one in parts if one is not None)))
    return cell


def _number(among: Sequence[_Older], one: _Older) -> int:
    """Which of them it is, counted from 1; 0 if it is none."""
    for number, other in enumerate(among, 1):
        if other.root is one.root and other.steps == one.steps:
            return number
    return 0


def _part_of(context: Any, cell: Any, array: Any) -> _Older | None:
    """Where an array lies; None if memory like `cell` cannot follow it.

    It must lie as that does, or views would be other views, and its place must be known.
    """
    root, steps, place = array.place.root, [], array.place
    while place is not root:
        if type(place) not in (View, Layout) or (type(place) is View and not is_known(place.key)):
            return None
        steps.append((type(place).__name__, place.key))
        place = place.parent
    if root.context is not context or array.place.overlapping or array.dtype != cell.dtype:
        return None
    if array.shape != cell.shape or not grounded(array).flags.c_contiguous:
        return None
    return _Older(root, steps, array.place.within(whole(root), SAME))


@contextmanager
def _nameless(places: Iterable[Place]) -> Iterator[None]:
    """Inside, variables hold nothing."""
    held = [(place, place.get()) for place in places if isinstance(place, Variable)]
    for place, _ in held:
        place.set(GONE)
    try:
        yield
    finally:
        for place, value in held:
            place.set(value)


def keep(context: Any, choosing: Iterable[Phi], places: Iterable[Place]) -> None:
    """Find out what is to be followed: what the program reaches by other names than those that the branch binds."""
    some = [one for one in choosing if one.older]
    if some and context.loan is not None:
        with _nameless(places):
            for one in some:
                one.keep(context.loan.names.reaches)
