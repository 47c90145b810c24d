"""From evidence to a report: where values, gradients, forward mode and precision part, and whose fault it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.errors import ValueDiffersError
from bridge.proof.blame.blaming import Blame
from bridge.proof.blame.observing import flat_values
from bridge.proof.blame.witness import first_other_value
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.sampling import along, size_along
from bridge.proof.numerics.tolerances import apart, same_bits, worst_difference
from bridge.proof.programs import rounding
from bridge.proof.programs.evidence import Conflict, Evidence
from bridge.proof.programs.gradients import ENGINE_ONLY, gradient_differences
from bridge.proof.programs.remarks import remark
from bridge.proof.programs.running import Answer
from bridge.proof.report.model import Difference, Report, Run


def judge(report: Report, evidence: Evidence) -> None:
    """Judge the evidence: values first, then gradients, then forward mode, then what is worth a remark."""
    if evidence.sampled is not None:
        name = "complex step" if evidence.sampled.exact else "finite differences"
        report.runs.append(Run(name, "ran", "", None, evidence.sampled.gradient(evidence.subject)))
    found = value_differences(evidence)
    other = {engine for difference in found for engine in difference.suspects}
    sound = [engine for engine in evidence.ran if engine not in other]
    found += gradient_differences(evidence, sound)
    other = {engine for difference in found for engine in difference.suspects}
    found += forward_differences(evidence, [engine for engine in sound if engine not in other])
    report.differences += one_for_each_fault(found)
    report.differences += precision_differences(evidence, report.differences)
    report.compared = [engine for engine in evidence.ran if not evidence.uncompared(engine)]
    replayed = next((engine for engine in registry.replaying() if engine in evidence.ran), None)
    if replayed is not None:
        report.timeline = evidence.recorded(replayed).timeline()
    remark(report, evidence)


def one_for_each_fault(found: list[Difference]) -> list[Difference]:
    """The same, but what several engines do wrong in the same operation once: each of them is a witness."""
    kept: list[Difference] = []
    for one in found:
        fault = (one.kind, one.name, one.where, one.operation)
        same = [k for k, other in enumerate(kept) if (other.kind, other.name, other.where, other.operation) == fault]
        if not (same and one.name and one.where) or one.engines[0] in kept[same[0]].suspects:
            kept.append(one)
            continue
        known = kept[same[0]]
        sure = round(min(0.99, 1 - 0.5 * (1 - max(known.confidence, one.confidence))), 2)
        kept[same[0]] = replace(known, shared=(*known.shared, *one.suspects), confidence=sure)
    return kept


def value_differences(evidence: Evidence) -> list[Difference]:
    """Where a value under differentiation is not the plain value: bit for bit where NumPy itself computes it."""
    found = []
    for engine, answer in evidence.answers.items():
        if answer.ran:
            values = [answer.run.value] + ([] if answer.forward_value is None else [answer.forward_value])
            for value in values:
                difference = _value_difference(evidence, engine, value)
                if difference is not None:
                    found.append(difference)
                    break
        elif isinstance(answer.error, ValueDiffersError):
            found.append(_operation_difference(evidence, engine, answer))
    return found


def _value_difference(evidence: Evidence, engine: str, value: Any) -> Difference | None:
    plain, held = np.asarray(evidence.value), np.asarray(value)
    held = held.astype(plain.dtype) if held.dtype != plain.dtype else held
    if same_bits(plain, held) or (np.isnan(plain).all() and np.isnan(held).all()):
        return None
    allowed = evidence.tolerance.absolute
    if engine not in registry.replaying():
        allowed = max(allowed, rounding.LAST_BITS * rounding.sensitivity(evidence), _noise(evidence))
    largest, _ = apart(plain, held, evidence.tolerance.value, allowed)
    if not largest:
        if engine not in registry.replaying():
            return None
        words = f"{engine} gives {held!r} and the plain program {plain!r}: they differ by rounding."
        conflict = Conflict((engine, evidence.plain), "value", held, plain, worst_difference(plain, held)[0])
        return conflict.judged("precision", words, 0.9)
    kind = "nan" if np.isfinite(plain).all() and not np.isfinite(held).all() else "primal"
    blame = _other_value(evidence, engine) if engine in registry.replaying() else evidence.blame(engine)
    if blame is not None and blame.kind != "primal":
        blame = None
    why = ENGINE_ONLY if blame is None else f"{blame.place}: {blame.detail}."
    words = (
        f"under differentiation by {engine} the value is {short(held)}, the plain program's is {short(plain)}. {why}"
    )
    conflict = Conflict((engine, evidence.plain), "value", held, plain, largest)
    return conflict.judged(kind, words, 0.99 if blame else 0.95, blame)


def _other_value(evidence: Evidence, engine: str) -> Blame | None:
    """The first operation whose value under an engine is not the plain one's."""
    recorded = evidence.replay(engine)
    return None if recorded is None else first_other_value(recorded)


def _noise(evidence: Evidence) -> float:
    """Rounding that another order of summation may leave, as large values inside of the program say."""
    steps = evidence.observed("native")
    sizes = [np.abs(x) for step in steps for x in map(np.asarray, flat_values(step.value)) if x.dtype.kind in "fc"]
    largest = max((float(np.max(x, initial=0.0, where=np.isfinite(x))) for x in sizes), default=0.0)
    return 64 * evidence.epsilon * largest


def _operation_difference(evidence: Evidence, engine: str, answer: Answer) -> Difference:
    """An engine that found, while it ran, that its function of an operation is another than NumPy's."""
    error = answer.error
    assert isinstance(error, ValueDiffersError)
    blame = evidence.blame(engine) if engine in registry.replaying() else None
    if blame is None:
        blame = Blame("primal", "", error.where, "")
    words = f"{engine} computes another function than NumPy in {blame.place}: {error.what}."
    conflict = Conflict((engine, evidence.plain), "value of an operation", None, evidence.value, np.inf)
    return conflict.judged("primal", words, 0.97, blame)


def forward_differences(evidence: Evidence, engines: list[str]) -> list[Difference]:
    """Where forward mode and reverse mode of one engine give different derivatives along a direction."""
    found = []
    for engine in engines:
        answer = evidence.answers[engine]
        for k, (moved, direction) in enumerate(zip(answer.forward or [], evidence.directions, strict=False)):
            gradient = evidence.gradient(engine)
            back, size = along(direction, gradient), size_along(direction, gradient)
            if moved == back or (np.isnan(moved) and np.isnan(back)):
                continue
            gap = abs(moved - back)
            if gap <= evidence.tolerance.absolute + evidence.tolerance.gradient * max(size, abs(moved)):
                continue
            found.append(_forward_difference(evidence, engine, k, moved, back))
            break
    return found


def _forward_difference(evidence: Evidence, engine: str, k: int, moved: float, back: float) -> Difference:
    samples = [] if evidence.sampled is None else evidence.sampled.samples
    samples = [s for s in samples if s.leaf is None] or samples
    slope = samples[k].slope if k < len(samples) else None
    kind = "mismatch" if np.isfinite(moved) == np.isfinite(back) else "nan"
    words = f"along one direction forward mode of {engine} gives {moved:.9g}, and its reverse mode {back:.9g}"
    suspect = (f"{engine}, forward", engine)
    sure = 0.8
    if slope is not None and slope.kind == "kink":
        kind, words = "kink", f"{words}: the program has a kink there"
    elif slope is not None:
        words = f"{words}; finite differences give {slope.central:.9g}"
        sure = 0.95 if slope.kind == "smooth" else 0.7
        if abs(slope.central - back) > abs(slope.central - moved):
            suspect = (engine, f"{engine}, forward")
    direction = evidence.directions[k]
    if kind == "mismatch" and evidence.replays:
        found = rounding.explained(evidence, moved, back, lambda gradient: along(direction, gradient))
        kind = "mismatch" if found is None else "precision"
    largest = abs(moved - back) / max(abs(moved), abs(back), 1e-300)
    words += ". In forward mode only the engine is known, not the operation."
    wrong, other = (moved, back) if suspect[0] != engine else (back, moved)
    return Conflict(suspect, "derivative along a direction", wrong, other, largest).judged(kind, words, sure)


def precision_differences(evidence: Evidence, known: list[Difference]) -> list[Difference]:
    """What single precision visibly costs, where nothing else is wrong."""
    if any(one.kind != "kink" for one in known) or not evidence.ran:
        return []
    lost = rounding.narrow_value(evidence)
    if lost is None:
        return []
    what, narrow, wide, blame = lost
    name = str(np.asarray(evidence.subject.points[0]).dtype)
    words = f"in {name} it is {short(narrow)}, and in double precision {short(wide)}"
    words += "." if blame is None else f": digits cancel in {blame.place} ({blame.detail})."
    largest = apart(narrow, wide, 0.0, 0.0)[0]
    conflict = Conflict((name, "double precision"), what, narrow, wide, largest)
    return [conflict.judged("precision", words, 0.9 if blame else 0.7, blame)]


def note_compared(report: Report, one: Run, other: Run) -> None:
    """Note in a report that the gradients of two runs were held against each other, unless a leaf is NaN in both."""
    pairs = zip(map(np.asarray, one.gradients), map(np.asarray, other.gradients), strict=True)
    unknown = any(a.size and (np.isnan(a) & np.isnan(b)).all() for a, b in pairs)
    if not unknown and any(np.size(g) for g in one.gradients):
        known = report.compared or []
        report.compared = list(dict.fromkeys([*known, one.engine, other.engine]))


def beside(evidence: Evidence, one: Run, other: Run) -> list[Difference]:
    """How a function's value and gradient differ from those of its twin."""
    tolerance, engines = evidence.tolerance, (one.engine, other.engine)
    gap, _ = apart(one.value, other.value, tolerance.value, max(tolerance.absolute, 1e3 * evidence.epsilon))
    if gap:
        pair = f"{one.engine} gives the value {short(one.value)}, and {other.engine} {short(other.value)}"
        conflict = Conflict(engines, "value", one.value, other.value, gap)
        return [conflict.judged("primal", f"{pair}: these are two functions.", 0.95)]
    for leaf, (a, b) in enumerate(zip(one.gradients, other.gradients, strict=True)):
        gap, index = apart(a, b, tolerance.gradient, tolerance.absolute)
        if not gap:
            continue
        got, wanted = np.asarray(a)[index], np.asarray(b)[index]
        sample = evidence.sample_at(leaf, index)
        kind = "mismatch" if np.all(np.isfinite(got)) == np.all(np.isfinite(wanted)) else "nan"
        why = ENGINE_ONLY
        if sample is not None and sample.slope.kind == "kink":
            kind, why = "kink", (
                f"The function has a kink there (one-sided derivatives {sample.slope.left:.6g} and "
                f"{sample.slope.right:.6g}): any slope between them is right."
            )  # fmt: skip
        words = f"{one.engine} gives {short(got)}, and {other.engine} {short(wanted)}. {why}"
        return [Conflict(engines, evidence.what(leaf, index), got, wanted, gap).judged(kind, words, 0.8)]
    return []
