"""One run of a Julia function inside a NumPy program, and the Julia pullback that it left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.julia.calls import Kept, entries, run
from bridge.julia.choosing import Prepared, chosen
from bridge.julia.convert import reversed_axes
from bridge.julia.plans import Flattened, plan, run_plan
from bridge.rewind.memory import grounded

Directions = Sequence[Sequence[Any]]
"""Tangents of the wanted leaves, or None, for each direction along which a derivative is taken."""


class Run:
    """One run of a Julia function on leaves, and the pullback that it left."""

    def __init__(self, function: Prepared, flat: Flattened, written: tuple[int, ...] = ()) -> None:
        self.function = function
        self.flat = flat
        able = set(flat.differentiable())
        self.wanted = tuple(k for k in sorted(able) if hasattr(flat.leaves[k], "place"))
        self.plan = plan(function, _ground(flat), self.wanted, written)
        self.pullback: Kept | None = None
        self.layout: Any = 0
        self.outputs: tuple[Any, ...] = ()

    def forward(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """Run the function; returns the leaves of its value."""
        key, outputs, self.layout = self._entry(entries().pullback, leaves, 1)
        self.pullback = Kept(key)
        self.outputs = tuple(outputs)
        return self.outputs

    def pull(self, cts: Sequence[Any]) -> tuple[Any, ...]:
        """Cotangents of the wanted leaves; memory is as it was when the function ran."""
        assert self.pullback is not None
        given = tuple(self._sent(ct) for ct in cts)
        pulled = self.pullback.key
        found = chosen(self.function, self.plan, lambda: run(entries().pull, pulled, given, self.function.name))
        return self._back(found)

    def push(self, leaves: Sequence[Any], directions: Directions) -> tuple[Any, ...]:
        """Derivatives of the outputs, once along each direction."""
        assert self.pullback is not None
        return self._back(self._entry(entries().jvp, leaves, self._placed(leaves, directions), self.pullback.key)[1])

    def pull_along(self, leaves: Sequence[Any], directions: Directions, cts: Sequence[Any]) -> tuple[Any, ...]:
        """The derivative of `pull(cts)`, once along each direction."""
        assert self.pullback is not None
        sent = tuple(self._sent(ct) for ct in cts)
        placed = self._placed(leaves, directions)
        return self._back(self._entry(entries().pull_along, leaves, placed, self.pullback.key, sent, 0))

    def _entry(self, entry: Any, leaves: Sequence[Any], *more: Any) -> Any:
        found = run_plan(self.function, entry, self.plan, leaves, *more)
        if self.function.order == "reversed" and entry is entries().pullback:
            return found[0], reversed_axes(found[1]), found[2]
        return found

    def _placed(self, leaves: Sequence[Any], directions: Directions) -> tuple[tuple[Any, ...], ...]:
        """Directions with a tangent, or None, for each leaf."""
        by_leaf = (dict(zip(self.wanted, direction, strict=True)) for direction in directions)
        return tuple(tuple(self._sent(found.get(k)) for k in range(len(leaves))) for found in by_leaf)

    def _sent(self, ct: Any) -> Any:
        if ct is None:
            return None
        plain = np.asarray(grounded(ct))
        return np.array(plain.T if self.function.order == "reversed" else plain, order="F")

    def _back(self, found: Any) -> tuple[Any, ...]:
        return tuple(reversed_axes(tuple(found)) if self.function.order == "reversed" else found)


def _ground(flat: Flattened) -> Flattened:
    made = Flattened((), {})
    made.leaves = [grounded(leaf) for leaf in flat.leaves]
    made.positional, made.keywords = flat.positional, flat.keywords
    made.named, made.positions = flat.named, flat.positions
    return made
