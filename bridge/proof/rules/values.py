"""The values of a pull against finite differences, with a diagnosis where they differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.proof.numerics.compare import EVERY_COORDINATE, Comparison, Sampling, compare
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call

FLOOR = 1e-13


@dataclass(frozen=True, slots=True)
class Point:
    """A point at which a pull is proved: what is said of it, and how closely it is looked at.

    Attributes
    ----------
    code, name : of a failure there, and of the check.
    words : what messages say of the point.
    every, random : how many coordinates and random directions are taken.
    strict : at a kink, what lies between the one-sided slopes passes. Unless strict, anything passes at a point where
        the function is not smooth along every direction: there, a subgradient need not agree with every slope.
    required : whether a gradient that could not be compared there is a failure; else it is noted.
    """

    code: str = "wrong-gradient"
    name: str = "gradient"
    words: str = ""
    every: int = EVERY_COORDINATE
    random: int = 2
    strict: bool = True
    required: bool = False


def prove_gradient(call: Call, report: CheckReport, rng: np.random.Generator, point: Point) -> bool:
    """The pull equals finite differences."""
    cts = call.seeds(rng)
    gradient = call.cotangents(cts)
    sampling = Sampling(call.tolerance, rng, point.every, point.random, FLOOR)
    comparison = compare(call, call.weights(cts), gradient, sampling)
    wrong = comparison.mismatches if point.strict or comparison.differentiable else []
    title = f"{call}{point.words}"
    if point.required and not wrong:
        if not comparison.samples or not any(map(np.size, cts)):
            # The arguments or the results have no elements: the check of a rule needs another call, or fails.
            return True
        if not _is_proved(call, cts, comparison, report):
            return False
    if not wrong:
        if comparison.kinks:
            report.note(f"{call.rule.name} has a kink{point.words}; the pull gives a subgradient")
        if comparison.samples and not comparison.decided:
            report.note(f"{call.rule.name}: finite differences do not converge{point.words}; nothing is proved there")
        else:
            report.passed(point.name, title, comparison.figure)
        return True
    found, remedy = diagnose(call, cts, gradient, comparison)
    report.failed(found or point.code, f"{title}: {comparison.told(wrong[0])}", remedy)
    return False


def _is_proved(call: Call, cts: Sequence[Any], comparison: Comparison, report: CheckReport) -> bool:
    """Whether something was compared: else the wrong pull would have passed, too."""
    if not any(np.any(ct) for ct in cts):
        what = "every cotangent is zero" if call.loss is None else "the gradient of the loss is zero"
        remedy = "check the rule at a call, with a loss, on which the outputs have an effect"
        report.failed("nothing-checked", f"{call}: {what}, so that any pull gives zero", remedy)
        return False
    if comparison.unproved:
        names = ", ".join(call.labels[leaf] for leaf in comparison.unproved)
        report.failed(
            "no-convergence",
            f"{call}: finite differences by {names} do not converge, so that the pull is not proved",
            "check the rule at other arguments, at which the function is smooth",
        )
        return False
    return True


def diagnose(
    call: Call, cts: Sequence[Any], gradient: Sequence[np.ndarray], comparison: Comparison
) -> tuple[str | None, str]:
    """A code of its own for a mismatch whose cause can be told, and the remedy."""
    worst = comparison.mismatches[0]
    if worst.leaf is not None and call.pull(call.hand(cts))[worst.leaf] is None:
        name = call.labels[worst.leaf]
        return "missing-cotangent", f"return a cotangent for {name}; None says that the function does not depend on it"
    if any(np.iscomplexobj(g) for g in gradient):
        real = [np.asarray(ct).real.astype(np.asarray(ct).dtype)[()] for ct in cts]
        real = [np.asarray(r) if isinstance(ct, np.ndarray) else r for r, ct in zip(real, cts, strict=True)]
        if agrees(call, real, [np.conj(g) for g in call.cotangents(real)], comparison.tolerance):
            remedy = "conjugate the partial derivative: ct * conj(f'(x)) for a holomorphic f (bridge.extend.conj)"
            return "wrong-conjugation", remedy
    for changed, cause in call.misreadings(cts):
        if agrees(call, cts, changed, comparison.tolerance):
            return "stale-input", cause
    factor = comparison.factor()
    if factor is not None and not math.isclose(factor, 1):
        return None, f"every cotangent is {factor:.6g} times what it should be: look for a factor counted wrongly"
    return None, "derive the pull again: sum over outputs of ct times the partial derivative at the arguments"


def agrees(call: Call, cts: Sequence[Any], gradient: Sequence[np.ndarray], tolerance: float) -> bool:
    """Whether another gradient would have passed."""
    again = compare(call, call.weights(cts), gradient, Sampling(tolerance, np.random.default_rng(1), 8))
    return bool(again.decided) and not again.mismatches
