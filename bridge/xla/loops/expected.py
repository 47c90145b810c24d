"""What the bodies of a loop or a branch were found to do when they were met before, as a guess that a dry run confirms.

A body is described until it is known which older memory carries a gradient, and which integers differ from turn to
turn. The body of a loop around it is described in the same way, and replays it each time, with other memory; what was
found before is therefore kept by the order in which a tape takes memory from outside. Without it, a loop would be
described twice as often with each that is around it.
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


class Expected:
    """A guess, of one loop or branch that is about to be described: memory that it wakes, and integers that vary.

    What is found otherwise is found again, where nothing is guessed.
    """

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
