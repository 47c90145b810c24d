"""Functions of other languages and libraries: several differentiators of one function, held against each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import numpy as np

from bridge.errors import EngineNotAvailable
from bridge.proof.numerics.sampling import directions, rounding, sampled
from bridge.proof.numerics.tolerances import apart, short, tolerance_for
from bridge.proof.programs import answers
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.judging import gradient_differences
from bridge.proof.programs.options import Options
from bridge.proof.programs.remarks import remark
from bridge.proof.programs.running import Answer, told
from bridge.proof.programs.subject import Subject
from bridge.proof.report.model import Difference, Report, Run
from bridge.proof.report.verdicts import made

# Value and gradient, and value and derivative along a direction, of one differentiator.
Reverse = Callable[[], tuple[Any, Sequence[Any]]]
Forward = Callable[[Sequence[Any]], tuple[Any, float]]


def evidence_of(subject: Subject, value: Any, options: Options, generators: Generators, plain: str) -> Evidence:
    """Finite differences of a function, to hold its differentiators against; `plain` is what runs it."""
    tolerance = tolerance_for([*subject.points, value], options.rtol, options.atol)
    evidence = Evidence(subject, value, generators, tolerance, rounding(subject, [value]), [])
    evidence.plain, evidence.replays = plain, False
    if options.fd and not subject.mixed and np.isfinite(np.asarray(value)):
        evidence.sampled = sampled(subject, rounding(subject, [value]), 48, options.seed)
        evidence.directions = [s.direction for s in evidence.sampled.samples if s.leaf is None][:2]
        evidence.directions = evidence.directions or [s.direction for s in evidence.sampled.samples][:1]
    if not evidence.directions:
        count = 0 if sum(point.size for point in subject.points) > 1 else 1
        found = directions(subject.points, np.random.default_rng(options.seed), count)
        evidence.directions = [direction for _, _, direction in found][:2]
    return evidence


def answered(name: str, evidence: Evidence, reverse: Reverse, forward: Forward | None = None) -> Answer:
    """Run one differentiator, and add its answer to the evidence."""
    begin = perf_counter()
    try:
        value, gradient = reverse()
        found = Answer(Run(name, "ran", "", value, tuple(gradient), perf_counter() - begin))
    except EngineNotAvailable as error:
        found = Answer(Run(name, "not available", told(error)), error)
    except Exception as error:
        found = Answer(Run(name, "refused", told(error), seconds=perf_counter() - begin), error)
    evidence.answers[name] = found
    if found.ran and forward is not None:
        derivatives = []
        for direction in evidence.directions:
            tangents = [
                np.asarray(d).astype(np.asarray(p).dtype)
                for d, p in zip(direction, evidence.subject.points, strict=True)
            ]
            try:
                found.forward_value, moved = forward(tangents)
            except Exception as error:
                found.forward_why = told(error)
                return found
            derivatives.append(moved)
        found.forward = derivatives
    return found


def judge(report: Report, evidence: Evidence, options: Options) -> None:
    """Values, gradients and forward mode of all differentiators of one function, into its report."""
    if evidence.sampled is not None:
        report.runs.append(Run("finite differences", "ran", "", None, evidence.sampled.gradient(evidence.subject)))
    found = answers.value_differences(evidence)
    other = {one.engines[0] for one in found}
    sound = [name for name in evidence.ran if name not in other]
    found += gradient_differences(evidence, sound)
    other = {one.engines[0] for one in found}
    found += answers.forward_differences(evidence, [name for name in sound if name not in other])
    report.differences += found
    remark(report, evidence, options)


def beside(
    name: str, other: str, value: Any, gradient: Sequence[Any], expected: Any, against: Sequence[Any],
    evidence: Evidence,
) -> list[Difference]:  # fmt: skip
    """How a function's value and gradient differ from those of its twin."""
    tolerance = evidence.tolerance
    gap, _ = apart(value, expected, tolerance.value, max(tolerance.absolute, 1e3 * evidence.epsilon))
    if gap:
        pair = f"{name} gives the value {short(value)}, and {other} {short(expected)}"
        words = f"{pair}: these are two functions."
        return [made("primal", (name, other), "value", gap, value, expected, words, 0.95, None)]
    for leaf, (a, b) in enumerate(zip(gradient, against, strict=True)):
        gap, index = apart(a, b, tolerance.gradient, tolerance.absolute)
        if not gap:
            continue
        got, wanted = np.asarray(a)[index], np.asarray(b)[index]
        sample = evidence.sample_at(leaf, index)
        kind = "mismatch" if np.all(np.isfinite(got)) == np.all(np.isfinite(wanted)) else "nan"
        why = "Only the engine is known, not the operation."
        if sample is not None and sample.slope.kind == "kink":
            kind, why = "kink", (
                f"The function has a kink there (one-sided derivatives {sample.slope.left:.6g} and "
                f"{sample.slope.right:.6g}): any slope between them is right."
            )  # fmt: skip
        words = f"{name} gives {short(got)}, and {other} {short(wanted)}. {why}"
        return [made(kind, (name, other), evidence.what(leaf, index), gap, got, wanted, words, 0.8, None)]
    return []
