"""The cross-check of a NumPy program, from its plain value to the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.engines import registry
from bridge.proof.blame.lost_gradients import first_other
from bridge.proof.blame.observing import flat_values
from bridge.proof.blame.recorded import record
from bridge.proof.numerics.arrays import same_bits
from bridge.proof.numerics.sampling import complex_step, directions, rounding, sampled
from bridge.proof.numerics.tolerances import short, tolerance_for
from bridge.proof.programs import answers
from bridge.proof.programs.evidence import Evidence
from bridge.proof.programs.generators import Generators
from bridge.proof.programs.judging import gradient_differences
from bridge.proof.programs.options import Options
from bridge.proof.programs.remarks import remark
from bridge.proof.programs.running import answer, is_same_error, timed
from bridge.proof.programs.shrinking import shrunk
from bridge.proof.programs.subject import Subject, outputs_of
from bridge.proof.report.model import Report, Run
from bridge.proof.report.verdicts import made

PLAIN = "numpy"


def check(
    report: Report, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], options: Options,
    generators: Generators, twin: Any = None,
) -> None:  # fmt: skip
    """Fill the report of a NumPy program."""
    subject = Subject(f, args, kwargs, options.argnums, options.seed)
    try:
        result, seconds = timed(subject.plain)
    except Exception as error:
        _check_errors(report, subject, options, generators, error)
        return
    subject.weigh(result)
    value = subject.weighted(result)
    report.runs.append(Run(PLAIN, "ran", "", value, (), seconds))
    if not _check_repeatable(report, subject, result, generators):
        return
    evidence = gathered(subject, value, options, generators)
    report.runs += [one.run for one in evidence.answers.values()]
    fill(report, evidence, options)
    if options.shrink and report.differences:
        concerned = [name.partition(",")[0] for one in report.differences for name in one.engines]
        few = options.without_shrinking(concerned)
        report.smallest = shrunk(subject, report.differences, lambda other: _again(other, few, generators))


def _again(subject: Subject, options: Options, generators: Generators) -> Report:
    """The report of a program at other arguments."""
    generators.restore()
    result = subject.plain()
    subject.weigh(result)
    value = subject.weighted(result)
    report = Report("", "")
    if np.isfinite(np.asarray(value)):
        fill(report, gathered(subject, value, options, generators), options)
    return report


def gathered(subject: Subject, value: Any, options: Options, generators: Generators) -> Evidence:
    """Run everything: finite differences first, then each engine in reverse and in forward mode."""
    wide = subject.widened()
    tolerance = tolerance_for([*subject.points, value], options.rtol, options.atol)
    epsilon = rounding(subject, [value])
    evidence = Evidence(subject, value, generators, tolerance, epsilon, [])
    evidence.wide = _running(wide, generators)
    if options.fd and not subject.mixed and np.isfinite(np.asarray(value)):
        generators.restore()
        base = evidence.wide or subject
        evidence.sampled = sampled(_Restoring(base, generators), _arithmetic(evidence, base), 48, options.seed)
        exact = complex_step(subject, evidence.sampled)
        evidence.sampled = exact or evidence.sampled
        evidence.directions = [s.direction for s in evidence.sampled.samples if s.leaf is None][:2]
        evidence.directions = evidence.directions or [s.direction for s in evidence.sampled.samples][:1]
    if not evidence.directions:
        found = directions(
            subject.points,
            np.random.default_rng(options.seed),
            0 if sum(point.size for point in subject.points) > 1 else 1,
        )
        evidence.directions = [direction for _, _, direction in found][:2]
    for engine in options.engines:
        evidence.answers[engine] = answer(engine, subject, evidence.directions, generators)
    return evidence


def fill(report: Report, evidence: Evidence, options: Options) -> None:
    """Judge the evidence: values first, then gradients, then forward mode, then what is worth a remark."""
    if evidence.sampled is not None:
        name = "complex step" if evidence.sampled.exact else "finite differences"
        report.runs.append(Run(name, "ran", "", None, evidence.sampled.gradient(evidence.subject)))
    report.differences += answers.value_differences(evidence)
    other = {difference.engines[0] for difference in report.differences}
    sound = [engine for engine in evidence.ran if engine not in other]
    report.differences += gradient_differences(evidence, sound)
    other = {difference.engines[0] for difference in report.differences}
    report.differences += answers.forward_differences(evidence, [engine for engine in sound if engine not in other])
    report.differences += answers.precision_differences(evidence, report.differences)
    replayed = next((engine for engine in registry.replaying() if engine in evidence.ran), None)
    if replayed is not None:
        report.timeline = evidence.recorded(replayed).timeline()
    remark(report, evidence, options)


class _Restoring(Subject):
    """A program whose generators are put back before each run."""

    def __init__(self, subject: Subject, generators: Generators) -> None:
        self.__dict__ |= subject.__dict__
        self._generators = generators

    def measured(self, values: Any = None) -> list[Any]:
        self._generators.restore()
        return super().measured(values)


def _running(wide: Subject | None, generators: Generators) -> Subject | None:
    """The program in double precision, if it runs so."""
    if wide is None:
        return None
    generators.restore()
    try:
        value = wide.measured()[0]
    except Exception:
        return None
    return wide if np.asarray(value).dtype == np.float64 else None


def _arithmetic(evidence: Evidence, base: Subject) -> float:
    """The rounding of the coarsest arithmetic inside of the program."""
    epsilon = rounding(base)
    try:
        steps = record(base, "native", evidence.generators).steps
    except Exception:
        return rounding(base, base.measured())
    return max([epsilon, *(_epsilon(x) for step in steps for x in flat_values(step.value))])


def _epsilon(x: Any) -> float:
    dtype = np.asarray(x).dtype
    return float(np.finfo(dtype).eps) if dtype.kind in "fc" else 0.0


def _check_errors(report: Report, subject: Subject, options: Options, generators: Generators, error: Exception) -> None:
    """A program that raises: so must every engine, or it has answered where there is no answer."""
    report.runs.append(Run(PLAIN, "refused", f"{type(error).__name__}: {error}"))
    for engine in options.engines:
        if registry.engine(engine).missing():
            report.runs.append(Run(engine, "not available", registry.engine(engine).missing()))
            continue
        found = answer(engine, subject, [], generators)
        report.runs.append(found.run)
        if found.ran:
            kind = "index" if isinstance(error, IndexError) else "primal"
            report.differences.append(
                made(
                    kind, (engine, PLAIN), "value", np.inf, found.run.value, None,
                    f"{engine} gives {short(found.run.value)} where the program itself raises {type(error).__name__}: "
                    f"{error}.", 0.99, None,
                )
            )  # fmt: skip
        elif not is_same_error(found.error, error):
            report.remarks.append(f"{engine} raises {type(found.error).__name__}, the program {type(error).__name__}")
    if not report.differences:
        raise error


def _check_repeatable(report: Report, subject: Subject, result: Any, generators: Generators) -> bool:
    """Whether the program gives the same value again; if not, the difference, and whether the generators explain it."""
    first = [np.asarray(x) for x in outputs_of(result)]
    drawn = generators.drawn
    second = [np.asarray(x) for x in outputs_of(subject.plain())]
    if _same(first, second):
        if drawn:
            report.remarks.append(f"the program draws from {drawn}, which is put back before each run")
        return True
    generators.restore()
    again = [np.asarray(x) for x in outputs_of(subject.plain())]
    steps = _two_runs(subject, generators)
    step = first_other(*steps) if steps else None
    from bridge.proof.blame.blaming import of_step

    blame = None if step is None else of_step(step, "random", "")
    source = f"it draws from {drawn}" if drawn else "it draws random numbers, or keeps state between calls"
    line = "" if blame is None else f"; the first operation that gets or gives something else is {blame.place}"
    a, b = subject.weighted(result), subject.weighted(subject.plain()) if drawn is None else None
    report.differences.append(
        made(
            "random", (PLAIN, PLAIN), "value", np.inf, a, b if b is not None else _weighted(subject, second),
            f"two calls on the same arguments give different values: {source}{line}. Take the randomness out: pass a "
            "key (bridge.random), or the draws, as an argument.", 0.99 if drawn else 0.9, blame,
        )
    )  # fmt: skip
    if _same(first, again):
        report.remarks.append("every run below begins with the same state of the generators")
        return True
    report.remarks.append("values differ from run to run, so that no engines were compared")
    return False


def _weighted(subject: Subject, outputs: list[np.ndarray]) -> Any:
    if subject.cotangents is None:
        return outputs[0]
    return sum(np.sum(np.real(np.conj(ct) * out)) for ct, out in zip(subject.cotangents, outputs, strict=True))


def _two_runs(subject: Subject, generators: Generators) -> Any:
    """The operations of two runs that do not begin with the same state."""
    try:
        first = record(subject, "native", generators)
        second = record(subject, "native", _Unrestored())
    except Exception:
        return None
    return first.steps, second.steps


class _Unrestored(Generators):
    """Generators that go on from where they are."""

    def __init__(self) -> None:
        pass

    def restore(self) -> None:
        pass


def _same(first: list[np.ndarray], second: list[np.ndarray]) -> bool:
    return len(first) == len(second) and all(same_bits(a, b) for a, b in zip(first, second, strict=True))
