"""Where a gradient is lost although every pull is right: values that depend on the arguments and are not tracked."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.code_position import resolve
from bridge.proof.blame.blaming import Blame, of_step
from bridge.proof.blame.observing import Step, flat_values
from bridge.proof.blame.recorded import Recorded, record
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.sampling import moved_along
from bridge.proof.numerics.tolerances import apart, same_bits, tolerance_of
from bridge.rulebook.facts import facts_of

STEP = 1e-4


def lost(recorded: Recorded, direction: list[np.ndarray]) -> Blame | None:
    """The first operation that uses, untracked, what moves with the arguments.

    The program runs again with its arguments moved along `direction`; both runs are laid beside each other. None where
    all that moves is tracked.
    """
    subject = recorded.subject
    moved = subject.moved_to(moved_along(subject.points, direction, STEP))
    try:
        again = record(moved, recorded.engine)
    except Exception:
        # What the program raises beside the point says nothing of the point.
        return None
    for step, other in zip(recorded.steps, again.steps, strict=False):
        if (step.kind, step.name) != (other.kind, other.name):
            return None
        untracked = [k for k in step.plain if k < len(step.operands) and _moves(step.operands[k], other.operands[k])]
        if untracked:
            return _untracked_operand(recorded, step, untracked[0])
        if step.fed and step.entry is None and _moves(step.value, other.value):
            detail = "it is declared to have no derivative (nondifferentiable), and its value moves with the arguments"
            return of_step(step, "missing-gradient", detail)
    return None


def _untracked_operand(recorded: Recorded, step: Step, k: int) -> Blame:
    detached = recorded.context.detached
    detail = f"its operand {short(step.operands[k])} moves with the arguments, and is an untracked array"
    if detached:
        position, how = detached[0]
        detail = f"{how} at {resolve(position)} lets a value go that depends on the arguments, and {step.place} uses it"
        return Blame("missing-gradient", how, resolve(position), detail)
    return of_step(step, "missing-gradient", detail)


def tied(steps: list[Step]) -> Step | None:
    """The first comparison (or rounding) that stands exactly on its threshold."""
    for step in steps:
        if not facts_of(step.function).jumps or not step.fed:
            continue
        operands = [np.asarray(x) for x in flat_values(step.operands)]
        if len(operands) == 2 and np.any(np.equal(*np.broadcast_arrays(*operands))):
            return step
        if len(operands) == 1 and operands[0].dtype.kind == "f" and np.any(operands[0] == np.round(operands[0])):
            return step
    return None


def first_other(steps: list[Step], others: list[Step]) -> Step | None:
    """The first operation of two runs that got or gave something else."""
    for step, other in zip(steps, others, strict=False):
        if (step.kind, step.name) != (other.kind, other.name):
            return step
        if _differs(step.operands, other.operands) or _differs(step.value, other.value):
            return step
    return None


def _differs(a: Any, b: Any) -> bool:
    return not all(same_bits(x, y) for x, y in zip(flat_values(a), flat_values(b), strict=False))


def _moves(a: Any, b: Any) -> bool:
    """Whether a value moved by more than rounding."""
    for x, y in zip(flat_values(a), flat_values(b), strict=False):
        x, y = np.asarray(x), np.asarray(y)
        if x.dtype.kind not in "fc" or x.shape != y.shape:
            continue
        if apart(x, y, tolerance_of(x.dtype).moved, 0.0)[0]:
            return True
    return False
