"""Shadows of memory that is older than a loop: where its bodies add cotangents, or find and leave tangents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bridge.rewind.roots import LAID_OUT, Root, ground_of, serial_now
from bridge.xla.loops.activity_cache import taken
from bridge.xla.loops.dry_runs import Body, tried
from bridge.xla.loops.taped import Taped
from bridge.xla.tracing.integers import Bounds


def homes_of(roots: list[Root]) -> dict[Root, Any]:
    """Shadows that exist before a body adds to them."""
    return {root: root.region() for root in roots}


def lend(homes: dict[Root, Any]) -> None:
    """Let the shadows of older roots be these arrays."""
    for root, home in homes.items():
        root.shadow, root.owned = home, LAID_OUT


def settle(homes: dict[Root, Any]) -> None:
    """Move the shadows of older roots back into the memory that they had before the body."""
    changed = [
        (root, home, 0 if root.shadow is None else np.copy(root.shadow))
        for root, home in homes.items()
        if root.shadow is not home
    ]
    for root, home, value in changed:
        home[...] = value
        root.shadow = home
    for root in homes:
        root.owned = LAID_OUT


class Tangents(NamedTuple):
    """Tangents of older memory: those that a body writes, and those that it only reads.

    `cells` is the outermost context's memory that the body writes, and `written` the memory of its own context.
    """

    homes: dict[Root, Any]
    seen: dict[Root, Any]
    cells: list[Any]
    written: set[Root]

    @classmethod
    def reached(
        cls, context: Any, bodies: Sequence[Taped], carried: Sequence[Any], bounds: Bounds = (None, None)
    ) -> Tangents:
        """Those that the bodies reach; what they write is made memory that exists before them."""
        since = serial_now()
        homes: dict[Root, Any] = {}
        seen: dict[Root, Any] = {}
        written: set[Root] = set()
        numbered = _Numbered(context, bodies)
        if numbered.found is not None:
            return numbered.tangents(carried)
        while True:
            reached: dict[Root, None] = {}

            def run(body: Body, reached: dict[Root, None], i: Any) -> None:
                body(i)
                reached.update(dict.fromkeys(root for root in context.touched if root.serial <= since))
                seen.update((root, root.shadow) for root in context.tangents_seen if root.serial <= since)
                written.update(root for root in context.roots_written if root.serial <= since)

            for body in bodies:
                carried = list(dict.fromkeys([*carried, *tried(context, partial(run, body, reached), bounds, carried)]))
            fresh = [root for root in reached if root not in homes]
            if not fresh:
                only = {root: shadow for root, shadow in seen.items() if root not in homes}
                found = cls(homes, only, list(carried), written)
                numbered.keep(found)
                return found
            for root in fresh:
                root.active = True
                homes[root] = root.region()

    def pass_over(self, context: Any) -> None:
        """Leave what a dry run of the bodies leaves."""
        context.home.trace.outline(list(dict.fromkeys([*self.cells, *_grounds(self.homes)])))
        if context.roots_written is not None:
            context.roots_written.update(self.written)
            context.tangents_seen.update(self.seen)

    def under(self, context: Any, body: Body) -> Body:
        """The body with tangents where they were when the loop began, however late a context outside runs it again."""
        homes, seen = self.homes, self.seen

        def run(i: Any) -> None:
            before = {root: (root.shadow, root.owned, root.active) for root in (*homes, *seen)}
            lend(homes)
            for root in homes:
                root.active = True
            for root, shadow in seen.items():
                root.shadow, root.owned, root.active = shadow, False, True
            try:
                with context.reopened():
                    body(i)
                settle(homes)
            finally:
                for root, (shadow, owned, active) in before.items():
                    root.shadow, root.owned, root.active = shadow, owned, active

        return run


def _grounds(homes: dict[Root, Any]) -> list[Any]:
    """The outermost context's memory of arrays that hold tangents."""
    return [ground_of(home.place.root) for home in homes.values() if hasattr(home, "place")]


class _Numbered:
    """What bodies that are replayed were found to reach before, by the numbers of what they take from outside.

    It holds as long as the same of that carries tangents.
    """

    def __init__(self, context: Any, bodies: Sequence[Taped]) -> None:
        self.trace = context.home.trace
        self.roots = taken(context, bodies, numbers=True)
        looks = [(root.active, root.shadow is None, root.shape, root.dtype) for root in self.roots]
        self.key = ("tangents", *[body.tape for body in bodies], context.level, tuple(looks))
        self.found = self.trace.expected.get(self.key)

    def keep(self, found: Tangents) -> None:
        """Take note of what was found, if all of it has a number."""
        numbers = {root: number for number, root in enumerate(self.roots)}
        grounds = {ground_of(root): number for root, number in numbers.items()}
        own = {*_grounds(found.homes), *self.trace.faults.cells}
        cells = [cell for cell in found.cells if cell not in own]
        if not {*found.homes, *found.seen, *found.written} <= numbers.keys() or not set(cells) <= grounds.keys():
            return
        faults = [cell for cell in found.cells if cell in self.trace.faults.cells]
        parts = [tuple(numbers[root] for root in part) for part in (found.homes, found.seen, found.written)]
        self.trace.expected[self.key] = (*parts, tuple(grounds[cell] for cell in cells), faults)

    def tangents(self, carried: Sequence[Any]) -> Tangents:
        """What was found, for the memory that is there now."""
        homes, seen, written, cells, faults = self.found
        roots, found = self.roots, {}
        for number in homes:
            roots[number].active = True
            found[roots[number]] = roots[number].region()
        grounds = [ground_of(roots[number]) for number in cells]
        return Tangents(
            found,
            {roots[number]: roots[number].shadow for number in seen},
            list(dict.fromkeys([*carried, *grounds, *_grounds(found), *faults])),
            {roots[number] for number in written},
        )
