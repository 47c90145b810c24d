"""The cross-check of a function written in JAX, beside its NumPy twin."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bridge.errors import EngineNotAvailable
from bridge.proof.blame.blaming import Blame
from bridge.proof.numerics.tolerances import short
from bridge.proof.programs import checking
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.foreign import answered, beside, evidence_of, judge
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.options import Options
from bridge.proof.programs.running import available, timed, told
from bridge.proof.programs.shrinking import shrunk
from bridge.proof.programs.subject import Subject
from bridge.proof.report.model import Report, Run
from bridge.proof.report.verdicts import made

NAME = "jax function"
PLAIN = "jax function, plain"
TWIN = "numpy twin"
BATCH = 3


def check(
    report: Report, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options,
    generators: Generators, twin: Any,
) -> None:  # fmt: skip
    """Fill the report of a JAX function: reverse and forward mode, batching, and the engines on its twin."""
    if available("jax"):
        raise EngineNotAvailable("crosscheck of a JAX function without JAX", remedy=available("jax"))
    from bridge.engines.jax import functions as jax_functions

    subject = Subject(jax_functions.plain(f), args, kwargs, options.argnums, options.seed)
    result, seconds = timed(subject.plain)
    subject.weigh(result)
    value = subject.weighted(result)
    evidence = evidence_of(subject, value, options, generators, PLAIN)
    report.runs.append(Run(PLAIN, "ran", "", value, (), seconds))
    points = [np.asarray(point) for point in subject.points]

    def real(xs: Sequence[Any]) -> Any:
        made_args, made_kwargs = arguments_with(subject, xs)
        return jax_functions.weighted(jax_functions.called(f, made_args, made_kwargs), subject.cotangents)

    answer = answered(
        NAME,
        evidence,
        lambda: jax_functions.value_and_gradient(real, points),
        lambda tangents: jax_functions.derivative(real, points, tangents),
    )
    report.runs.append(answer.run)
    judge(report, evidence, options)
    if answer.ran:
        _check_batches(report, evidence, real, points)
    _check_twin(report, evidence, twin, args, kwargs, options, generators)
    if options.shrink and report.differences:
        few = options.without_shrinking(options.engines)

        def again(other: Subject) -> Report:
            made = Report("", "")
            check(made, f, other.args, other.kwargs, few, generators, twin)
            return made

        report.smallest = shrunk(subject, report.differences, again)


def arguments_with(subject: Subject, xs: Sequence[Any]) -> tuple[Any, dict[str, Any]]:
    """The arguments with JAX's own values in the places of the differentiated leaves."""
    from bridge.trees import rebuilt

    leaves = list(subject.leaves)
    for leaf, x in zip(subject.moved, xs, strict=True):
        leaves[leaf] = x
    args, rest = rebuilt(subject.structure, leaves)
    return args, dict(zip(subject.names, rest, strict=True))


def _check_batches(report: Report, evidence: Evidence, real: Any, points: list[np.ndarray]) -> None:
    """`vmap` beside a loop over the same points."""
    from bridge.engines.jax import functions as jax_functions

    rng = np.random.default_rng(evidence.subject.seed)
    moved = [[p + (0.1 * rng.standard_normal(p.shape)).astype(p.dtype) for p in points] for _ in range(BATCH - 1)]
    batches = [points, *moved]
    try:
        together = jax_functions.batched(real, batches)
    except Exception as error:
        report.runs.append(Run(f"{NAME}, batched", "refused", told(error)))
        return
    report.runs.append(Run(f"{NAME}, batched", "ran", "", together[0][0], tuple(together[0][1])))
    for one, (value, gradient) in zip(batches, together, strict=True):
        expected, alone = jax_functions.value_and_gradient(real, one)
        found = beside(f"{NAME}, batched", NAME, value, gradient, expected, alone, evidence)
        if found:
            report.differences += found
            return


def _check_twin(
    report: Report, evidence: Evidence, twin: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options,
    generators: Generators,
) -> None:  # fmt: skip
    """The NumPy twin under every engine, and the JAX function beside it."""
    inner = Report("", "")
    try:
        checking.check(inner, twin, args, kwargs, replace(options, shrink=False), generators)
    except Exception as error:
        _check_raising(report, evidence, error)
        return
    report.runs += [_renamed(run) for run in inner.runs]
    report.timeline = inner.timeline
    report.remarks += [f"numpy twin: {text}" for text in inner.remarks if text not in report.remarks]
    known = evidence.answers[NAME]
    reference = next(
        (run for run in inner.runs if run.status == "ran" and run.gradients and run.engine in options.engines), None
    )
    if known.ran and reference is not None:
        found = beside(NAME, TWIN, known.run.value, known.run.gradients, reference.value, reference.gradients, evidence)
        mine = next((one for one in report.differences if one.engines[0] == NAME), None)
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
    value = evidence.value
    words = (
        f"the JAX function gives {short(value)}, and its NumPy twin raises {type(error).__name__}: {error}, at {where}."
    )
    if kind == "index":
        words += " JAX moves an index outside of an array to its edge, and drops its gradient."
    blame = Blame(kind, "getitem" if kind == "index" else "", where, "")
    report.differences.append(made(kind, (NAME, TWIN), "value", np.inf, value, None, words, 0.95, blame))


def _renamed(run: Run) -> Run:
    name = (
        TWIN
        if run.engine == "numpy"
        else f"{run.engine}, on the twin"
        if run.engine in ("finite differences", "complex step")
        else run.engine
    )
    return Run(name, run.status, run.why, run.value, run.gradients, run.seconds)
