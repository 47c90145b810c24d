"""Walk a log back, entry by entry: sizes of cotangents, proofs, the first derivative that is not finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bridge.proof.blame.observing import Step
from bridge.proof.blame.proving import DIRECTIONS, Proof, prove
from bridge.proof.blame.references import roots_of
from bridge.rewind import strong_zeros
from bridge.rewind.log import Entry, blame
from bridge.rewind.memory import grounded
from bridge.rewind.places import Root

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


def walk(
    context: Any, steps: dict[int, Step], seeds: Sequence[tuple[Any, Any]], *, proofs: bool = True,
    visit: Visit | None = None, mended: bool = False, seed: int = 0,
) -> Walk:  # fmt: skip
    """Walk the log of a context back; memory is as after the forward pass when this returns.

    Parameters
    ----------
    steps : what was noted of each entry.
    proofs : whether entries are proved.
    seeds : places and their cotangents.
    visit : called for each entry that got a cotangent, when memory is as it was before the entry.
    mended : with strong zeros, where a plain walk would give NaN.
    """
    found = Walk(cotangents=[None] * len(context.log))
    rng = np.random.default_rng(seed)
    room = BUDGET if proofs else 0
    present = strong_zeros.find(context, seeds) if mended else None
    with context.suspended():
        try:
            for place, ct in seeds:
                if place.active:
                    place.accumulate(ct)
            for number in range(len(context.log) - 1, -1, -1):
                room = _step(context, number, steps.get(number), found, rng, room, visit, present)
        except Exception:
            # Who asks for a proof wants to know which entry raised; it is kept in what was found.
            if found.error is None:
                raise
        finally:
            context.play_forward()
            context.forget_shadows()
    return found


def _step(
    context: Any, number: int, step: Step | None, found: Walk, rng: np.random.Generator, room: int, visit: Visit | None,
    present: Any,
) -> int:  # fmt: skip
    """One entry; returns what may still be spent."""
    entry = context.log[number]
    roots = roots_of(entry)
    cost = 4 * DIRECTIONS * sum(8 * math.prod(root.shape) for root in roots)
    proves = cost <= room and any(root.shadow is not None for root in roots)
    before = {root: None if root.shadow is None else np.array(grounded(root.shadow)) for root in roots if proves}
    ct = entry.take()
    if entry.overwrites:
        entry.undo()
    context.undone_from = number
    if ct is not None:
        found.cotangents[number] = _size(ct)
        if visit is not None:
            visit(number, entry, step, _copy(ct))
        try:
            finite = _pulled(entry, ct, None if present is None else present[number], roots)
        except Exception as error:
            blame(entry, error)
            found.failed, found.error = number, error
            raise
        if found.born is None and not finite and _is_finite(ct):
            found.born = number
    if proves:
        # What a root held before it was given its first value with a gradient is a constant.
        woken = list(entry.woken()) if entry.activates else []
        found.proofs += prove(number, entry, step, roots, woken, before, rng)
    if entry.activates:
        entry.forget_before()
    if proves:
        _keep_finite(roots)
    return room - cost if proves else room


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
