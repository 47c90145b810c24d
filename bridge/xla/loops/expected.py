"""What the bodies of a loop or a branch were found to do when it was met before, as a guess that a dry run confirms.

A body is described until it is known which older memory carries a gradient, and which integers differ from turn to
turn. The body of a loop around it is described in the same way, and makes memory of its own each time; what was found
before is therefore kept by the order in which the bodies reach memory. Without it, a loop would be described twice as
often with each that is around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bridge.rewind.closures import Closure
from bridge.rewind.roots import Root
from bridge.trees import containers_of
from bridge.xla.loops.changing import ground_of


class Reached(NamedTuple):
    """What tells bodies from others, and the arrays that they reach by their variables, in a fixed order."""

    codes: tuple[Any, ...]
    arrays: Sequence[Any]
    is_taped: bool = False

    @classmethod
    def by(cls, codes: tuple[Any, ...], closures: Iterable[Closure], cells: Iterable[Any]) -> Reached:
        """By the variables of functions; `cells` are memory that was made for what they leave."""
        held = [value for closure in closures for _, value in closure.cells]
        leaves = [leaf for value in held for leaf in containers_of(value)[0]]
        return cls(codes, [one for one in (*cells, *leaves) if hasattr(one, "view_as")])

    @classmethod
    def of_tapes(cls, bodies: Iterable[Any]) -> Reached:
        """By the tapes of bodies, and what these take from outside."""
        taken = [one.value(body.values) for body in bodies for one in body.tape.outside]
        return cls(tuple(body.tape for body in bodies), [one for one in taken if hasattr(one, "view_as")], True)

    def roots(self, context: Any) -> list[Root]:
        """Their memory in a context."""
        return roots_in(context, self.arrays)


def roots_in(context: Any, values: Iterable[Any]) -> list[Root]:
    """Memory of tracked values in a context: that of the program, or what contexts around it have made of that."""
    found: list[Root] = []
    for value in values:
        root = value.place.root
        while root.context is not context and hasattr(getattr(root, "held", None), "place"):
            root = root.held.place.root
        if root.context is context:
            found.append(root)
    return list(dict.fromkeys(found))


class Expected:
    """A guess, of one loop or branch that is about to be described: memory that it wakes, and integers that vary.

    Only dry runs guess, and replays. What is found otherwise is found again in earnest, where nothing is guessed.
    """

    def __init__(self, context: Any, reached: Reached | None) -> None:
        trace = context.home.trace
        self.kept = trace.expected
        self.roots = [] if reached is None else reached.roots(context)
        self.grounds = [ground_of(root) for root in self.roots]
        self.key = None
        self.found: tuple[tuple[int, ...], tuple[int, ...], tuple[bool, ...]] | None = None
        if reached is not None:
            looks = [(root.active, root.shape, root.dtype) for root in self.roots]
            self.key = (*reached.codes, context.level, tuple(looks))
            self.found = self.kept.get(self.key) if trace.is_dry or reached.is_taped else None

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
        if self.key is None or self.found is not None or not set(woken) <= set(self.roots):
            return
        integers = {cell for cell in varying if cell.dtype.kind in "iub"}
        numbers = tuple(number for number, cell in enumerate(self.grounds) if cell in integers)
        self.kept[self.key] = tuple(map(self.roots.index, woken)), numbers, carries

    def forget(self) -> None:
        """The guess was wrong."""
        self.kept.pop(self.key, None)
        self.found = None
