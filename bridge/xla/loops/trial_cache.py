"""What trials of a part of a program have found: a plan, kept for the next time that the part is met in the same trace.

A body is traced several times, and the loops and branches in it each time. A part that meets the same abstract values
leaves the same; so it is tried once, and later runs check that they leave what the plan says (`PlanMismatch` if not).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.source.state import Place
from bridge.state.slots import GONE
from bridge.trees import containers_of
from bridge.xla.loops.carried_values import is_same, is_value

UNCHANGED = object()
"""In a plan, in the place of what was there before."""


class PlanMismatch(Exception):
    """A part of the program does not leave what its plan says."""

    def __init__(self) -> None:
        super().__init__()
        self.position = here()


@contextmanager
def mismatches_raised() -> Iterator[None]:
    """Inside, a mismatch is an error of the program: no caller outside tries again."""
    try:
        yield
    except PlanMismatch as error:
        raise TraceError(
            "a part of the program was traced again, and left something else than it did before",
            where=resolve(error.position),
            remedy='let its names stand for one array each (y[...] = x for y = x), or use engine="native"',
        ) from error


def abstract_value(value: Any) -> Any:
    """What decides how a program is traced with a value: type, shape and dtype, and the value itself if it is known."""
    if hasattr(value, "place"):
        return type(value), value.shape, value.dtype
    if isinstance(value, np.ndarray):
        return "plain", value.shape, value.dtype
    if isinstance(value, (bool, int, float, complex, str, bytes, np.generic)):
        return type(value), value
    if type(value) in (tuple, list, dict):
        leaves, structure = containers_of(value)
        return str(structure), *map(abstract_value, leaves)
    return id(value)


def abstract_values(places: Iterable[Place]) -> tuple[Any, ...]:
    """The abstract values of what places hold now."""
    return tuple(abstract_value(place.get()) for place in places)


def plan_of(
    places: Sequence[Place], before: Sequence[Any], after: dict[Any, Any], since: int, named: Container[Any]
) -> list[Any] | None:
    """What a trial has left in places, to be kept; None if that says something of memory that was there before.

    What has been made since may stand for that, too, if it is among the `named`.
    """
    found: list[Any] = []
    for place, was in zip(places, before, strict=True):
        value = after.get(place.key, was)
        if value is was or is_same(value, was):
            found.append(UNCHANGED)
            continue
        leaves = [] if value is GONE else containers_of(value)[0]
        # Numbers are copied and compared by value. Arrays are compared by identity.
        roots = [leaf.place.root for leaf in leaves if hasattr(leaf, "view_as")]
        if any(root.serial <= since or root in named for root in roots):
            return None
        if any(not is_value(leaf) and not isinstance(leaf, (str, bytes, type(None))) for leaf in leaves):
            return None
        found.append(value)
    return found
