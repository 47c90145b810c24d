"""The cross-check of a NumPy program, from its plain value to the verdicts."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from bridge.proof.blame.blaming import of_step
from bridge.proof.blame.lost_gradients import first_other
from bridge.proof.blame.observing import Step
from bridge.proof.blame.recorded import record
from bridge.proof.numerics.arrays import short
from bridge.proof.numerics.tolerances import alike
from bridge.proof.programs.evidence import Conflict, Evidence, Options, gathered
from bridge.proof.programs.running import Answer, answer, timed
from bridge.proof.programs.shrinking import shrunk
from bridge.proof.programs.verdicts import judge
from bridge.proof.report.model import Report, Run
from bridge.proof.subject import Subject, outputs_of

PLAIN = "numpy"


def check(report: Report, subject: Subject, options: Options) -> None:
    """Fill the report of a NumPy program."""
    report.asked += options.asked
    options.progress(PLAIN)
    try:
        result, seconds = timed(subject.plain)
    except Exception as error:
        _check_errors(report, subject, options, error)
        return
    subject.weigh(result, np.random.default_rng(options.seed))
    value = subject.weighted(result)
    report.runs.append(Run(PLAIN, "ran", "", value, (), seconds))
    if not _check_repeatable(report, subject, result):
        return
    evidence = _answered(subject, value, options)
    report.runs += [one.run for one in evidence.answers.values()]
    judge(report, evidence)
    if options.shrink and report.differences and options.is_over:
        report.remarks.append("the input was not made smaller: the time that was given is over")
    elif options.shrink and report.differences:
        options.progress("a smaller input")
        concerned = [name.partition(",")[0] for one in report.differences for name in one.engines]
        few = options.without_shrinking(concerned)
        report.smallest = shrunk(subject, report.differences, _check_again, few)


def _answered(subject: Subject, value: Any, options: Options) -> Evidence:
    """Run everything: finite differences first, then each engine in reverse and in forward mode."""
    evidence = gathered(subject, value, options, PLAIN, replays=True)
    for engine in options.engines:
        is_left_out = options.is_over and evidence.answers
        if not is_left_out:
            options.progress(engine)
        found = Answer(Run(engine, "not available", _TOO_LATE)) if is_left_out else None
        evidence.answers[engine] = found or answer(engine, subject, evidence.directions)
    return evidence


_TOO_LATE = "left out: the time that was given is over"


def _check_again(report: Report, subject: Subject, options: Options) -> None:
    """Fill the report of the same program at other arguments."""
    result = subject.plain()
    subject.weigh(result, np.random.default_rng(options.seed))
    value = subject.weighted(result)
    if np.isfinite(np.asarray(value)):
        judge(report, _answered(subject, value, options))


def _check_errors(report: Report, subject: Subject, options: Options, error: Exception) -> None:
    """A program that raises: so must every engine, or it has answered where there is no answer."""
    report.runs.append(Run(PLAIN, "refused", f"{type(error).__name__}: {error}"))
    for engine in options.engines:
        found = answer(engine, subject)
        report.runs.append(found.run)
        if found.ran:
            words = (
                f"{engine} gives {short(found.run.value)} where the program itself raises {type(error).__name__}: "
                f"{error}."
            )
            conflict = Conflict((engine, PLAIN), "value", found.run.value, None, np.inf)
            report.differences.append(
                conflict.judged("index" if isinstance(error, IndexError) else "primal", words, 0.99)
            )
        elif found.error is not None and not isinstance(found.error, type(error)):
            report.remarks.append(f"{engine} raises {type(found.error).__name__}, the program {type(error).__name__}")
    if not report.differences:
        raise error


def _check_repeatable(report: Report, subject: Subject, result: Any) -> bool:
    """Whether the program gives the same value again; if not, the difference, and whether the generators explain it."""
    assert subject.generators is not None
    drawn = subject.generators.drawn
    unrestored = copy(subject)
    unrestored.generators = None
    first, second = outputs_of(result), outputs_of(unrestored.plain())
    if alike(first, second):
        if drawn:
            report.remarks.append(f"the program draws from {drawn}, which is put back before each run")
        return True
    again = outputs_of(subject.plain())
    runs = _two_runs(subject, unrestored)
    step = first_other(*runs) if runs else None
    blame = None if step is None else of_step(step, "random")
    source = f"it draws from {drawn}" if drawn else "it draws random numbers, or keeps state between calls"
    line = "" if blame is None else f"; the first operation that gets or gives something else is {blame.place}"
    words = (
        f"two calls on the same arguments give different values: {source}{line}. Take the randomness out: pass a "
        "key (bridge.random), or the draws, as an argument."
    )
    other = subject.weighted(unrestored.plain()) if drawn is None else _weighted(subject, second)
    conflict = Conflict((PLAIN, PLAIN), "value", subject.weighted(result), other, np.inf)
    report.differences.append(conflict.judged("random", words, 0.99 if drawn else 0.9, blame))
    if alike(first, again):
        report.remarks.append("every run below begins with the same state of the generators")
        return True
    report.remarks.append("values differ from run to run, so that no engines were compared")
    return False


def _weighted(subject: Subject, outputs: list[Any]) -> Any:
    if subject.cotangents is None:
        return outputs[0]
    return sum(np.sum(np.real(np.conj(ct) * out)) for ct, out in zip(subject.cotangents, outputs, strict=True))


def _two_runs(subject: Subject, unrestored: Subject) -> tuple[list[Step], list[Step]] | None:
    """The operations of two runs that do not begin with the same state."""
    try:
        return record(subject, "native").steps, record(unrestored, "native").steps
    except Exception:
        # Without them the report does not name the operation; what was raised is in the engine's run.
        return None
