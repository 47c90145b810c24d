"""Dry runs: a body runs for what it would do, without effect on the program, on logs, or on what is known of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from bridge.rewind.fingerprint import Fingerprint
from bridge.rewind.forward import ForwardContext
from bridge.rewind.roots import Root, serial_now
from bridge.rewind.tape import Recorder
from bridge.xla.tracing.frames import until_stable
from bridge.xla.tracing.integers import Bounds

Body = Callable[[Any], None]


def tried(context: Any, body: Body, bounds: Bounds = (None, None), carried: Sequence[Any] = ()) -> list[Any]:
    """Run a body without effect on the program; returns the outermost context's memory that it writes."""

    def attempt(carried: Sequence[Any]) -> list[Any]:
        with untouched(context), unrecorded(context.home.trace):
            return context.home.trace.dry(inside(context, body), carried, bounds)

    return until_stable(attempt, carried)


def dry(context: Any, body: Body, bounds: Bounds = (None, None), grounds: set[Any] | None = None) -> set[Any]:
    """Run a body once without effect; returns the roots of `context` that it writes.

    `grounds` gets the memory of the outermost context that it writes.
    """
    written: set[Any] = set()

    def attempt(carried: Sequence[Any]) -> list[Any]:
        with untouched(context), unrecorded(context.home.trace):
            cells: list[Any] = context.home.trace.dry(inside(context, body), carried, bounds)
            if grounds is not None:
                grounds.update(cells)
            written.update(_written(context) if context.differentiates else cells)
            return cells

    until_stable(attempt)
    return written


def asked(context: Any, going: Callable[[], Any]) -> Any:
    """What a condition says now; nothing of it is logged."""
    with untouched(context, is_tried=False), unheard(context.home.trace):
        return inside(context, going)()


def inside(context: Any, body: Callable[..., Any]) -> Callable[..., Any]:
    """A body that runs in a context which is open no longer, or not the innermost one."""

    def run(*args: Any) -> Any:
        with context.reopened():
            return body(*args)

    return run


@contextmanager
def unheard(trace: Any) -> Iterator[None]:
    """Let a body around this one not hear of the loops and branches inside: how often they run says nothing of it."""
    before, trace.fingerprint = trace.fingerprint, Fingerprint(serial_now(), trace.fingerprint)
    try:
        yield
    finally:
        trace.fingerprint = before


@contextmanager
def unrecorded(trace: Any, but_by: Recorder | None = None) -> Iterator[None]:
    """Inside, nothing is recorded for the tapes of bodies around, but by this recorder and those below it."""
    before, trace.recorder = trace.recorder, but_by
    try:
        yield
    finally:
        trace.recorder = before


@contextmanager
def untouched(context: Any, is_tried: bool = True) -> Iterator[None]:
    """Restore logs, and what is known of older memory, afterwards; no listener is notified inside.

    `is_tried` is True if only the effects on this context are wanted.
    """
    trace, chain = context.home.trace, []
    before = trace.asker
    if is_tried:
        trace.asker = context
    while context is not None and context.differentiates:
        roots = None
        if isinstance(context, ForwardContext):
            roots = context.roots_written, context.tangents_seen
            context.roots_written, context.tangents_seen = set(), set()
        chain.append((context, context.log, context.touched, context.listener, roots))
        context.log, context.touched, context.listener = [], {}, None
        context = context.outer
    try:
        yield
    finally:
        trace.asker = before
        for one, log, touched, listener, roots in chain:
            if roots is not None:
                one.roots_written, one.tangents_seen = roots
            for entry in one.log:
                for root in entry.woken():
                    root.active = False
            for root, (shadow, owned, active) in one.touched.items():
                root.shadow, root.owned, root.active = shadow, owned, active
            one.log, one.touched, one.listener = log, touched, listener


def _written(context: Any) -> Iterator[Root]:
    """What was written since the log was empty; a forward context has none."""
    if isinstance(context, ForwardContext):
        yield from context.roots_written or ()
    for entry in context.log:
        yield from (part.place.root for part in entry.overwritten())
