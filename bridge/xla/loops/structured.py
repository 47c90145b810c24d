"""The entry of a loop or a branch in the log of a context: what its bodies do, and how it is undone.

Dry runs find what a body does (`RecordedBody.describe`), until it is known which older memory carries a gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.code_position import here
from bridge.rewind.log import Entry, Overwritten
from bridge.rewind.roots import Root, serial_now
from bridge.xla.loops.activity_cache import ActivityGuess
from bridge.xla.loops.dry_runs import tried
from bridge.xla.loops.recorded_body import RecordedBody, Sweep
from bridge.xla.loops.shadows import homes_of
from bridge.xla.loops.taped import Taped
from bridge.xla.loops.write_hulls import extents
from bridge.xla.tracing.integers import Bounds, bounds_of

Cells = Sequence[Any]


Step = Callable[[RecordedBody, Any, Any], None]


@dataclass(frozen=True)
class Turns:
    """How often a body runs: for each i from `lower` up to `upper`, or while `going()` holds.

    `rows` is how many turns a log is to hold of a loop whose length nobody knows; one that makes more overwrites them,
    and must say so.
    """

    lower: Any
    upper: Any
    going: Callable[[], Any] | None = None
    rows: int | None = None

    @property
    def bounds(self) -> Bounds:
        """Between which integers they lie, where that is known."""
        return bounds_of(self.lower, self.upper)


class Structured(Entry):
    """The entry of a loop or a branch: its backward pass is one too, and undoes as it goes."""

    overwrites = True
    moves = False

    def __init__(
        self,
        context: Any,
        bodies: Sequence[Taped],
        bounds: Bounds = (None, None),
        carried: Cells = (),
    ) -> None:
        self.position = here()
        self.context = context
        self.bounds = bounds
        self.cells = list(carried)
        since = serial_now()
        self.recorded = [RecordedBody(context, body, since) for body in bodies]
        self.activated: list[Root] = []
        self._find_active(ActivityGuess(context, bodies))
        self.roots = list(dict.fromkeys(root for one in self.recorded for root in one.roots if root.active))
        self.written_roots = list(dict.fromkeys(root for one in self.recorded for root in (*one.whole, *one.written)))
        self.parts = list(extents(context.home.trace, self.recorded)) if context.home.trace.is_inside else []
        self.out: tuple[Root, ...] = tuple(self.roots)
        self.rewound = False
        self.undone = False
        self.marks: dict[Root, Any] = {}

    def _find_active(self, expected: ActivityGuess) -> None:
        """Which memory carries a gradient after an iteration it carries one before the next."""
        given = self.cells
        self.cells = list(dict.fromkeys([*given, *expected.varying]))
        self._wake(expected.woken)
        while True:
            for one in self.recorded:
                written = tried(self.context, one.describe, self.bounds, self.cells)
                self.cells = list(dict.fromkeys([*self.cells, *written]))
            fresh = [root for one in self.recorded for root in one.woken if not root.active]
            carries = tuple(root.active for one in self.recorded for root in one.roots)
            if not fresh and expected.is_met(carries):
                break
            if not expected.is_met(carries):
                expected.forget()
                for root in self.activated:
                    root.active = False
                self.activated, self.cells = [], given
                continue
            self._wake(fresh)
        expected.keep(self.activated, self.cells, carries)
        fingerprint = self.context.home.trace.fingerprint
        for one in self.recorded:
            one.settle_activity()
            if fingerprint is not None:
                fingerprint.heard_tape(one.body.tape)

    def _wake(self, roots: Sequence[Root]) -> None:
        for root in dict.fromkeys(roots):
            root.active = True
            self.activated.append(root)

    def pass_over(self) -> None:
        """Leave what a dry run of its bodies leaves."""
        self.context.home.trace.outline(self.cells)

    @property
    def activates(self) -> bool:  # type: ignore[override]
        return bool(self.activated)

    def woken(self) -> list[Root]:
        return self.activated

    def reads(self) -> Iterator[Any]:
        return iter(self.roots)

    def overwritten(self) -> Iterator[Overwritten]:
        """The memory that its bodies write: of some a part that was read before, of the rest all, which was not."""
        yield from self.parts
        known = {part.place.root for part in self.parts}
        for root in self.written_roots:
            if root not in known:
                yield Overwritten(root, root.held, Ellipsis, None)

    def begin_to_keep(self, wanted: int) -> float:
        """How many bytes it may keep, with the loops in its bodies, of those that it would like to."""
        self.scope = self.context.home.trace.allowances.scope
        self.number, allowed = self.scope.begin(wanted)
        return allowed

    def keeps(self, taken: int, allowed: float) -> None:
        """It keeps so much of what it is allowed; loops in its bodies get the rest."""
        self.scope.taken[self.number] = taken
        for one in self.recorded:
            one.allowed = max(0.0, allowed - taken)

    def take(self) -> Any:
        """Go back through it, if a cotangent has arrived; nothing is left for a pull then."""
        if any(root.shadow is not None for root in self.roots):
            context = self.context
            homes, marks = homes_of(self.roots), None
            if context.walking:
                self.marks = {root: np.copy(home) for root, home in homes.items()}
            elif context.mending:
                marks = self.marks
            sweep = Sweep(homes, marks, context.walking, context.once)
            self.sweep(lambda one, i, k: one.backward(i, k, sweep), back=True)
            self.rewound = self.undone = True
        if self.context.once and not self.context.walking:
            self.scope.end(self.number)
        return None

    def undo(self) -> None:
        if self.rewound:
            self.rewound = False
            return
        self.undone = not self.undone
        self.exchange(self.undone)

    def exchange(self, back: bool) -> None:
        """Let memory hold what it held before, or, not `back`, after it."""
        self.sweep(lambda one, i, k: one.exchange(i, k, back), back)

    def sweep(self, step: Step, back: bool) -> None:
        """Run `step` for each iteration, from the last to the first if `back`."""
        raise NotImplementedError
