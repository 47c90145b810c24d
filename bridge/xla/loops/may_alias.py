"""Memory that may be one of several arrays after a branch, and errors of writes that would have to reach another one.

A name that the sides of a branch bind to different arrays has memory of its own, which both sides write; the program
may read it. If these arrays have other names, a write is repeated in them where their places are known (`phi`). Where
they are not, a write is an error (`Ownership.writable`), unless the program cannot reach any of these arrays any more:
`x = x * 2` on one side, and nobody has what `x` was before.
What a function returns may be an array that the function goes on to write on paths that do not return it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations
from typing import Any, NamedTuple

from bridge.code_position import here
from bridge.rewind.ownership import Standing
from bridge.source.staging.jumps import VALUE
from bridge.trees import containers_of

Known = Mapping[Any, Standing]
"""For memory where it was found out that it may be other memory, and which."""

_NOTHING: Standing = Standing(None, frozenset(), frozenset())


def stood_for(
    context: Any,
    name: str,
    root: Any,
    older: Iterable[Any],
    known: Known | None = None,
    followed: Set[Any] = frozenset(),
) -> None:
    """Take note that memory which a name is bound to stands for older memory, some of which it follows.

    `known` is what older memory stood for.
    """
    if name == VALUE:
        _returns(context, root, ((one, one in followed) for one in older))
    else:
        known = dict(context.merged) if known is None else known
        others, apart = _met(known, ((one, one in followed) for one in older))
        merge(context, root, others, apart)


def _met(known: Known, older: Iterable[tuple[Any, bool]]) -> tuple[set[Any], set[Any]]:
    """Memory that may be this or that older memory may be others, too: which, and which of them are apart from it."""
    others: set[Any] = set()
    apart: set[Any] = set()
    for one, is_followed in older:
        standing = known.get(one, _NOTHING)
        met = {one, *standing.others}
        others |= met
        apart |= standing.apart if is_followed else met
    return others, apart


def merge(context: Any, root: Any, others: Iterable[Any], apart: Iterable[Any] | None = None) -> None:
    """Take note that memory may be other memory, each of which is another one: a write into it is one into that.

    Those `apart`, all of them if nothing is said, would not follow a write.
    """
    position = here()
    others = set(others) - {root}
    apart = others if apart is None else set(apart)
    for one in others:
        for mine, other in ((root, one), (one, root)):
            before = context.merged.get(mine, _NOTHING)
            left = before.apart | {other} if one in apart else before.apart
            context.merged[mine] = Standing(position, before.others | {other}, left)


def others_of(context: Any, root: Any) -> Set[Any]:
    """What memory may be, as far as that was found out."""
    return _others(context.merged, root)


def _others(known: Known, root: Any) -> Set[Any]:
    return known.get(root, _NOTHING).others


def all_known(one: Known, other: Known) -> dict[Any, Standing]:
    """What either knows."""
    both = dict(one)
    for root, standing in other.items():
        before = both.get(root, _NOTHING)
        both[root] = Standing(standing.position, before.others | standing.others, before.apart | standing.apart)
    return both


Bound = tuple[Any, Any, Set[Any]]
"""Memory that a name is bound to after a branch, what it is on one side, and what it follows."""


def shared_on_a_side(context: Any, sides: Iterable[Sequence[Bound]], known: Known) -> None:
    """Take note of names that are bound to one array on a side of a branch, each with memory of its own afterwards."""
    for bound in sides:
        for (cell, root, followed), (other_cell, other, other_followed) in combinations(bound, 2):
            if root is other or other in _others(known, root):
                is_followed = root in followed and other in other_followed
                is_apart = not is_followed or other in known.get(root, _NOTHING).apart
                merge(context, cell, [other_cell], [other_cell] if is_apart else [])


class Left(NamedTuple):
    """Of a place: the memory that the next turn finds, and the memory that a turn has left.

    The former follows what was there before memory with the number `since`; nothing if that is None.
    """

    cell: Any
    root: Any
    since: float | None


def handed_to_the_next_turn(context: Any, left: Sequence[Left]) -> None:
    """What a turn leaves is copied into the memory that the next one finds, which stands for the same from then on.

    What the turn found, and nobody was left with, is nobody's any more: names that two places have exchanged are apart.
    """
    if not context.merged:
        return
    known = dict(context.merged)
    found = {one.cell for one in left}
    now = {one.root: one.cell for one in left}
    for cell, root, since in left:
        standing = known.get(root, _NOTHING)
        met = [one for one in standing.others if one in now or one not in found]
        apart = [one for one in met if since is None or one in standing.apart or one.serial > since]
        merge(context, cell, {now.get(one, one) for one in met}, {now.get(one, one) for one in apart})


def may_be(context: Any, cell: Any, older: Any, is_followed: bool) -> None:
    """Take note that memory may be older memory, and all that this may be."""
    merge(context, cell, *_met(context.merged, [(older, is_followed)]))


def passed_on(context: Any, value: Any, cell: Any, is_followed: bool = False) -> None:
    """What is about to be returned is copied into another cell, which follows what it does or does not."""
    root = getattr(getattr(value, "place", None), "root", None)
    if root is not None and root in context.returning:
        more = [(one, was and is_followed) for one, was in context.returning[root].items()]
        _returns(context, cell.place.root, [(root, is_followed), *more])


def _returns(context: Any, root: Any, older: Iterable[tuple[Any, bool]]) -> None:
    """Take note that memory which is about to be returned stands for older memory, and whether it follows that."""
    known = context.returning.setdefault(root, {})
    for one, is_followed in older:
        known[one] = known.get(one, True) and is_followed


def returned(context: Any, value: Any) -> None:
    """A function returns: from now on, what it gives has another name."""
    for leaf in containers_of(value)[0]:
        root = getattr(getattr(leaf, "place", None), "root", None)
        if root is not None and root in context.returning:
            merge(context, root, *_met(context.merged, context.returning.pop(root).items()))
