"""Shadows of memory that is older than a loop: where its bodies add cotangents, or find and leave tangents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bridge.rewind.roots import LAID_OUT, Root, serial_now
from bridge.xla.loops.dry_runs import Body, tried
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
    """Tangents of older memory: those that a body writes, and those that it only reads."""

    homes: dict[Root, Any]
    seen: dict[Root, Any]

    @classmethod
    def reached(
        cls, context: Any, bodies: list[Body], carried: Sequence[Any], bounds: Bounds = (None, None)
    ) -> Tangents:
        """Those that the bodies reach; what they write is made memory that exists before them."""
        since = serial_now()
        homes: dict[Root, Any] = {}
        seen: dict[Root, Any] = {}
        while True:
            reached: dict[Root, None] = {}

            def run(body: Body, reached: dict[Root, None], i: Any) -> None:
                body(i)
                reached.update(dict.fromkeys(root for root in context.touched if root.serial <= since))
                seen.update((root, root.shadow) for root in context.tangents_seen if root.serial <= since)

            for body in bodies:
                carried = list(dict.fromkeys([*carried, *tried(context, partial(run, body, reached), bounds, carried)]))
            fresh = [root for root in reached if root not in homes]
            if not fresh:
                return cls(homes, {root: shadow for root, shadow in seen.items() if root not in homes})
            for root in fresh:
                root.active = True
                homes[root] = root.region()

    def under(self, context: Any, body: Body) -> Body:
        """The body with tangents where they were when the loop began, however late a context outside runs it again."""
        homes, seen = self

        def run(i: Any) -> None:
            before = {root: (root.shadow, root.owned, root.active) for root in (*homes, *seen)}
            lend(homes)
            for root in homes:
                root.active = True
            for root, shadow in seen.items():
                root.shadow, root.owned, root.active = shadow, False, True
            with context.reopened():
                body(i)
            settle(homes)
            for root, (shadow, owned, active) in before.items():
                root.shadow, root.owned, root.active = shadow, owned, active

        return run
