"""The values of a pull against finite differences, with a diagnosis where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import Path
from bridge.proof.numerics.compare import EVERY_COORDINATE, Comparison, Sample, compare
from bridge.proof.rules.calls import Call
from bridge.proof.rules.report import Report

FLOOR = 1e-13


def prove_gradient(
    call: Call,
    report: Report,
    rng: np.random.Generator,
    *,
    code: str = "wrong-gradient",
    name: str = "gradient",
    variant: str = "",
    every: int = EVERY_COORDINATE,
    random: int = 2,
    strict: bool = True,
) -> bool:
    """The pull equals finite differences.

    At a kink, what lies between the one-sided slopes passes. Unless `strict`, anything passes at a point where
    the function is not smooth along every direction: there, a subgradient need not agree with every slope.
    """
    cts = call.seeds(rng)
    gradient = call.cotangents(cts)
    comparison = compare(call, call.weights(cts), gradient, call.tolerance, rng, every, random, FLOOR)
    wrong = comparison.mismatches if strict or comparison.differentiable else []
    title = f"{call}{variant}"
    if not wrong:
        if comparison.kinks:
            report.note(f"{call.rule.name} has a kink{variant}; the pull gives a subgradient")
        if comparison.samples and not comparison.decided:
            report.note(f"{call.rule.name}: finite differences do not converge{variant}; nothing is proved there")
        else:
            report.passed(name, title, comparison.figure)
        return True
    found, remedy = diagnose(call, cts, gradient, comparison)
    report.failed(found or code, f"{title}: {difference(comparison, wrong[0], call.name_of)}", remedy)
    return False


def difference(comparison: Comparison, sample: Sample, name_of: Callable[[Path], str], noun: str = "cotangent") -> str:
    """Where a gradient differs, what was expected and what it is; `noun` is what messages call it."""
    if sample.leaf is None:
        where = "along a direction through all arguments, the derivative"
    else:
        place = f" at index {sample.index}" if sample.index else ""
        where = f"the {noun} of {name_of(comparison.paths[sample.leaf])}{place}"
    slope = sample.slope
    if slope.kind == "kink":
        return (
            f"{where} is {sample.got:.9g}, outside of the one-sided slopes of a kink, {slope.left:.9g} (left) and "
            f"{slope.right:.9g} (right)"
        )
    if slope.kind in ("edge", "jump"):
        return f"{where} is {sample.got:.9g}, but the function's one-sided slope is {slope.central:.9g}"
    if slope.kind == "infinite":
        return f"{where} is {sample.got:.9g}, but difference quotients grow without bound"
    return (
        f"{where} is {sample.got:.9g}, but finite differences give {slope.central:.9g} "
        f"(relative difference {comparison.difference(sample):.1e}, {len(comparison.mismatches)} of "
        f"{len(comparison.samples)} samples differ)"
    )


def diagnose(
    call: Call, cts: Sequence[Any], gradient: Sequence[np.ndarray], comparison: Comparison
) -> tuple[str | None, str]:
    """A code of its own for a mismatch whose cause can be told, and the remedy."""
    worst = comparison.mismatches[0]
    if worst.leaf is not None and call.pull(call.hand(cts))[worst.leaf] is None:
        name = call.name_of(comparison.paths[worst.leaf])
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
    again = compare(call, call.weights(cts), gradient, tolerance, np.random.default_rng(1), 8)
    return bool(again.decided) and not again.mismatches
