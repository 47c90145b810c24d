"""One observed run of a program under an engine that replays the log, and the walk back through it, entry by entry."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridge.errors import BridgeError
from bridge.proof.blame.observing import Step, observed_context
from bridge.proof.blame.proving import DIRECTIONS, Proof, Visited, prove
from bridge.proof.blame.references import roots_of
from bridge.proof.report.model import Timeline
from bridge.proof.report.timeline import names_of, timeline_of
from bridge.proof.subject import Subject, outputs_of
from bridge.rewind import strong_zeros
from bridge.rewind.lifetime import suspended
from bridge.rewind.log import Entry, blame
from bridge.rewind.memory import grounded
from bridge.rewind.roots import Root
from bridge.source.looping import steady
from bridge.source.programs import program
from bridge.transforms.arguments import Arguments
from bridge.transforms.grad import belongs

# Called for an entry that got a cotangent, when memory is as it was before the entry: with the entry's number, the
# entry, what was noted of it, and a copy of the cotangent.
Visit = Callable[[int, Entry, Step | None, Any], None]

# What a walk may spend on its proofs, in bytes of shadows that are copied and compared.
BUDGET = 1 << 31


@dataclass
class Walk:
    """A backward pass, entry by entry."""

    proofs: list[Proof] = field(default_factory=list)
    cotangents: list[float | None] = field(default_factory=list)
    failed: int | None = None
    """The entry whose pull raised, and `error` is what it raised."""
    error: Exception | None = None
    born: int | None = None
    """The first entry of the walk that made a cotangent that is not finite out of finite ones."""

    @property
    def wrong(self) -> list[Proof]:
        """The entries that disagree, in the order of the backward pass."""
        return [proof for proof in self.proofs if proof.agrees is False]


@dataclass
class Recorded:
    """What a program did under an engine: the context with its log, and what was noted of each operation.

    `seeds` are the places of the outputs with their cotangents.
    """

    engine: str
    subject: Subject
    context: Any
    arguments: Arguments
    steps: list[Step]
    seeds: list[tuple[Any, Any]]

    @property
    def by_entry(self) -> dict[int, Step]:
        """The notes of the entries of the log."""
        return {step.entry: step for step in self.steps if step.entry is not None}

    def walk(self, *, proofs: bool = True, visit: Visit | None = None, mended: bool = False) -> Walk:
        """Walk the log back; memory is as after the forward pass when this returns.

        Parameters
        ----------
        proofs : whether entries are proved.
        mended : with strong zeros, where a plain walk would give NaN.
        """
        walker = _Walker(self, BUDGET if proofs else 0, visit, mended)
        with np.errstate(all="ignore"):
            return walker.walked()

    def timeline(self) -> Timeline:
        """The operations and the memory that they use, with the sizes of the cotangents."""
        cotangents = self.walk(proofs=False).cotangents if self.seeds else None
        return timeline_of(self.context, cotangents, names_of(self.subject.f, self.arguments))

    def gradient(self) -> list[Any]:
        """The gradient, as the context gives it."""
        return self.context.pull_back(self.seeds, self.arguments.places)

    def is_mended(self) -> bool:
        """Whether the plain backward pass gives NaN, so that strong zeros walk the log again."""
        context = self.context
        with suspended(context), np.errstate(all="ignore"):
            try:
                context.rewind(self.seeds)
                found = [place.peek() for place in self.arguments.places]
                return any(one is not None and strong_zeros.has_nan(one) for one in found)
            except BridgeError:
                # A pull that refuses is met again by the walk, which notes whose it is.
                return False
            finally:
                context.play_forward()
                context.forget_shadows()


def record(subject: Subject, engine: str, zeros: str = "strong") -> Recorded:
    """Run a program once under an engine, observed. Raises what the program raises under that engine."""
    args, kwargs = subject.arguments()
    context = observed_context(engine, zeros)
    with context:
        arguments = Arguments(context, args, kwargs, subject.argnums, allow_int=True)
        result = program(context, subject.f, None, steady())(*arguments.args, **arguments.kwargs)
    outputs = outputs_of(result)
    cotangents = subject.cotangents
    if cotangents is None:
        cotangents = [np.ones((), outputs[0].dtype)[()]] if outputs else []
    seeds = [
        (out.place, np.asarray(ct, out.dtype)[()] if not np.shape(ct) else np.array(ct, out.dtype))
        for out, ct in zip(outputs, cotangents, strict=True)
        if belongs(context, out)
    ]
    return Recorded(engine, subject, context, arguments, list(context.steps), seeds)


class _Walker:
    """A walk at work: `room` is what may still be spent on proofs."""

    def __init__(self, recorded: Recorded, room: int, visit: Visit | None, mended: bool) -> None:
        self.context, self.steps, self.seeds = recorded.context, recorded.by_entry, recorded.seeds
        self.room, self.visit = room, visit
        self.present = strong_zeros.find(self.context, self.seeds) if mended else None
        self.rng = np.random.default_rng(0)
        self.found = Walk(cotangents=[None] * len(self.context.log))

    def walked(self) -> Walk:
        context = self.context
        with suspended(context):
            try:
                for place, ct in self.seeds:
                    if place.active:
                        place.accumulate(ct)
                for number in range(len(context.log) - 1, -1, -1):
                    self._visit(number)
            except Exception:
                # Who asks for a proof wants to know which entry raised; it is kept in what was found.
                if self.found.error is None:
                    raise
            finally:
                context.play_forward()
                context.forget_shadows()
        return self.found

    def _visit(self, number: int) -> None:
        """Take an entry's cotangent, undo the entry, pull through it, prove it."""
        entry: Entry = self.context.log[number]
        roots = roots_of(entry)
        cost = 4 * DIRECTIONS * sum(8 * math.prod(root.shape) for root in roots)
        proves = cost <= self.room and any(root.shadow is not None for root in roots)
        before = {root: None if root.shadow is None else np.array(grounded(root.shadow)) for root in roots if proves}
        ct = entry.take()
        if entry.overwrites:
            entry.undo()
        self.context.undone_from = number
        if ct is not None:
            self._pull(number, entry, ct, roots)
        if proves:
            # What a root held before it was given its first value with a gradient is a constant.
            woken = list(entry.woken()) if entry.activates else []
            self.found.proofs += prove(Visited(number, entry, self.steps.get(number), roots, woken, before), self.rng)
            self.room -= cost
        if entry.activates:
            entry.forget_before()
        if proves:
            _keep_finite(roots)

    def _pull(self, number: int, entry: Entry, ct: Any, roots: list[Root]) -> None:
        self.found.cotangents[number] = _size(ct)
        if self.visit is not None:
            self.visit(number, entry, self.steps.get(number), _copy(ct))
        try:
            finite = _pulled(entry, ct, None if self.present is None else self.present[number], roots)
        except Exception as error:
            blame(entry, error)
            self.found.failed, self.found.error = number, error
            raise
        if self.found.born is None and not finite and _is_finite(ct):
            self.found.born = number


def _pulled(entry: Entry, ct: Any, present: Any, roots: list[Root]) -> bool:
    """Add an entry's cotangents to the shadows of its inputs; whether they are finite."""
    if present is not None:
        strong_zeros.push_present(entry, ct, present)
        return all(_is_finite(root.shadow) for root in roots)
    finite = True
    for place, cotangent in list(entry.pull(ct)):
        if cotangent is not None:
            finite = finite and _is_finite(cotangent)
            place.accumulate(cotangent)
    return finite


def _is_finite(ct: Any) -> bool:
    parts = ct if isinstance(ct, tuple) else (ct,)
    return all(part is None or bool(np.isfinite(grounded(part)).all()) for part in parts)


def _keep_finite(roots: list[Root]) -> None:
    """Go on without the cotangents that are not finite: what lies behind them is proved by the others."""
    for root in roots:
        shadow = None if root.shadow is None else grounded(root.shadow)
        if shadow is not None and not np.isfinite(shadow).all():
            root.shadow, root.owned = np.where(np.isfinite(shadow), shadow, np.zeros_like(shadow)), False


def _size(ct: Any) -> float | None:
    parts = [
        np.max(np.abs(grounded(part)), initial=0)
        for part in (ct if isinstance(ct, tuple) else (ct,))
        if part is not None
    ]
    return float(max(parts, default=0.0))


def _copy(ct: Any) -> Any:
    if isinstance(ct, tuple):
        return tuple(None if part is None else np.array(grounded(part)) for part in ct)
    return np.array(grounded(ct))
