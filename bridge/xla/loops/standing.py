"""Memory that stands for one array or another, as a branch has it: a write into either would be one into both.

What a name is bound to by a branch is memory of its own, which both sides write: the program may read it. If it stands
for arrays that have other names, who else sees a write is not known, and a write is an error (`Ownership.writable`)
unless the program can reach none of these any more: `x = x * 2` on one side, and nobody has what `x` was before.
What a function is about to return may stand for arrays that it goes on to write, on paths that do not return it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import combinations
from typing import Any

from bridge.code_position import here
from bridge.source.staging.jumps import VALUE
from bridge.trees import containers_of

Known = Mapping[Any, tuple[Any, Set[Any]]]
"""For memory where it was found out that it may be other memory, and which."""


def stood_for(context: Any, name: str, root: Any, older: Iterable[Any], known: Known | None = None) -> None:
    """Take note that memory which a name is bound to stands for older memory; `known` is what that stood for."""
    if name == VALUE:
        context.returning.setdefault(root, []).extend(older)
    else:
        known = dict(context.merged) if known is None else known
        merge(context, root, {other for one in older for other in (one, *_others(known, one))})


def merge(context: Any, root: Any, others: Iterable[Any]) -> None:
    """Take note that memory may be other memory, each of which is another one: a write into it is one into that."""
    position = here()
    for one in others:
        if one is not root:
            for mine, other in ((root, one), (one, root)):
                context.merged[mine] = position, _others(context.merged, mine) | {other}


def _others(known: Known, root: Any) -> Set[Any]:
    return known[root][1] if root in known else frozenset()


def others_of(context: Any, root: Any) -> Set[Any]:
    """What memory may be, as far as that was found out."""
    return _others(context.merged, root)


def all_known(one: Known, other: Known) -> dict[Any, tuple[Any, Set[Any]]]:
    """What either knows."""
    both = dict(one)
    for root, (position, others) in other.items():
        both[root] = position, _others(one, root) | others
    return both


def shared_on_a_side(context: Any, sides: Iterable[Sequence[tuple[Any, Any]]], known: Known) -> None:
    """Take note of names that are bound to one array on a side of a branch, each with memory of its own afterwards.

    Of each side: memory that a name is bound to afterwards, and the memory that it stands for.
    """
    for pairs in sides:
        for (cell, root), (other_cell, other) in combinations(pairs, 2):
            if root is other or other in _others(known, root):
                merge(context, cell, [other_cell])


def handed_to_the_next_turn(context: Any, left: Sequence[tuple[Any, Any]]) -> None:
    """What a turn leaves is copied into the memory that the next one finds, which stands for the same from then on.

    Of each place: the memory that the next turn finds, and the memory that the turn has left. What the turn found, and
    nobody was left with, is nobody's any more: names that two places have exchanged are apart.
    """
    if not context.merged:
        return
    known = dict(context.merged)
    found = {cell for cell, _ in left}
    now = {root: cell for cell, root in left}
    for cell, root in left:
        others = {now.get(one, one) for one in _others(known, root) if one in now or one not in found}
        merge(context, cell, others)


def passed_on(context: Any, value: Any, cell: Any) -> None:
    """What is about to be returned is copied into another cell."""
    root = getattr(getattr(value, "place", None), "root", None)
    if root is not None and root in context.returning:
        context.returning.setdefault(cell.place.root, []).extend([root, *context.returning[root]])


def returned(context: Any, value: Any) -> None:
    """A function returns: from now on, what it gives has another name."""
    for leaf in containers_of(value)[0]:
        root = getattr(getattr(leaf, "place", None), "root", None)
        if root is not None and root in context.returning:
            others = context.returning.pop(root)
            merge(context, root, {other for one in others for other in (one, *_others(context.merged, one))})
