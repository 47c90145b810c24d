"""`check_gradient`: the gradient of a program against finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.errors import ArgumentError, BridgeError
from bridge.proof.numerics.arrays import inner, random_like, wide
from bridge.proof.numerics.compare import EVERY_COORDINATE, Comparison, Sampling, compare
from bridge.proof.numerics.sampling import Sample, rounding
from bridge.proof.numerics.tolerances import alike, check_tolerances, same_bits
from bridge.proof.report.checks import CheckReport
from bridge.proof.subject import Subject, outputs_of
from bridge.random import held
from bridge.rewind.diagnosis import Diagnosis
from bridge.source.looping import steady
from bridge.transforms.chosen import Argnums
from bridge.transforms.grad import value_and_grad
from bridge.transforms.jvp import jvp
from bridge.transforms.kinds import by_entries, is_sparse
from bridge.trees import leaves_of

REMEDIES = {
    "wrong-gradient": "prove the rules that it calls (bridge.check_rule); look for values that leave tracking",
    "kink": "check at a point away from the kink; at it, any subgradient is right (docs/conventions.md)",
    "jump": "the function is not continuous here; check at another point",
    "infinite": "the derivative is infinite here; check at another point",
}
CODES = {"smooth": "wrong-gradient", "edge": "wrong-gradient", "kink": "kink", "jump": "jump", "infinite": "infinite"}


def check_gradient(
    f: Callable[..., Any],
    argnums: Argnums = 0,
    *,
    tolerance: float = 1e-6,
    directions: int = 4,
    coordinates: int = EVERY_COORDINATE,
    forward: bool = True,
    seed: int = 0,
) -> Callable[..., CheckReport]:
    """A function that proves the gradient of `f` at its arguments.

    Parameters
    ----------
    f : as for `bridge.grad`, which reads it from its source; outputs that are not one real number are weighted with
        random cotangents. Differences run it as it is, many times: what it keeps between calls must not change what it
        returns.
    argnums : position or name, or a tuple of these, of the arguments to differentiate, which may be containers.
    tolerance : largest relative difference that passes; never less than the arguments' dtype allows.
    directions, coordinates : how many random directions, and at most how many single elements, are compared.
    forward : whether `bridge.jvp` is compared with the gradient, too.

    Returns
    -------
    Callable : of the arguments of `f`; it returns a `CheckReport`.

    Raises
    ------
    CheckError : lists every failure: `nondeterministic`, `value-differs`, `wrong-shape`, `wrong-dtype`,
        `not-repeatable`, `wrong-gradient`, `kink`, `jump`, `infinite`, `forward-mode`,
        `no-convergence`, `nothing-checked`. At a kink, a subgradient passes and is noted; `kink` says that it is none.
    ArgumentError : nothing to differentiate, or an option that would leave nothing to check.
    """
    check_tolerances(tolerance=tolerance)
    for name, count in (("directions", directions), ("coordinates", coordinates)):
        if count < 0:
            raise ArgumentError(f"{name}={count!r}", remedy="give a whole number, not below 0")

    def checked(*args: Any, **kwargs: Any) -> CheckReport:
        report = CheckReport(f"check_gradient({getattr(f, '__name__', repr(f))})")
        rng = np.random.default_rng(seed)
        with held(), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            subject = Subject(f, args, kwargs, argnums, shares=False)
            if not subject.points:
                for leaf in filter(is_sparse, leaves_of((args, kwargs))[0]):  # their entries may be floats
                    raise by_entries(leaf, "an argument", "of which a gradient is asked")
                raise ArgumentError(
                    f"check_gradient with argnums={argnums!r}, where there is no float or complex number",
                    remedy="pass float arrays, or name the arguments to differentiate with argnums",
                )
            subject.labels = _labels(subject)
            result = subject.plain()
            if _prove_deterministic(subject, result, report):
                subject.weigh(result, rng)
                gradient = _prove_call(subject, report)
                sampling = Sampling(tolerance, rng, coordinates, directions)
                _prove_values(compare(subject, [1.0], gradient, sampling), report)
                if forward and report.ok:
                    _prove_forward(subject, gradient, report, rng)
        return report.raise_if_failed()

    return checked


def _labels(subject: Subject) -> list[str]:
    """Differentiated leaves by their positions."""
    labels = []
    for k in subject.argnums:
        numbers, count = subject.moved_in(k)
        labels += [f"argument {k}" + (f", leaf {number}" if count > 1 else "") for number in numbers]
    return labels


def _prove_deterministic(subject: Subject, result: Any, report: CheckReport) -> bool:
    first, second = outputs_of(result), outputs_of(subject.plain())
    if alike(first, second):
        report.passed("deterministic")
        return True
    report.failed(
        "nondeterministic",
        f"two calls on the same arguments give different values ({_short(first)} and {_short(second)})",
        "take randomness and state out of the function: pass a key or a generator's draws, or the object that keeps "
        "the state, as an argument",
    )
    return False


def _prove_call(subject: Subject, report: CheckReport) -> list[Any]:
    """Differentiate; prove all that does not need a reference. Returns the gradient's leaves."""
    diagnosis = Diagnosis()
    with diagnosis.observing():
        value, found = _gradient_of(subject)
    if diagnosis.growth:
        report.note(diagnosis.growth)
    plain = subject.measured()[0]
    if not same_bits(np.asarray(plain), np.asarray(value, np.asarray(plain).dtype)):
        report.failed(
            "value-differs",
            f"the value under differentiation is {value!r}, the plain function's is {plain!r}",
            "let the function compute the same on tracked arrays: no tests of types, no caches",
        )
    if not alike(found, _gradient_of(subject)[1]):
        report.failed("not-repeatable", "a second call gives another gradient", "look for a rule that keeps state")
    for label, point, g in zip(subject.labels, subject.points, found, strict=True):
        kinds = (("shape", np.shape(g), np.shape(point)), ("dtype", np.asarray(g).dtype, point.dtype))
        for code, got, expected in kinds:
            if got != expected:
                report.failed(
                    f"wrong-{code}",
                    f"the gradient of {label} has {code} {got}, the argument {expected}",
                    "this is a defect of the package or of an engine: report it",
                )
    if report.ok:
        report.passed("value and arguments")
    return found


def _gradient_of(subject: Subject) -> tuple[Any, list[Any]]:
    """Value and gradient as a user gets them, for the caller's own arrays."""
    args, kwargs = subject.given()
    value, gradient = value_and_grad(subject, subject.argnums, loops=steady())(*args, **kwargs)
    return value, subject.gradient_leaves(gradient)


def _prove_values(comparison: Comparison, report: CheckReport) -> None:
    mismatches = comparison.mismatches
    if any(sample.leaf is not None for sample in comparison.kinks):
        report.note("a kink: one-sided derivatives differ at this point, and the gradient is compared with both")
        mismatches = [sample for sample in mismatches if sample.leaf is not None]
    elif comparison.kinks:
        report.note("a kink: one-sided derivatives differ along a direction through this point")
    if any(sample.slope.kind == "infinite" for sample in comparison.samples):
        report.note("difference quotients grow without bound: the derivative is infinite at this point")
    worst: dict[str, Sample] = {}
    for sample in mismatches:
        worst.setdefault(CODES[sample.slope.kind], sample)
    for code, sample in worst.items():
        report.failed(code, comparison.told(sample, "gradient"), REMEDIES[code])
    if mismatches:
        return
    if not comparison.samples:
        report.failed("nothing-checked", "the arguments have no element", "check at arrays that are not empty")
    elif comparison.unproved:
        names = ", ".join(comparison.labels[leaf] for leaf in comparison.unproved)
        report.failed(
            "no-convergence",
            f"finite differences by {names} do not converge at this point, so that the gradient cannot be proved here",
            "check at another point, or look for noise in the function's value (iterations, random numbers)",
        )
    else:
        report.passed("gradient", f"{comparison.decided} directions", comparison.figure)


def _prove_forward(subject: Subject, gradient: list[Any], report: CheckReport, rng: np.random.Generator) -> None:
    tangents = [random_like(point, rng) for point in subject.points]
    args, kwargs = subject.given()
    try:
        _, moved = jvp(subject.spread, (*args, *kwargs.values()), subject.tangents(tangents))
    except BridgeError as error:
        report.note(f"forward mode: {error.what}")
        return
    forward, backward = float(moved), inner(gradient, tangents)
    size = inner([np.abs(g) for g in gradient], [np.abs(t) for t in tangents])
    gap = abs(forward - backward) / max(size, 1e-300)
    finite = np.isfinite(forward), np.isfinite(backward)
    if (all(finite) and gap > 1e5 * rounding(subject)) or any(finite) != all(finite):
        report.failed(
            "forward-mode",
            f"along a random direction, jvp gives {forward:.9g} and the gradient {backward:.9g}",
            "prove the rules of your own that it calls (bridge.check_rule)",
        )
    else:
        report.passed("forward mode", "", gap if np.isfinite(gap) else None)


def _short(values: Sequence[Any]) -> str:
    text = ", ".join(np.array2string(np.asarray(value, wide(value)), threshold=4) for value in values[:2])
    return " ".join(text.split())[:80]
