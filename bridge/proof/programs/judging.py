"""From evidence to verdicts: which answers differ, how each difference is classified, and which operation did it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from bridge.proof.blame.blaming import Blame, blamed, born_blame
from bridge.proof.blame.lost_gradients import lost, tied
from bridge.proof.numerics.compare import Sample
from bridge.proof.numerics.tolerances import short
from bridge.proof.programs import rounding
from bridge.proof.programs.evidence import Evidence, predicted
from bridge.proof.programs.kinks import can_replay, convention_at, is_subgradient, kink_of, replaying, right_nearby
from bridge.proof.report.model import Difference
from bridge.proof.report.verdicts import DIFFERENCES, confidence, made


def gradient_differences(evidence: Evidence, engines: list[str]) -> list[Difference]:
    """The differences of the engines' gradients from finite differences, and from each other."""
    if not engines:
        return []
    reference = _reference(evidence, engines)
    found: list[Difference] = []
    for engine in engines:
        wrong = evidence.mismatches(engine)
        gap, leaf, index = evidence.gap(engine, reference) if engine != reference else (0.0, 0, ())
        if not wrong and not gap:
            found += _kink_convention(evidence, engine) if engine == reference else []
            continue
        alike = next((one for one in found if not evidence.gap(engine, one.engines[0])[0]), None)
        if alike is not None:
            found += [_repeated(one, engine) for one in found if one.engines[0] == alike.engines[0]]
            continue
        finite = [sample for sample in wrong if math.isfinite(sample.got)]
        coordinates = [sample for sample in wrong if not math.isfinite(sample.got) and sample.leaf is not None]
        if finite and coordinates:
            # A NaN here does not hide what is wrong there.
            found.append(_judged(evidence, engine, reference, coordinates, 0.0, 0, ()))
            wrong = finite
        found.append(_judged(evidence, engine, reference, wrong, gap, leaf, index))
    return found


def _repeated(known: Difference, engine: str) -> Difference:
    """The difference of an engine that gives what another one, judged already, gives."""
    words = f"{engine} gives the same as {known.engines[0]}. {known.explanation}"
    return replace(known, engines=(engine, known.engines[1]), explanation=words)


def _kink_convention(evidence: Evidence, engine: str) -> list[Difference]:
    """Where a gradient is a subgradient, and not the mean of the one-sided derivatives that the conventions name."""
    comparison = evidence.comparison(engine)
    if comparison is None:
        return []
    for sample in comparison.kinks:
        mean = sample.slope.central
        allowed = evidence.tolerance.differences * max(abs(sample.slope.left), abs(sample.slope.right))
        if sample.leaf is None or abs(sample.got - mean) <= allowed + 10 * sample.slope.error + sample.noise:
            continue
        spot = (sample.leaf, sample.index)
        got = np.asarray(evidence.gradient(engine)[sample.leaf])[sample.index]
        expected = evidence.expected_at(*spot)
        return [_verdict(evidence, engine, DIFFERENCES, evidence.what(*spot), got, expected, sample, 0.0, spot)]
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


def _judged(
    evidence: Evidence, engine: str, reference: str, wrong: list[Sample], gap: float, leaf: int, index: tuple[int, ...]
) -> Difference:
    """One engine's difference."""
    worst = wrong[0] if wrong else None
    against = reference if gap and not wrong else DIFFERENCES
    if worst is not None and worst.leaf is not None:
        leaf, index = worst.leaf, worst.index
    elif worst is not None and not gap:
        what = "gradient along a random direction"
        return _verdict(evidence, engine, against, what, worst.got, worst.expected, worst, gap, None)
    got = np.asarray(evidence.gradient(engine)[leaf])[index]
    expected = evidence.expected_at(leaf, index) if against == DIFFERENCES else None
    if expected is None:
        expected = np.asarray(evidence.gradient(reference)[leaf])[index]
    sample = worst or evidence.sample_at(leaf, index)
    return _verdict(evidence, engine, against, evidence.what(leaf, index), got, expected, sample, gap, (leaf, index))


def _verdict(
    evidence: Evidence, engine: str, against: str, what: str, got: Any, expected: Any, sample: Sample | None,
    gap: float, spot: Any,
) -> Difference:  # fmt: skip
    largest = _relative(got, expected)
    kind, blame, why = _classified(evidence, engine, against, got, expected, sample, spot)
    same = [one for one in evidence.ran if one != engine and not evidence.gap(one, engine)[0]]
    sentence = f"{engine} gives {short(got)}, {against} {_given(against)} {short(expected)}{_range(sample)}"
    if same:
        sentence += f"; {', '.join(same)} {'give' if len(same) > 1 else 'gives'} the same as {engine}"
    sentence += f". {why}"
    sure = confidence(evidence, engine, against, sample, gap, blame, kind, bool(same))
    return made(kind, (engine, against), what, largest, got, expected, sentence, sure, blame)


def _classified(
    evidence: Evidence, engine: str, against: str, got: Any, expected: Any, sample: Sample | None, spot: Any
) -> tuple[str, Blame | None, str]:
    """The kind of a difference, the operation to blame, and the reason in words."""
    if not np.all(np.isfinite(got)):
        return _not_finite(evidence, engine)
    blame = localised(evidence, engine)
    if is_subgradient(evidence, sample, spot, got):
        return "kink", kink_of(evidence, engine) or blame, convention_at(evidence, engine)
    if blame is not None:
        more = f" {blame.others} more {'operation disagrees' if blame.others == 1 else 'operations disagree'}."
        why = f"The operation to blame is {blame.place}: {blame.detail}."
        return blame.kind, blame, why + (more if blame.others else "")
    missing = _missing(evidence, engine)
    if missing is not None:
        return "missing-gradient", missing, f"The gradient is lost: {missing.detail}."
    step = tied(evidence.recorded(replaying(engine)).steps) if can_replay(evidence, engine) else None
    if step is not None and right_nearby(evidence, engine):
        where = Blame("kink", step.name, step.where, "", step.entry)
        return "kink", where, (
            f"{step.name} at {step.where} stands exactly on its threshold, so that the branch that ran is one of two."
        )  # fmt: skip
    found = rounding.explained(evidence, got, expected, _chosen(sample, spot)) if evidence.replays else None
    if found is not None:
        return "precision", found[0], found[1]
    lost_whole = np.all(np.asarray(got) == 0) and not np.all(np.asarray(expected) == 0)
    none = "No operation disagrees by itself: only" if evidence.replays else "Only"
    return "missing-gradient" if lost_whole else "mismatch", None, f"{none} the engine is known, not the operation."


def _chosen(sample: Sample | None, spot: Any) -> rounding.Chosen:
    """What was compared, as a function of a gradient."""
    if spot is None:
        assert sample is not None
        return lambda gradient: predicted(gradient, sample.direction)[0]
    leaf, index = spot
    return lambda gradient: np.asarray(gradient[leaf])[index]


def localised(evidence: Evidence, engine: str) -> Blame | None:
    """The operation to blame under an engine; None if none disagrees by itself."""
    if engine == "xla" and evidence.replays:
        from bridge.proof.blame.compiled_operations import blamed_under_xla

        return blamed_under_xla(evidence)
    if not can_replay(evidence, engine):
        return None
    return blamed(evidence.recorded(engine), evidence.walk(engine))


def _not_finite(evidence: Evidence, engine: str) -> tuple[str, Blame | None, str]:
    """A NaN or an infinity: the line on which it is born."""
    if not can_replay(evidence, engine):
        return "nan", None, "Only the engine is known, not the operation."
    recorded, walk = evidence.recorded(replaying(engine)), evidence.walk(replaying(engine))
    if engine == "xla" and walk.born is None:
        blame = localised(evidence, engine)
        return (
            "nan",
            blame,
            "Only the engine is known, not the operation." if blame is None else f"{blame.place}: {blame.detail}.",
        )
    if walk.born is None:
        return "nan", blamed(recorded, walk), "No single operation makes it from finite cotangents."
    blame = born_blame(recorded, walk.born)
    return "nan", blame, f"It is born in the pull of {blame.place}: {blame.detail}."


def _missing(evidence: Evidence, engine: str) -> Blame | None:
    if not can_replay(evidence, engine) or not evidence.directions:
        return None
    return lost(evidence.recorded(replaying(engine)), evidence.directions[0], evidence.generators)


def _range(sample: Sample | None) -> str:
    if sample is None or sample.slope.kind not in ("kink", "infinite", "jump"):
        return ""
    step = 1.0 if sample.leaf is None else abs(sample.direction[sample.leaf][sample.index])
    return f" (one-sided: {sample.slope.left / step:.6g} and {sample.slope.right / step:.6g})"


def _given(against: str) -> str:
    return "give" if against == DIFFERENCES else "gives"


def _relative(got: Any, expected: Any) -> float:
    a, b = np.asarray(got), np.asarray(expected)
    with np.errstate(all="ignore"):
        gap = float(np.max(np.abs(a - b), initial=0.0))
        size = max(float(np.max(np.abs(a), initial=0.0)), float(np.max(np.abs(b), initial=0.0)))
    return gap / size if math.isfinite(gap) and size else (0.0 if gap == 0 else math.inf)
