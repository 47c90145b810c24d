"""What trials of a part of a program have found, kept for the next time that it is met in the same trace.

A body is traced several times, and the loops and branches in it each time. What they leave looks the same again, as
long as what they find does; so a trial is made once, and later runs check that they leave what it has left (`Stale` if
not).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from bridge.source.state import GONE, Place
from bridge.trees import containers_of
from bridge.xla.loops.carrying import is_same, is_value

BEFORE = object()
"""In a plan, in the place of what was there before."""


class Stale(Exception):
    """What was found of a part before does not hold now."""


def look(value: Any) -> Any:
    """What of a value decides what a program does with it while it is traced: numbers that are known, and the looks."""
    if hasattr(value, "place"):
        return type(value), value.shape, value.dtype
    if isinstance(value, np.ndarray):
        return "plain", value.shape, value.dtype
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return type(value), value
    if type(value) in (tuple, list, dict):
        leaves, structure = containers_of(value)
        return str(structure), *map(look, leaves)
    return id(value)


def looks(places: Iterable[Place]) -> tuple[Any, ...]:
    """The looks of what places hold now."""
    return tuple(look(place.get()) for place in places)


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
