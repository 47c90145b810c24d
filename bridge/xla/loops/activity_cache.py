"""Which memory the bodies of a loop or a branch make active: a guess from earlier dry runs; the next one confirms it.

A body is described until it is known which older memory carries a gradient, and which integers differ from iteration
to iteration. The body of an enclosing loop is described in the same way and replays the inner one each time, with
other memory. So what was found is kept by the order in which a tape takes memory from outside. Without this cache, the
number of descriptions would double with each enclosing loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bridge.rewind.roots import Root, ground_of


def taken(context: Any, bodies: Iterable[Any], numbers: bool = False) -> list[Root]:
    """Memory of a context that bodies which are replayed take from outside, in a fixed order.

    It is that of the program, or what contexts around it have made of that: arrays, and `numbers` if those count.
    """
    found: list[Root] = []
    for body in bodies:
        for value in [one.value(body.values) for one in body.tape.outside]:
            if not numbers and not hasattr(value, "view_as"):
                continue
            root = value.place.root
            while root.context is not context and hasattr(getattr(root, "held", None), "place"):
                root = root.held.place.root
            if root.context is context:
                found.append(root)
    return list(dict.fromkeys(found))


class ActivityGuess:
    """A guess for a loop or branch that is to be described: which memory becomes active, and which integers vary."""

    def __init__(self, context: Any, bodies: Sequence[Any]) -> None:
        self.kept = context.home.trace.expected
        self.roots = taken(context, bodies)
        self.grounds = [ground_of(root) for root in self.roots]
        looks = [(root.active, root.shape, root.dtype) for root in self.roots]
        self.key = (*[body.tape for body in bodies], context.level, tuple(looks))
        self.found: tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]] | None = self.kept.get(self.key)

    @property
    def woken(self) -> list[Root]:
        """Memory that carries no gradient before, and did so afterwards."""
        return [] if self.found is None else [self.roots[number] for number in self.found[0]]

    @property
    def varying(self) -> list[Any]:
        """Integers of the outermost context that differ from turn to turn."""
        return [] if self.found is None else [self.grounds[number] for number in self.found[1]]

    def is_met(self, carries: tuple[bool, ...]) -> bool:
        """Whether what the bodies reach carries gradients as it did, if there was a guess."""
        return self.found is None or self.found[2] == carries

    def keep(self, woken: Sequence[Root], varying: Iterable[Any], carries: tuple[bool, ...]) -> None:
        """Take note of what was found, for the next time."""
        if self.found is not None or not set(woken) <= set(self.roots):
            return
        integers = {cell for cell in varying if cell.dtype.kind in "iub"}
        numbers = tuple(number for number, cell in enumerate(self.grounds) if cell in integers)
        self.kept[self.key] = tuple(map(self.roots.index, woken)), numbers, carries

    def forget(self) -> None:
        """The guess was wrong."""
        self.kept.pop(self.key, None)
        self.found = None
