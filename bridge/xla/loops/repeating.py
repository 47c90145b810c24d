"""Bodies that run in XLA loops and branches, at every level: as they are, with tangents, and with a log.

A differentiating context runs a body as a loop of the context outside it, whose body records, and logs the whole
as one entry. The backward pass is a loop again: put back what one iteration overwrote, run it again with its log,
and rewind that. Kept from the forward loop are only the slices that it overwrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from bridge.rewind.forward import ForwardContext
from bridge.rewind.places import Root, serial_now
from bridge.rewind.values import lowered_to
from bridge.xla.loops.entries import Choice, Loop
from bridge.xla.loops.recorded import lend, settle
from bridge.xla.tracing.frames import until_stable
from bridge.xla.tracing.integers import Bounds, bounds_of

Body = Callable[[Any], None]
Cells = Sequence[Any]


class Tangents(NamedTuple):
    """Tangents of older memory: those that a body writes, and those that it only reads."""

    homes: dict[Root, Any]
    seen: dict[Root, Any]


def tried(context: Any, body: Body, bounds: Bounds = (None, None), carried: Cells = ()) -> list[Any]:
    """Run a body without effect on the program; returns the outermost context's memory that it writes."""

    def attempt(carried: Sequence[Any]) -> list[Any]:
        with untouched(context):
            return context.home.trace.dry(_inside(context, body), carried, bounds)

    return until_stable(attempt, carried)


def dry(context: Any, body: Body, bounds: Bounds = (None, None)) -> set[Any]:
    """Run a body once without effect; returns the roots of `context` that it writes."""
    written: set[Any] = set()

    def attempt(carried: Sequence[Any]) -> list[Any]:
        with untouched(context):
            cells: list[Any] = context.home.trace.dry(_inside(context, body), carried, bounds)
            written.update(cells if not context.differentiates else _written(context))
            return cells

    until_stable(attempt)
    return written


def _written(context: Any) -> Iterator[Root]:
    for entry in context.log:
        yield from (part.place.root for part in entry.overwritten())


@contextmanager
def untouched(context: Any) -> Iterator[None]:
    """Leave logs, and what is known of older memory, as they are now."""
    chain = []
    while context is not None and context.differentiates:
        chain.append((context, context.log, context.touched))
        context.log, context.touched = [], {}
        context = context.outer
    try:
        yield
    finally:
        for one, log, touched in chain:
            for entry in one.log:
                for root in entry.woken():
                    root.active = False
            for root, (shadow, owned, active) in one.touched.items():
                root.shadow, root.owned, root.active = shadow, owned, active
            one.log, one.touched = log, touched


def _inside(context: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any) -> Any:
        with context.reopened():
            return body(*args)

    return run


def repeat(
    context: Any,
    lower: Any,
    upper: Any,
    body: Body,
    going: Callable[[], Any] | None = None,
    limited: bool = True,
    carried: Cells = (),
) -> Any:
    """Run `body(i)` for i from `lower` up to `upper`, or while `going()`; returns where it ended.

    `carried` is memory of the outermost context of which it is known that the body writes it.
    """
    if not context.differentiates:
        return context.repeat(lower, upper, _inside(context, body), going and _inside(context, going), carried)
    below = None if going is None else lambda: lowered_to(context.outer, asked(context, going))
    if isinstance(context, ForwardContext):
        homes = _homes(context, [body], carried, bounds_of(lower, upper))
        return repeat(context.outer, lower, upper, _settling(context, body, homes), below, carried=carried)
    return Loop.recorded_loop(context, lower, upper, body, below, limited, carried)


def choose(context: Any, predicate: Any, branches: Sequence[Callable[[], None]], carried: Cells = ()) -> None:
    """Run the first branch where the predicate holds, else the second."""
    if not context.differentiates:
        context.choose(predicate, [_inside(context, branch) for branch in branches], carried)
        return
    bodies = [_without_index(branch) for branch in branches]
    predicate = lowered_to(context.outer, predicate)
    if isinstance(context, ForwardContext):
        homes = _homes(context, bodies, carried)
        settling = [_settling(context, body, homes) for body in bodies]
        choose(context.outer, predicate, [partial(run, 0) for run in settling], carried)
        return
    Choice.recorded_choice(context, predicate, bodies, carried)


def _without_index(branch: Callable[[], None]) -> Body:
    return lambda i: branch()


def asked(context: Any, going: Callable[[], Any]) -> Any:
    """What a condition says now; nothing of it is logged."""
    with untouched(context):
        return _inside(context, going)()


def _homes(context: Any, bodies: list[Body], carried: Cells, bounds: Bounds = (None, None)) -> Tangents:
    """The tangents of older memory that the bodies reach; those that they write as memory that exists before them."""
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
            return Tangents(homes, {root: shadow for root, shadow in seen.items() if root not in homes})
        for root in fresh:
            root.active = True
            homes[root] = root.region()


def _settling(context: Any, body: Body, tangents: Tangents) -> Body:
    """The body with tangents where they were when the loop began, however late a context outside runs it again."""
    homes, seen = tangents

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
