"""The cross-check of a Julia function: its differentiators beside each other, finite differences, and a JAX twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bridge
from bridge.proof.programs.foreign import answered, beside, evidence_of, judge
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.options import Options
from bridge.proof.programs.running import available, timed, told
from bridge.proof.programs.shrinking import shrunk
from bridge.proof.programs.subject import Subject
from bridge.proof.report.model import Report, Run
from bridge.trees import leaves_of

# Who differentiates; Mooncake is an optional package.
DIFFERENTIATORS = {"Zygote": "zygote", "ForwardDiff": "forwarddiff", "Mooncake": "mooncake"}


def check(
    report: Report, f: Any, args: tuple[Any, ...], kwargs: dict[str, Any], options: Options, generators: Generators,
    twin: Any = None,
) -> None:  # fmt: skip
    """Fill the report of a Julia function."""
    subject = Subject(f, args, kwargs, options.argnums, options.seed)
    result, seconds = timed(subject.plain)
    subject.weigh(result)
    value = subject.weighted(result)
    report.runs.append(Run("julia", "ran", "", value, (), seconds))
    evidence = evidence_of(subject, value, options, generators, "julia")
    for name, ad in DIFFERENTIATORS.items():
        one = _by(f, ad, subject)
        forward = _along(one, subject) if ad == "zygote" and not isinstance(one, Exception) else None
        report.runs.append(answered(name, evidence, _gradient(one, subject), forward).run)
    judge(report, evidence, options)
    if twin is not None:
        _check_twin(report, evidence, twin)
    if options.shrink and report.differences:
        few = options.without_shrinking(())
        report.smallest = shrunk(subject, report.differences, lambda other: _again(other, few, generators, twin))


def _again(subject: Subject, options: Options, generators: Generators, twin: Any) -> Report:
    """The report of a function at other arguments."""
    report = Report("", "")
    check(report, subject.f, subject.args, subject.kwargs, options, generators, twin)
    return report


def _by(f: Any, ad: str, subject: Subject) -> Any:
    """The function with another differentiator, its value contracted as the subject's; or why there is none."""
    try:
        other = f if f.ad == ad else bridge.julia.function(f, mutates=f.mutates, order=f.order, ad=ad)
    except Exception as error:
        return error
    if subject.cotangents is None:
        return other
    made = Subject(other, subject.args, subject.kwargs, subject.argnums, subject.seed)
    made.cotangents = subject.cotangents
    return made


def _gradient(one: Any, subject: Subject) -> Callable[[], tuple[Any, Sequence[Any]]]:
    def run() -> tuple[Any, Sequence[Any]]:
        if isinstance(one, Exception):
            raise one
        args, kwargs = subject.arguments()
        value, gradient = bridge.value_and_grad(one, subject.argnums, allow_int=True)(*args, **kwargs)
        return value, [leaf for leaf in leaves_of(gradient)[0] if leaf is not None]

    return run


def _along(one: Any, subject: Subject) -> Callable[[Sequence[Any]], tuple[Any, float]]:
    def run(tangents: Sequence[Any]) -> tuple[Any, float]:
        args, kwargs = subject.arguments()
        moved = [
            np.asarray(t) if isinstance(p, np.ndarray) else t for t, p in zip(tangents, subject.points, strict=True)
        ]
        program = one if not kwargs else subject.spread
        value, derivative = bridge.jvp(program, (*args, *kwargs.values()), subject.tangents(moved))
        return value, float(np.real(derivative))

    return run


def _check_twin(report: Report, evidence: Any, twin: Any) -> None:
    """A JAX twin's value and gradient beside the Julia function's."""
    name = "jax twin"
    if available("jax"):
        report.runs.append(Run(name, "not available", available("jax")))
        return
    from bridge.engines.jax import functions as jax_functions
    from bridge.proof.programs.jax_functions import arguments_with

    subject = evidence.subject

    def real(xs: Sequence[Any]) -> Any:
        args, kwargs = arguments_with(subject, xs)
        return jax_functions.weighted(jax_functions.called(twin, args, kwargs), subject.cotangents)

    try:
        value, gradient = jax_functions.value_and_gradient(real, [np.asarray(p) for p in subject.points])
    except Exception as error:
        report.runs.append(Run(name, "refused", told(error)))
        return
    report.runs.append(Run(name, "ran", "", value, tuple(gradient)))
    for engine in evidence.ran:
        known = evidence.answers[engine].run
        report.differences += beside(engine, name, known.value, known.gradients, value, gradient, evidence)
