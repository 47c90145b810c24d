"""What a report remarks on: kinks, NaNs, strong and IEEE zeros, what was refused, what could not be compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.proof.blame.blaming import first_not_finite, of_step
from bridge.proof.blame.lost_gradients import tied
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.tolerances import apart
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.kinks import convention_of
from bridge.proof.report.model import Report
from bridge.rewind.strong_zeros import has_nan


def remark(report: Report, evidence: Evidence) -> None:
    """Add the remarks."""
    notes = report.remarks
    if not evidence.ran:
        notes.append("no engine gave a gradient: nothing was compared")
    if evidence.options.fd and evidence.subject.mixed:
        notes.append("no finite differences: a differentiated argument shares memory with one that is not")
    held_against_nothing: dict[str, list[str]] = {}
    for engine in evidence.ran:
        held_against_nothing.setdefault(", ".join(evidence.uncompared(engine)), []).append(engine)
    for names, engines in held_against_nothing.items():
        if names:
            why = "" if any(np.size(point) for point in evidence.subject.points) else ", which has no element"
            notes.append(f"nothing was compared with the gradient of {names} by {', '.join(engines)}{why}")
    for engine, answer in evidence.answers.items():
        if answer.ran and answer.forward_why:
            notes.append(f"{engine} in forward mode: {answer.forward_why}")
    words = _not_finite(evidence)
    if words:
        notes.append(words)
    _kinks(report, evidence)
    _undecided(report, evidence)
    _zeros(report, evidence)


def _not_finite(evidence: Evidence) -> str:
    """The line on which a value of the plain program stops being finite, in words; empty if it stays finite."""
    if np.isfinite(np.asarray(evidence.value)).all():
        return ""
    step = first_not_finite(evidence.observed("native"))
    where = "" if step is None else f", born in {of_step(step, 'nan').place}"
    return f"the program's value is {short(evidence.value)}{where}"


def _kinks(report: Report, evidence: Evidence) -> None:
    """Kinks at which every answer is a subgradient, and the operation that has them."""
    if any(one.kind == "kink" for one in report.differences):
        return
    if evidence.sampled is None:
        _kinks_without_differences(report, evidence)
        return
    kinks = [s for s in evidence.sampled.samples if s.slope.is_clear_kink]
    replaying = [engine for engine in registry.replaying() if engine in evidence.ran]
    if not kinks or not replaying:
        return
    recorded, walk = evidence.recorded(replaying[0]), evidence.walk(replaying[0])
    where: list[Any] = [recorded.context.log[p.number] for p in walk.proofs if p.slope.is_clear_kink]
    where += [step for step in (tied(recorded.steps),) if step is not None]
    text = "the program has a kink at this point: one-sided derivatives differ, and the gradient lies between them"
    if where:
        known = convention_of(where[0].name)
        text += f"; it is that of {where[0].name} at {where[0].where}" + (f" ({known})" if known else "")
    report.remarks.append(text)


def _kinks_without_differences(report: Report, evidence: Evidence) -> None:
    """An operation that stands on its threshold, where nothing says which slopes lie on its two sides."""
    replaying = next((engine for engine in registry.replaying() if engine in evidence.ran), None)
    step = None if replaying is None else tied(evidence.recorded(replaying).steps)
    if step is not None:
        report.remarks.append(
            f"{step.name} at {step.where} stands at a kink, and without differences nobody says "
            "which slopes are right there"
        )


def _undecided(report: Report, evidence: Evidence) -> None:
    if evidence.sampled is None or not evidence.ran:
        return
    comparison = evidence.comparison(evidence.ran[0])
    if comparison is not None and comparison.samples and not comparison.decided:
        report.remarks.append(
            "finite differences do not converge at this point: gradients are held against each other only"
        )


def _zeros(report: Report, evidence: Evidence) -> None:
    """Where strong and IEEE zeros differ: the element, and the pull that makes the NaN."""
    if "native" not in evidence.ran:
        return
    recorded = evidence.recorded("native")
    if not recorded.seeds or not recorded.is_mended():
        return
    ieee = evidence.recorded("native", "ieee")
    with np.errstate(all="ignore"):
        gradients = ieee.gradient()
    for leaf, (strong, other) in enumerate(zip(evidence.gradient("native"), gradients, strict=True)):
        strong, other = np.asarray(strong), np.asarray(other)
        if not has_nan(other) or not apart(strong, other, 0.0, 0.0)[0]:
            continue
        index = tuple(int(k) for k in np.argwhere(np.isnan(other) & ~np.isnan(strong))[0]) if other.ndim else ()
        born = ieee.walk(proofs=False).born
        entry = None if born is None else ieee.context.log[born]
        place = "" if entry is None else f", born in the pull of {entry.name} at {entry.where}"
        report.remarks.append(
            f'strong and IEEE zeros differ: with zeros="ieee" the {evidence.what(leaf, index)} is NaN{place}; with '
            f"strong zeros it is {short(strong[index])}, because no cotangent arrives there"
        )
        return
