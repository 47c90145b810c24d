"""Differences of values, of forward mode, and of precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.errors import BridgeError
from bridge.proof.blame.blaming import Blame, first_not_finite, of_step
from bridge.proof.blame.observing import flat_values
from bridge.proof.blame.witness import first_other_value
from bridge.proof.numerics.arrays import same_bits
from bridge.proof.numerics.tolerances import apart, short
from bridge.proof.programs import rounding
from bridge.proof.programs.evidence import Evidence, predicted
from bridge.proof.programs.judging import localised
from bridge.proof.programs.running import Answer, is_other_value
from bridge.proof.report.model import Difference
from bridge.proof.report.verdicts import made


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
        elif is_other_value(answer.error):
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
        largest = float(np.abs(plain - held) / max(np.abs(plain), 1e-300))
        words = f"{engine} gives {held!r} and the plain program {plain!r}: they differ by rounding."
        return made("precision", (engine, evidence.plain), "value", largest, held, plain, words, 0.9, None)
    kind = "nan" if np.isfinite(plain).all() and not np.isfinite(held).all() else "primal"
    blame = first_other_value(evidence, engine) if engine in registry.replaying() else localised(evidence, engine)
    if blame is not None and blame.kind != "primal":
        blame = None
    why = "Only the engine is known, not the operation." if blame is None else f"{blame.place}: {blame.detail}."
    words = (
        f"under differentiation by {engine} the value is {short(held)}, the plain program's is {short(plain)}. {why}"
    )
    return made(kind, (engine, evidence.plain), "value", largest, held, plain, words, 0.99 if blame else 0.95, blame)


def _noise(evidence: Evidence) -> float:
    """Rounding that another order of summation may leave, as large values inside of the program say."""
    steps = evidence.observed("native")
    sizes = [np.abs(x) for step in steps for x in map(np.asarray, flat_values(step.value)) if x.dtype.kind in "fc"]
    largest = max((float(np.max(x, initial=0.0, where=np.isfinite(x))) for x in sizes), default=0.0)
    return 64 * evidence.epsilon * largest


def _operation_difference(evidence: Evidence, engine: str, answer: Answer) -> Difference:
    """An engine that found, while it ran, that its function of an operation is another than NumPy's."""
    error = answer.error
    assert isinstance(error, BridgeError)
    blame = localised(evidence, engine) if engine in registry.replaying() else None
    if blame is None:
        blame = Blame("primal", "", error.where, "")
    words = f"{engine} computes another function than NumPy in {blame.place}: {error.what}."
    return made(
        "primal", (engine, evidence.plain), "value of an operation", np.inf, None, evidence.value, words, 0.97, blame
    )


def forward_differences(evidence: Evidence, engines: list[str]) -> list[Difference]:
    """Where forward mode and reverse mode of one engine give different derivatives along a direction."""
    found = []
    for engine in engines:
        answer = evidence.answers[engine]
        for k, (moved, direction) in enumerate(zip(answer.forward or [], evidence.directions, strict=False)):
            back, size = predicted(evidence.gradient(engine), direction)
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
    along = [s for s in samples if s.leaf is None] or samples
    slope = along[k].slope if k < len(along) else None
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
        found = rounding.explained(evidence, moved, back, lambda gradient: predicted(gradient, direction)[0])
        kind = "mismatch" if found is None else "precision"
    largest = abs(moved - back) / max(abs(moved), abs(back), 1e-300)
    words += ". In forward mode only the engine is known, not the operation."
    wrong, other = (moved, back) if suspect[0] != engine else (back, moved)
    return made(kind, suspect, "derivative along a direction", largest, wrong, other, words, sure, None)


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
    pair = (name, "double precision")
    return [made("precision", pair, what, largest, narrow, wide, words, 0.9 if blame else 0.7, blame)]


def not_finite_words(evidence: Evidence) -> str:
    """The line on which a value of the plain program stops being finite, in words; empty if it stays finite."""
    if np.isfinite(np.asarray(evidence.value)).all():
        return ""
    step = first_not_finite(evidence.observed("native"))
    where = "" if step is None else f", born in {of_step(step, 'nan', '').place}"
    return f"the program's value is {short(evidence.value)}{where}"
