"""The cross-check of a Julia function: its differentiators beside each other, finite differences, and a JAX twin.

Any function that says by `differentiators()` who can differentiate it, and by `remark()` whom it would take, is
checked in this way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from bridge.proof.programs.evidence import Evidence, Options, gathered
from bridge.proof.programs.jax_functions import twin_of
from bridge.proof.programs.running import answered, derivative_of, gradient_of, timed
from bridge.proof.programs.shrinking import shrunk
from bridge.proof.programs.verdicts import beside, judge, note_compared
from bridge.proof.report.model import Report, Run
from bridge.proof.subject import Subject


def check(report: Report, subject: Subject, options: Options) -> None:
    """Fill the report of a Julia function."""
    result, seconds = timed(subject.plain)
    subject.weigh(result, np.random.default_rng(options.seed))
    value = subject.weighted(result)
    report.runs.append(Run("julia", "ran", "", value, (), seconds))
    evidence = gathered(subject, value, options, "julia")
    program: Any = subject.f
    for name, make in program.differentiators().items():
        options.progress(name)
        # Forward mode is the same one for all of them.
        forward = None if evidence.answers else partial(_derivative, make, subject)
        found = answered(name, subject, evidence.directions, partial(_gradient, make, subject), forward)
        evidence.answers[name] = found
        report.runs.append(found.run)
    judge(report, evidence)
    refused = {name: answer.run.why for name, answer in evidence.answers.items() if not answer.ran}
    report.remarks += filter(None, [program.remark(refused)])
    if options.twin is not None:
        _check_twin(report, evidence, options.twin)
    if options.shrink and report.differences:
        options.progress("a smaller input")
        few = options.without_shrinking(())
        report.smallest = shrunk(subject, report.differences, check, few)


def _weighted(make: Callable[[], Any], subject: Subject) -> Any:
    """The function with another differentiator, its value contracted as the subject's."""
    return make() if subject.cotangents is None else subject.of(make())


def _gradient(make: Callable[[], Any], subject: Subject) -> tuple[Any, list[Any]]:
    return gradient_of(_weighted(make, subject), subject)


def _derivative(make: Callable[[], Any], subject: Subject, tangents: Sequence[Any]) -> tuple[Any, float]:
    return derivative_of(subject.spread if subject.kwargs else _weighted(make, subject), subject, tangents)


def _check_twin(report: Report, evidence: Evidence, twin: Callable[..., Any]) -> None:
    """A JAX twin's value and gradient beside the Julia function's."""
    run = twin_of(evidence.subject, twin)
    report.runs.append(run)
    report.asked.append(run.engine)
    if run.status == "ran":
        for engine in evidence.ran:
            note_compared(report, evidence.answers[engine].run, run)
            report.differences += beside(evidence, evidence.answers[engine].run, run)
