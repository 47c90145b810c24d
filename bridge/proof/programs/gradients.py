"""Gradients: which engines' are wrong, how each difference is classified, and which operation did it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bridge.engines import registry
from bridge.proof.blame.blaming import Blame, blamed, born_blame
from bridge.proof.blame.lost_gradients import lost, tied
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.sampling import Sample, along
from bridge.proof.numerics.tolerances import apart
from bridge.proof.programs import rounding
from bridge.proof.programs.evidence import Conflict, Evidence
from bridge.proof.programs.kinks import convention_at, is_subgradient, kink_of, right_nearby
from bridge.proof.report.model import Difference

DIFFERENCES = "finite differences"
ENGINE_ONLY = "Only the engine is known, not the operation."

# How far two gradients are apart, relatively, with the leaf and the index.
Gap = tuple[float, int, tuple[int, ...]]
NO_GAP: Gap = (0.0, 0, ())


def gradient_differences(evidence: Evidence, engines: list[str]) -> list[Difference]:
    """The differences of the engines' gradients from finite differences, and from each other."""
    if not engines:
        return []
    reference = _reference(evidence, engines)
    found: list[Difference] = []
    for engine in engines:
        wrong = evidence.mismatches(engine)
        gap = evidence.gap(engine, reference) if engine != reference else NO_GAP
        if not wrong and not gap[0]:
            found += _kink_convention(evidence, engine) if engine == reference else []
            continue
        alike = next((one for one in found if not evidence.gap(engine, one.engines[0])[0]), None)
        if alike is not None:
            same = alike.engines[0]
            found = [replace(one, shared=(*one.shared, engine)) if one.engines[0] == same else one for one in found]
            continue
        finite = [sample for sample in wrong if math.isfinite(sample.got)]
        coordinates = [sample for sample in wrong if not math.isfinite(sample.got) and sample.leaf is not None]
        if finite and coordinates:
            # A NaN here does not hide what is wrong there.
            found.append(_verdict(evidence, _conflict(evidence, engine, reference, coordinates, NO_GAP)))
            wrong = finite
        found.append(_verdict(evidence, _conflict(evidence, engine, reference, wrong, gap)))
    return found


def _kink_convention(evidence: Evidence, engine: str) -> list[Difference]:
    """Where a gradient is a subgradient, and not the mean of the one-sided derivatives that the conventions name."""
    comparison = evidence.comparison(engine)
    if comparison is None:
        return []
    for sample in comparison.kinks:
        allowed = evidence.tolerance.differences * max(abs(sample.slope.left), abs(sample.slope.right))
        allowed += 10 * sample.slope.error + comparison.floor + sample.noise
        if sample.leaf is not None and not abs(sample.got - sample.slope.central) <= allowed:
            return [_verdict(evidence, _conflict(evidence, engine, engine, [sample], NO_GAP))]
    return []


def _reference(evidence: Evidence, engines: list[str]) -> str:
    """The engine that the others are held against: the first that finite differences bear out; else that most share."""
    right = [engine for engine in engines if not evidence.mismatches(engine) and _finite(evidence, engine)]
    if evidence.sampled is not None:
        return (right or engines)[0]
    shared = {one: sum(not evidence.gap(one, other)[0] for other in engines) for one in right or engines}
    return max(shared, key=lambda one: shared[one])


def _finite(evidence: Evidence, engine: str) -> bool:
    return all(np.isfinite(g).all() for g in evidence.gradient(engine))


def _conflict(evidence: Evidence, engine: str, reference: str, wrong: list[Sample], gap: Gap) -> Conflict:
    """What an engine's gradient is in conflict with, at the worst of the samples or where it parts from a reference."""
    worst = wrong[0] if wrong else None
    against = reference if gap[0] and not wrong else DIFFERENCES
    _, leaf, index = gap
    if worst is not None and worst.leaf is not None:
        leaf, index = worst.leaf, worst.index
    elif worst is not None and not gap[0]:
        largest = apart(worst.got, worst.expected, 0.0, 0.0)[0]
        what = "gradient along a random direction"
        return Conflict((engine, against), what, worst.got, worst.expected, largest, worst)
    got = np.asarray(evidence.gradient(engine)[leaf])[index]
    expected = evidence.expected_at(leaf, index) if against == DIFFERENCES else None
    if expected is None:
        expected = np.asarray(evidence.gradient(reference)[leaf])[index]
    largest, _ = apart(got, expected, 0.0, 0.0)
    sample = worst or evidence.sample_at(leaf, index)
    return Conflict((engine, against), evidence.what(leaf, index), got, expected, largest, sample, (leaf, index))


def _verdict(evidence: Evidence, conflict: Conflict) -> Difference:
    engine, against = conflict.engines
    kind, blame, why = _classified(evidence, conflict)
    same = [one for one in evidence.ran if one != engine and not evidence.gap(one, engine)[0]]
    expected = f"{'give' if against == DIFFERENCES else 'gives'} {short(conflict.expected)}{_range(conflict.sample)}"
    sentence = f"{engine} gives {short(conflict.got)}, {against} {expected}"
    if same:
        sentence += f"; {', '.join(same)} {'give' if len(same) > 1 else 'gives'} the same as {engine}"
    return conflict.judged(kind, f"{sentence}. {why}", _confidence(evidence, conflict, kind, blame, bool(same)), blame)


def _classified(evidence: Evidence, conflict: Conflict) -> tuple[str, Blame | None, str]:
    """The kind of a difference, the operation to blame, and the reason in words."""
    engine, got = conflict.engines[0], conflict.got
    if not np.all(np.isfinite(got)):
        return _not_finite(evidence, engine)
    blame = evidence.blame(engine)
    if is_subgradient(evidence, conflict):
        return "kink", kink_of(evidence, engine) or blame, convention_at(evidence, engine)
    if blame is not None:
        more = f" {blame.others} more {'operation disagrees' if blame.others == 1 else 'operations disagree'}."
        why = f"The operation to blame is {blame.place}: {blame.detail}."
        return blame.kind, blame, why + (more if blame.others else "")
    recorded = evidence.replay(engine)
    missing = lost(recorded, evidence.directions[0]) if recorded is not None and evidence.directions else None
    if missing is not None:
        return "missing-gradient", missing, f"The gradient is lost: {missing.detail}."
    step = tied(recorded.steps) if recorded is not None else None
    if step is not None and right_nearby(evidence, engine):
        where = Blame("kink", step.name, step.where, "", step.entry)
        return "kink", where, (
            f"{step.name} at {step.where} stands exactly on its threshold, so that the branch that ran is one of two."
        )  # fmt: skip
    found = rounding.explained(evidence, got, conflict.expected, _chosen(conflict)) if evidence.replays else None
    if found is not None:
        return "precision", found[0], found[1]
    lost_whole = np.all(np.asarray(got) == 0) and not np.all(np.asarray(conflict.expected) == 0)
    why = f"No operation disagrees by itself: {ENGINE_ONLY.lower()}" if evidence.replays else ENGINE_ONLY
    return "missing-gradient" if lost_whole else "mismatch", None, why


def _chosen(conflict: Conflict) -> rounding.Chosen:
    """What was compared, as a function of a gradient."""
    if conflict.spot is None:
        assert conflict.sample is not None
        direction = conflict.sample.direction
        return lambda gradient: along(direction, gradient)
    leaf, index = conflict.spot
    return lambda gradient: np.asarray(gradient[leaf])[index]


def _not_finite(evidence: Evidence, engine: str) -> tuple[str, Blame | None, str]:
    """A NaN or an infinity: the line on which it is born."""
    recorded = evidence.replay(engine)
    if recorded is None:
        return "nan", None, ENGINE_ONLY
    walk = evidence.walk(recorded.engine)
    if walk.born is not None:
        blame = born_blame(recorded, walk.born)
        return "nan", blame, f"It is born in the pull of {blame.place}: {blame.detail}."
    if engine == "xla":
        found = evidence.blame(engine)
        return "nan", found, ENGINE_ONLY if found is None else f"{found.place}: {found.detail}."
    return "nan", blamed(recorded, walk), "No single operation makes it from finite cotangents."


def _range(sample: Sample | None) -> str:
    if sample is None or sample.slope.kind not in ("kink", "infinite", "jump"):
        return ""
    step = 1.0 if sample.leaf is None else abs(sample.direction[sample.leaf][sample.index])
    return f" (one-sided: {sample.slope.left / step:.6g} and {sample.slope.right / step:.6g})"


def _confidence(evidence: Evidence, conflict: Conflict, kind: str, blame: Blame | None, shared: bool) -> float:
    """How sure a verdict is: each independent witness halves the doubt, those for the other side take from it.

    Witnesses are finite differences that converge, every engine that disagrees with the suspect, and the suspect's own
    operation where its differences contradict its pull; where they do so under engines that give the same, these too.
    """
    engine, against = conflict.engines
    agreeing = [one for one in evidence.ran if one != engine and not evidence.gap(one, engine)[0]]
    witnesses = len(evidence.ran) - 1 - len(agreeing)
    # Engines have a core in common: that they agree says less than that they differ, and nothing where a rule is wrong.
    objections = 0.25 * len(agreeing) if shared and blame is None else 0.0
    if blame is not None and blame.operation is not None:
        walked = [evidence.blame(one) for one in agreeing if one in registry.replaying()]
        witnesses += sum(one is not None and one.operation == blame.operation for one in walked)
    sample = conflict.sample
    if against == DIFFERENCES and sample is not None and sample.slope.kind in ("smooth", "kink"):
        witnesses += 1 + (len(evidence.mismatches(engine)) > 2)
    if blame is not None:
        witnesses += 2 if kind != "kink" else 1
    doubt = 0.5 ** max(witnesses, 0)
    if kind == "nan":
        # A derivative that is not finite shows by itself that it is none.
        doubt = min(doubt, 0.4)
    share = (witnesses + 1) / (witnesses + 1 + objections)
    return round(min(0.99, max(0.05, (1 - doubt) * share)), 2)
