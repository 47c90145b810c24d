"""Differences that rounding explains: the same program in double precision, or moved by the last bit, tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.proof.blame.blaming import Blame, of_step
from bridge.proof.blame.observing import Step, flat_values
from bridge.proof.blame.recorded import record
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.tolerances import apart
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.running import gradient_of
from bridge.proof.subject import Subject

Explained = tuple[Blame | None, str]

# How many times the change by a perturbation of the last bit a difference may be, and still be rounding.
LAST_BITS = 256
VISIBLE = 3e-3


# From a gradient, the number that is compared: one element, or the derivative along a direction.
Chosen = Callable[[list[Any]], Any]


def explained(evidence: Evidence, got: Any, expected: Any, chosen: Chosen) -> Explained | None:
    """Why a difference of gradients is rounding, and where it arises; None if it is not."""
    if evidence.wide is not None:
        return _by_width(evidence, expected, chosen)
    return _by_last_bits(evidence, got, expected, chosen)


def _by_width(evidence: Evidence, expected: Any, chosen: Chosen) -> Explained | None:
    """In double precision the gradient is what was expected."""
    assert evidence.wide is not None
    found = _by_rules(evidence.wide)
    if found is None:
        return None
    wide = chosen(found[1])
    if apart(wide, expected, 10 * VISIBLE, evidence.tolerance.absolute)[0]:
        return None
    blame = cancelling(evidence)
    where = "" if blame is None else f"; it arises in {blame.place}: {blame.detail}"
    return blame, f"In double precision the same program gives {short(wide)}: it is rounding{where}."


def _by_last_bits(evidence: Evidence, got: Any, expected: Any, chosen: Chosen) -> Explained | None:
    """The gradient moves as much when the arguments move by their last bit."""
    base = _by_rules(evidence.subject)
    if base is None:
        return None
    moves = 0.0
    for seed in range(3):
        other = _by_rules(_perturbed(evidence.subject, seed))
        if other is None:
            return None
        moves = max(moves, float(abs(chosen(other[1]) - chosen(base[1]))))
    gap = float(abs(np.asarray(got) - np.asarray(expected)))
    if not gap <= LAST_BITS * moves:
        return None
    return None, f"A change of the arguments in the last bit moves this element by {moves:.2g}: it is rounding."


def sensitivity(evidence: Evidence) -> float:
    """How much the value moves when the arguments move by their last bit, and by rounding inside of the program."""
    base = np.asarray(evidence.value)
    moves = 0.0
    for seed in range(3):
        moved = _perturbed(evidence.subject, seed)
        with np.errstate(all="ignore"):
            try:
                moves = max(moves, float(np.abs(np.asarray(moved.measured()[0]) - base)))
            except Exception:
                # What the program raises beside the point says nothing of the point.
                return moves
    return moves if np.isfinite(moves) else 0.0


def narrow_value(evidence: Evidence) -> tuple[Any, Any, Any, Blame | None] | None:
    """What is visibly lost by single precision: what it is, both numbers, and the operation; None if nothing is."""
    if evidence.wide is None:
        return None
    narrow, wide = _by_rules(evidence.subject), _by_rules(evidence.wide)
    if narrow is None or wide is None or not np.isfinite(np.asarray(wide[0])):
        return None
    if apart(narrow[0], wide[0], VISIBLE, evidence.tolerance.absolute)[0]:
        return "value", narrow[0], wide[0], cancelling(evidence)
    for leaf, (a, b) in enumerate(zip(narrow[1], wide[1], strict=True)):
        gap, index = apart(a, b, VISIBLE, evidence.tolerance.absolute)
        if gap:
            return evidence.what(leaf, index), np.asarray(a)[index], np.asarray(b)[index], cancelling(evidence)
    return None


def cancelling(evidence: Evidence) -> Blame | None:
    """The operation whose value loses most digits to rounding, found beside the run in double precision."""
    assert evidence.wide is not None
    narrow = evidence.observed("native")
    if not narrow:
        return None
    wide = record(evidence.wide, "native").steps
    worst, found = 0.0, None
    for step, other in zip(narrow, wide, strict=False):
        if (step.kind, step.name) != (other.kind, other.name):
            break
        lost, before = _error(step.value, other.value), _error(step.operands, other.operands)
        if lost > VISIBLE / 10 and lost / max(before, 1e-8) > worst:
            worst, found = lost / max(before, 1e-8), (step, lost)
    if found is None:
        return None
    step, lost = found
    return of_step(step, "precision", f"{_operands(step)}, and {lost:.1g} of the result is rounding")


def _by_rules(subject: Subject) -> tuple[Any, list[Any]] | None:
    """Value and gradient by the rule book; None where it refuses."""
    try:
        with np.errstate(all="ignore"):
            return gradient_of(subject, subject, "native")
    except Exception:
        # The program may raise anything at other arguments, or in double precision.
        return None


def _perturbed(subject: Subject, seed: int) -> Subject:
    rng = np.random.default_rng(seed)
    signs = [np.finfo(p.dtype).eps * rng.choice([-1.0, 1.0], p.shape) for p in subject.points]
    return subject.moved_to([(p * (1 + s)).astype(p.dtype) for p, s in zip(subject.points, signs, strict=True)])


def _error(values: Any, accurate: Any) -> float:
    """The largest error of float arrays, each relative to its largest element."""
    worst = 0.0
    for a, b in zip(flat_values(values), flat_values(accurate), strict=False):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype.kind in "fc" and a.shape == b.shape and a.size and np.isfinite(b).all() and np.isfinite(a).all():
            gap = np.max(np.abs(a.astype(b.dtype) - b))
            worst = max(worst, float(gap / max(float(np.max(np.abs(b))), 1e-300)))
    return worst


def _operands(step: Step) -> str:
    return f"operands up to {_largest(step.operands):.3g}, result up to {_largest(step.value):.3g}"


def _largest(values: Any) -> float:
    arrays = [x for x in map(np.asarray, flat_values(values)) if x.dtype.kind in "fc"]
    return max((float(np.max(np.abs(x), initial=0.0)) for x in arrays), default=0.0)
