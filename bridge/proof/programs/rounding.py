"""Differences that rounding explains: the same program in double precision, or moved by the last bit, tells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import bridge
from bridge.proof.blame.blaming import Blame, of_step
from bridge.proof.blame.observing import Step, flat_values
from bridge.proof.blame.recorded import record
from bridge.proof.numerics.tolerances import apart, short
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.subject import Subject
from bridge.trees import leaves_of

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
    found = gradient_of(evidence.wide, evidence)
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
    base = gradient_of(evidence.subject, evidence)
    if base is None:
        return None
    moves = 0.0
    for seed in range(3):
        other = gradient_of(_perturbed(evidence.subject, seed), evidence)
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
        evidence.generators.restore()
        with np.errstate(all="ignore"):
            try:
                moves = max(moves, float(np.abs(np.asarray(moved.measured()[0]) - base)))
            except Exception:
                return moves
    return moves if np.isfinite(moves) else 0.0


def narrow_value(evidence: Evidence) -> tuple[Any, Any, Any, Blame | None] | None:
    """What is visibly lost by single precision: what it is, both numbers, and the operation; None if nothing is."""
    if evidence.wide is None:
        return None
    narrow, wide = gradient_of(evidence.subject, evidence), gradient_of(evidence.wide, evidence)
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
    wide = record(evidence.wide, "native", evidence.generators).steps
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
    return of_step(step, "precision", f"{_operands(step)}, and {lost:.1g} of the result is rounding", "native")


def gradient_of(subject: Subject, evidence: Evidence) -> tuple[Any, list[Any]] | None:
    """Value and gradient by the rule book; None where it refuses."""
    evidence.generators.restore()
    args, kwargs = subject.arguments()
    try:
        with np.errstate(all="ignore"):
            value, gradient = bridge.value_and_grad(subject, subject.argnums, engine="native", allow_int=True)(
                *args, **kwargs
            )
    except Exception:
        return None
    return value, [leaf for leaf in leaves_of(gradient)[0] if leaf is not None]


def _perturbed(subject: Subject, seed: int) -> Subject:
    rng = np.random.default_rng(seed)
    leaves = list(subject.leaves)
    for leaf, point in zip(subject.moved, subject.points, strict=True):
        array = np.asarray(point)
        epsilon = np.finfo(array.dtype).eps
        moved = (array * (1 + epsilon * rng.choice([-1.0, 1.0], array.shape))).astype(array.dtype)
        leaves[leaf] = moved if isinstance(point, np.ndarray) else type(leaves[leaf])(moved[()])
    other = subject.at(leaves)
    other.cotangents = subject.cotangents
    return other


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
    sizes = [
        float(np.max(np.abs(x), initial=0.0))
        for x in map(np.asarray, flat_values(step.operands))
        if x.dtype.kind in "fc"
    ]
    result = [
        float(np.max(np.abs(x), initial=0.0)) for x in map(np.asarray, flat_values(step.value)) if x.dtype.kind in "fc"
    ]
    return f"operands up to {max(sizes, default=0.0):.3g}, result up to {max(result, default=0.0):.3g}"
