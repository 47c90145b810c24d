"""Kinks: answers between the one-sided derivatives, the operation that has them, and its convention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.proof.blame.blaming import Blame
from bridge.proof.blame.lost_gradients import tied
from bridge.proof.blame.references import spans
from bridge.proof.numerics.compare import Sample
from bridge.proof.numerics.sampling import sampled
from bridge.proof.programs.conventions import convention_of
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.running import answer

# How far beside the point, and at how many coordinates, a gradient is proved again.
NEARBY = 3e-3
NEARBY_COORDINATES = 16


def is_subgradient(evidence: Evidence, sample: Sample | None, spot: Any, got: Any) -> bool:
    """Whether an answer at a kink lies between the one-sided derivatives."""
    if sample is None or not sample.slope.is_clear_kink:
        return False
    value = float(np.real(got)) if spot is None else _along(sample, spot, got)
    return sample.slope.admits(value, evidence.tolerance.differences, abs(value)) is not False


def _along(sample: Sample, spot: tuple[int, tuple[int, ...]], got: Any) -> float:
    leaf, index = spot
    return float(np.real(np.conj(got) * sample.direction[leaf][index])) if sample.leaf == leaf else math.nan


def right_nearby(evidence: Evidence, engine: str) -> bool:
    """Whether the engine's gradient is right a little beside the point, off its thresholds."""
    subject = evidence.subject
    leaves = list(subject.leaves)
    for leaf, point, d in zip(subject.moved, subject.points, evidence.directions[0], strict=True):
        value = point + (NEARBY * d).astype(point.dtype)
        leaves[leaf] = type(leaves[leaf])(value) if type(leaves[leaf]) in (float, complex) else value
    nearby = subject.at(leaves)
    nearby.cotangents = subject.cotangents
    found = answer(engine, nearby, [], evidence.generators)
    if not found.ran:
        return False
    evidence.generators.restore()
    beside = sampled(nearby, evidence.epsilon, NEARBY_COORDINATES, subject.seed)
    comparison = beside.against(found.run.gradients, evidence.tolerance.differences, nearby, evidence.epsilon)
    return bool(comparison.decided) and not comparison.mismatches


def kink_of(evidence: Evidence, engine: str) -> Blame | None:
    """The operation whose own one-sided derivatives differ."""
    if not can_replay(evidence, engine):
        return None
    recorded, walk = evidence.recorded(replaying(engine)), evidence.walk(replaying(engine))
    for proof in walk.proofs:
        if proof.slope.is_clear_kink:
            step = recorded.by_entry.get(proof.number)
            return Blame("kink", proof.entry.name, proof.entry.where, "", proof.number, spans(step), 0, engine)
    step = tied(recorded.steps)
    return None if step is None else Blame("kink", step.name, step.where, "", step.entry, spans(step), 0, engine)


def convention_at(evidence: Evidence, engine: str) -> str:
    """The operation that has the kink, and what the table of conventions says of it, in words."""
    blame = kink_of(evidence, engine)
    if blame is None:
        return "The one-sided derivatives differ: any subgradient between them is right."
    known = convention_of(blame.name)
    rule = f" (docs/conventions.md: {known})" if known else ""
    return f"{blame.place} has a kink there: any slope between the one-sided ones is right{rule}."


def can_replay(evidence: Evidence, engine: str) -> bool:
    """Whether the program runs observed: under the engine itself, or under the rule book for one that compiles."""
    return bool(evidence.observed(replaying(engine)))


def replaying(engine: str) -> str:
    """The engine whose log stands for that of `engine`."""
    return engine if engine in registry.replaying() else "native"
