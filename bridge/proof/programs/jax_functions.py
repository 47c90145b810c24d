"""The cross-check of a function written in JAX, beside its NumPy twin."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.errors import EngineNotAvailable
from bridge.proof.blame.blaming import Blame
from bridge.proof.numerics.arrays import short
from bridge.proof.programs import numpy_programs
from bridge.proof.programs.evidence import Conflict, Evidence, Options, gathered
from bridge.proof.programs.running import answered, timed, told
from bridge.proof.programs.shrinking import shrunk
from bridge.proof.programs.verdicts import beside, judge, note_compared
from bridge.proof.report.model import REFERENCES, Report, Run
from bridge.proof.subject import Subject

NAME = "jax function"
PLAIN = "jax function, plain"
TWIN = "numpy twin"
BATCH = 3


@cache
def _jax() -> Any:
    """JAX's transformations of its own functions, imported on first use."""
    return import_module("bridge.engines.jax.functions")


def check(report: Report, subject: Subject, options: Options) -> None:
    """Fill the report of a JAX function: reverse and forward mode, batching, and the engines on its twin."""
    missing = registry.engine("jax").missing()
    if missing:
        raise EngineNotAvailable("crosscheck of a JAX function without JAX", remedy=missing)
    plain = subject.of(_jax().plain(subject.f))
    result, seconds = timed(plain.plain)
    plain.weigh(result, np.random.default_rng(options.seed))
    value = plain.weighted(result)
    evidence = gathered(plain, value, options, PLAIN)
    report.runs.append(Run(PLAIN, "ran", "", value, (), seconds))
    real, points = _real(subject.f, plain), _points(plain)
    answer = answered(
        NAME,
        plain,
        evidence.directions,
        lambda: _jax().value_and_gradient(real, points),
        lambda tangents: _jax().derivative(real, points, tangents),
    )
    evidence.answers[NAME] = answer
    report.runs.append(answer.run)
    report.asked.append(NAME)
    judge(report, evidence)
    if answer.ran:
        _check_batches(report, evidence, real)
    _check_twin(report, evidence)
    if options.shrink and report.differences:
        options.progress("a smaller input")
        few = options.without_shrinking(options.engines)
        report.smallest = shrunk(subject, report.differences, check, few)


def twin_of(subject: Subject, twin: Callable[..., Any]) -> Run:
    """Value and gradient of a JAX function that computes what a program does."""
    name = "jax twin"
    missing = registry.engine("jax").missing()
    if missing:
        return Run(name, "not available", missing)
    try:
        value, gradient = _jax().value_and_gradient(_real(twin, subject), _points(subject))
    except Exception as error:
        # Whatever the twin raises is its answer.
        return Run(name, "refused", told(error))
    return Run(name, "ran", "", value, tuple(gradient))


def _points(subject: Subject) -> list[np.ndarray]:
    return [np.asarray(point) for point in subject.points]


def _real(f: Callable[..., Any], subject: Subject) -> Callable[[Sequence[Any]], Any]:
    """A JAX function of JAX's own values in the places of the differentiated leaves, as one real number."""

    def real(xs: Sequence[Any]) -> Any:
        leaves = list(subject.leaves)
        for leaf, x in zip(subject.moved, xs, strict=True):
            leaves[leaf] = x
        args, rest = subject.containers(leaves)
        result = _jax().called(f, args, dict(zip(subject.names, rest, strict=True)))
        return _jax().weighted(result, subject.cotangents)

    return real


def _check_batches(report: Report, evidence: Evidence, real: Callable[[Sequence[Any]], Any]) -> None:
    """`vmap` beside a loop over the same points."""
    rng = np.random.default_rng(evidence.options.seed)
    points = _points(evidence.subject)
    moved = [[p + (0.1 * rng.standard_normal(p.shape)).astype(p.dtype) for p in points] for _ in range(BATCH - 1)]
    name = f"{NAME}, batched"
    try:
        together = _jax().batched(real, [points, *moved])
    except Exception as error:
        # Whatever JAX raises when it batches the function is its answer.
        report.runs.append(Run(name, "refused", told(error)))
        return
    runs = [Run(name, "ran", "", value, tuple(gradient)) for value, gradient in together]
    report.runs.append(runs[0])
    for batch, run in zip([points, *moved], runs, strict=True):
        value, gradient = _jax().value_and_gradient(real, batch)
        found = beside(evidence, run, Run(NAME, "ran", "", value, tuple(gradient)))
        if found:
            report.differences += found
            return


def _check_twin(report: Report, evidence: Evidence) -> None:
    """The NumPy twin under every engine, and the JAX function beside it."""
    inner, options = Report("", ""), replace(evidence.options, shrink=False)
    assert options.twin is not None
    try:
        numpy_programs.check(inner, evidence.subject.of(options.twin), options)
    except Exception as error:
        # Where the twin itself raises and JAX does not, that is what is reported.
        _check_raising(report, evidence, error)
        return
    report.runs += [_renamed(run) for run in inner.runs]
    report.asked += inner.asked
    report.compared = [*(report.compared or []), *(inner.compared or [])]
    report.timeline = inner.timeline
    report.remarks += [f"numpy twin: {text}" for text in inner.remarks if text not in report.remarks]
    known = evidence.answers[NAME]
    reference = next(
        (run for run in inner.runs if run.status == "ran" and run.gradients and run.engine in options.engines), None
    )
    if known.ran and reference is not None:
        note_compared(report, known.run, reference)
        found = beside(evidence, known.run, replace(reference, engine=TWIN))
        mine = next((one for one in report.differences if NAME in one.suspects), None)
        if found and mine is not None and found[0].kind == mine.kind:
            # One difference, seen twice. At kinks and infinite slopes the twin says more than differences do.
            if mine.kind == "kink" or not np.isfinite(complex(mine.expected)):
                report.differences.remove(mine)
            else:
                found = []
        report.differences += found
    report.differences += inner.differences


def _check_raising(report: Report, evidence: Evidence, error: Exception) -> None:
    """The twin raises where the JAX function answers: an index outside of its array, most often."""
    report.runs.append(Run(TWIN, "refused", told(error)))
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno} in {frame.name}"
    kind = "index" if isinstance(error, IndexError) else "primal"
    words = (
        f"the JAX function gives {short(evidence.value)}, and its NumPy twin raises {type(error).__name__}: {error}, "
        f"at {where}."
    )
    if kind == "index":
        words += " JAX moves an index outside of an array to its edge, and drops its gradient."
    blame = Blame(kind, "getitem" if kind == "index" else "", where, "")
    conflict = Conflict((NAME, TWIN), "value", evidence.value, None, np.inf)
    report.differences.append(conflict.judged(kind, words, 0.95, blame))


def _renamed(run: Run) -> Run:
    if run.engine == "numpy":
        return replace(run, engine=TWIN)
    return replace(run, engine=f"{run.engine}, on the twin") if run.engine in REFERENCES else run
