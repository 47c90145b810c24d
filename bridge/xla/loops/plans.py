"""What trials of a part of a program have found, kept for the next time that it is met in the same trace.

A body is traced several times, and the loops and branches in it each time. What they leave looks the same again, as
long as what they find does; so a trial is made once, and later runs check that they leave what it has left (`Stale` if
not).
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from bridge.source.state import Place
from bridge.state.slots import GONE
from bridge.trees import containers_of
from bridge.xla.loops.carrying import is_same, is_value

BEFORE = object()
"""In a plan, in the place of what was there before."""


def planned(
    places: Sequence[Place], before: Sequence[Any], after: dict[Any, Any], since: int, named: Container[Any]
) -> list[Any] | None:
    """What a trial has left in places, to be kept; None if that says something of memory that was there before.

    What has been made since may stand for that, too, if it is among the `named`.
    """
    found: list[Any] = []
    for place, was in zip(places, before, strict=True):
        value = after.get(place.key, was)
        if value is was or is_same(value, was):
            found.append(BEFORE)
            continue
        leaves = [] if value is GONE else containers_of(value)[0]
        # Numbers are copied, and who leaves another one is told: of arrays it counts which ones they are.
        roots = [leaf.place.root for leaf in leaves if hasattr(leaf, "view_as")]
        if any(root.serial <= since or root in named for root in roots):
            return None
        if any(not is_value(leaf) and not isinstance(leaf, (str, bytes, type(None))) for leaf in leaves):
            return None
        found.append(value)
    return found
