"""A rule inside the context: values, undo, aliases, order of reads and writes, forward mode, second order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.errors import AliasError, NoRuleError, RefusedError
from bridge.proof.numerics.arrays import inner, random_like
from bridge.proof.numerics.compare import Sampling, compare
from bridge.proof.numerics.sampling import Differentiable, rounding
from bridge.proof.numerics.tolerances import alike, furthest, same_bits, worst_difference
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call
from bridge.proof.rules.programs import Program, programs
from bridge.proof.rules.values import FLOOR
from bridge.rewind.context import Context
from bridge.transforms.jvp import jvp
from bridge.transforms.vjp import vjp


def prove_tracked(call: Call, report: CheckReport, rng: np.random.Generator) -> None:
    """Prove a rule as programs use it: through `bridge.vjp`, `bridge.jvp` and nested differentiation."""
    if not call.points:
        return
    program = Program(call, "the call", "wrong-in-context", lambda run, xs: run(xs))
    before = len(report.failures)
    _attempt(program, report, rng, _prove_value)
    _attempt(program, report, rng, _prove_undo)
    if len(report.failures) > before:
        return
    for other in programs(call):
        _attempt(other, report, rng, _prove_program)
    if call.supports.forward or getattr(call.rule, "linear", False):
        _attempt(program, report, rng, _prove_forward)
    if call.supports.forward:
        _attempt(program, report, rng, _prove_second)


def _attempt(program: Program, report: CheckReport, rng: np.random.Generator, prove: Callable[..., None]) -> None:
    """Run one proof; what is refused by name is noted, any other error is a failure."""
    try:
        prove(program, report, rng)
    except (NoRuleError, RefusedError, AliasError) as error:
        report.note(f"{program.call.rule.name}, {program.name}: refused: {error.what}")
    except Exception as error:
        report.failed(
            "raises-in-context",
            f"{program}: in {prove.__name__.removeprefix('_prove_')} proof, {type(error).__name__}: {error}",
            "a pull runs on tracked arrays too: NumPy functions that have rules, scratch made by zeros(..., like=ct); "
            "one that runs compiled code gives a first derivative, and says orders=1 where the rule is registered",
        )


def _prove_value(program: Program, report: CheckReport, rng: np.random.Generator) -> None:
    call = program.call
    value, pull = vjp(program.tracked, *program.points)
    packed = program.measured([point.copy(order="K") for point in program.points])
    for plain, contiguous, got in zip(program.measured(), packed, value, strict=True):
        if not (same_bits(plain, got) or same_bits(contiguous, got)):
            gap, index = worst_difference(plain, got)
            report.failed(
                "value-differs",
                f"{call}: under differentiation the value is another one than the plain function's: at index {index} "
                f"{np.asarray(got)[index]} and {np.asarray(plain)[index]} (relative difference {gap:.1e})",
                "the function must compute the same on tracked memory; differentiate the function that is called",
            )
            return
    cts = program.seeds(rng)
    gradient = pull(tuple(cts))
    expected = call.cotangents(call.seeds(np.random.default_rng(0)) if call.loss else cts)
    worst = furthest(expected, gradient)
    if worst > max(call.tolerance, 1e4 * rounding(call)):
        report.failed(
            "wrong-in-context",
            f"{call}: through bridge.vjp the gradient differs from the pull's own by {worst:.1e} (relative)",
            "compute from the pull's parameters alone",
        )
        return
    if not alike(gradient, pull(tuple(cts))):
        report.failed("not-repeatable", f"{call}: a second pull gives another gradient", "keep no state between calls")
        return
    report.passed("in context", str(call), worst)


def _prove_undo(program: Program, report: CheckReport, rng: np.random.Generator) -> None:
    call = program.call
    with Context() as context:
        buffers = [context.buffer(point) for point in call.points]
        call.tracked(call.arguments_with(buffers))
        after = [np.array(buffer.value) for buffer in buffers]
        context.rewind(())
        undone = [np.array(buffer.value) for buffer in buffers]
        context.play_forward()
        redone = [np.array(buffer.value) for buffer in buffers]
    for path, point, old, then, now in zip(call.paths, call.points, undone, after, redone, strict=True):
        if not (same_bits(point, old) and same_bits(then, now)):
            when = "before" if not same_bits(point, old) else "after"
            report.failed(
                "memory-not-restored",
                f"{call}: undo and redo do not bring back what {call.name_of(path)} held {when} the call",
                "declare every argument that the function writes, and write only into the arguments themselves",
            )
            return
    report.passed("memory after undo", str(call))


def _prove_program(program: Program, report: CheckReport, rng: np.random.Generator) -> None:
    try:
        cts = program.seeds(rng)
    except Exception as error:
        report.note(f"{program}: the plain function refuses it ({type(error).__name__})")
        return
    _, pull = vjp(program.tracked, *program.points)
    gradient = pull(tuple(cts))
    sampling = Sampling(max(program.call.tolerance, 1e-6), rng, 6, 1, FLOOR)
    comparison = compare(program, cts, gradient, sampling)
    wrong = [sample for sample in comparison.mismatches if sample.slope.kind == "smooth"]
    if wrong:
        report.failed(program.code, f"{program}: {comparison.told(wrong[0])}", program.remedy)
    else:
        report.passed(program.name, str(program.call), comparison.figure)


def _prove_forward(program: Program, report: CheckReport, rng: np.random.Generator) -> None:
    tangents = [random_like(point, rng) for point in program.points]
    cts = program.seeds(rng)
    _, pull = vjp(program.tracked, *program.points)
    _, moved = jvp(program.tracked, tuple(program.points), tuple(tangents))
    backward, forward = inner(pull(tuple(cts)), tangents), inner(cts, moved)
    size = inner([np.abs(ct) for ct in cts], [np.abs(tangent) for tangent in moved])
    if not np.isfinite(backward) and not np.isfinite(forward):
        return
    gap = abs(backward - forward) / max(size, abs(backward), 1e-300)
    if not gap <= max(1e-3 * program.call.tolerance, 1e5 * rounding(program)):
        report.failed(
            "forward-mode",
            f"{program}: forward and reverse mode disagree: <ct, jvp(v)> {forward:.9g}, <pull(ct), v> {backward:.9g}",
            "a wrong linear=True or structure=, or a pull that is not linear over the reals",
        )
    else:
        report.passed("forward mode", str(program.call), gap)


def _prove_second(program: Program, report: CheckReport, rng: np.random.Generator) -> None:
    cts = program.seeds(rng)

    def gradient(*xs: Any) -> tuple[Any, ...]:
        _, pull = vjp(program.tracked, *xs)
        return pull(tuple(cts))

    second = _Gradient(gradient, program)
    weights = [random_like(point, rng) for point in program.points]
    _, pull = vjp(gradient, *program.points)
    sampling = Sampling(max(program.call.tolerance, 1e-5), rng, 0, 1, FLOOR)
    comparison = compare(second, weights, pull(tuple(weights)), sampling)
    wrong = [sample for sample in comparison.mismatches if sample.slope.kind == "smooth"]
    if wrong:
        report.failed(
            "wrong-second-order",
            f"{program}: differentiating its gradient: {comparison.told(wrong[0])}",
            "write the pull with NumPy functions that have rules, without leaving tracking (no float(), no np.asarray)",
        )
    else:
        report.passed("second order", str(program.call), comparison.figure)


class _Gradient(Differentiable):
    """The gradient of a program as a function of its own, for finite differences of it."""

    def __init__(self, gradient: Callable[..., Sequence[Any]], program: Program) -> None:
        self.gradient = gradient
        self.labels, self.points = program.labels, program.points

    def measured(self, values: Sequence[Any] | None = None) -> list[Any]:
        return list(self.gradient(*(self.points if values is None else values)))
