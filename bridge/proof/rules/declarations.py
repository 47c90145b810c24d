"""What a rule declares and promises beyond its values: linearity, absent cotangents, reads, structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.proof.numerics.arrays import duplicate, float_leaves, inner, leaves, random_like, replace
from bridge.proof.numerics.sampling import rounding
from bridge.proof.numerics.tolerances import alike, furthest, precision
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call, split
from bridge.proof.rules.rule_calls import RuleCall, shaped
from bridge.rulebook.rule import Rule


def prove_declarations(call: Call, report: CheckReport, rng: np.random.Generator) -> bool:
    """The pull is linear, honours absent cotangents, reads what it declares and has the declared structure."""
    cts = [random_like(out, rng) for out in call.outputs()]
    fine = _linear(call, cts, report, rng)
    if isinstance(call, RuleCall):
        fine = _absent(call, cts, report) and fine
        fine = _reads(call, cts, report) and fine
        fine = _elementwise(call, cts, report, rng) and fine
        fine = _linear_function(call, report, rng) and fine
        fine = _equivalent(call, report) and fine
    return fine


def _linear(call: Call, cts: Sequence[Any], report: CheckReport, rng: np.random.Generator) -> bool:
    others = [random_like(ct, rng) for ct in cts]
    mixed = [np.asarray(2 * a - 3 * b, np.asarray(a).dtype)[()] for a, b in zip(cts, others, strict=True)]
    mixed = [np.asarray(m) if isinstance(ct, np.ndarray) else m for m, ct in zip(mixed, cts, strict=True)]
    first, second, both = (call.cotangents(each) for each in (cts, others, mixed))
    bound = 1e4 * rounding(call, cts)
    worst = 0.0
    for path, a, b, got in zip(call.paths, first, second, both, strict=True):
        finite = np.isfinite(a) & np.isfinite(b)
        scale = np.max(np.abs(np.where(finite, a, 0)), initial=0) + np.max(np.abs(np.where(finite, b, 0)), initial=0)
        gap = np.max(np.abs(np.where(finite, got - (2 * a - 3 * b), 0)), initial=0)
        worst = max(worst, float(gap / scale) if scale else float(gap))
        if worst > bound:
            report.failed(
                "not-linear",
                f"{call}: the pull is not linear in its cotangent: pull(2a - 3b) differs from 2 pull(a) - 3 pull(b) "
                f"by {worst:.1e} (relative) for {call.name_of(path)}",
                "a pull multiplies its cotangent by partial derivatives; it adds no constant, takes no power of it",
            )
            return False
    report.passed("pull is linear", str(call), worst)
    return True


def _absent(call: RuleCall, cts: Sequence[Any], report: CheckReport) -> bool:
    if len(cts) < 2:
        return True
    for k in range(len(cts)):
        zeros = [ct if j == k else np.zeros_like(ct) for j, ct in enumerate(cts)]
        expected = call.cotangents(zeros)
        try:
            got = call.cotangents([ct if j == k else None for j, ct in enumerate(cts)])
            # Zeros times an infinite partial are NaN; that absent ones give less is what they are for.
            expected = [np.where(np.isnan(a), b, a) for a, b in zip(expected, got, strict=True)]
            fine = furthest(expected, got) <= 1e-9
            what = "gives another result than for zeros"
        except Exception as error:
            fine, what = False, f"raises {type(error).__name__}: {error}"
        if not fine:
            report.failed(
                "none-cotangent",
                f"{call}: where only output {k} carries a cotangent and the others are None, the pull {what}",
                "the cotangent of a function with several outputs is a tuple; skip the terms of those that are None",
            )
            return False
    report.passed("absent cotangents", str(call))
    return True


def _reads(call: RuleCall, cts: Sequence[Any], report: CheckReport) -> bool:
    expected = duplicate(call.pull(call.hand(cts)))
    for path in call.unread():
        name = "out" if path == ("output",) else call.name_of(path)
        handed = call.hand(cts)
        if path == ("output",):
            out = handed["output"]
            handed["output"] = replace(out, {where: shaped(leaf) for where, leaf in leaves(out)})
        else:
            arguments = handed["arguments"]
            handed["arguments"] = replace(arguments, {path: shaped(dict(leaves(arguments))[path])})
        try:
            fine, how = alike(call.pull(handed), expected), "its result changes without them"
        except Exception as error:
            fine, how = False, f"without them it raises {type(error).__name__}: {error}"
        if not fine:
            report.failed(
                "undeclared-read",
                f"{call}: the pull reads the values of {name}, which its rule says it does not; {how}",
                f"add {name!r} to reads=(...), or use only its shape, dtype, ndim and size",
            )
            return False
    report.passed("reads as declared", str(call))
    return True


def _elementwise(call: RuleCall, cts: Sequence[Any], report: CheckReport, rng: np.random.Generator) -> bool:
    if not call.elementwise or len(cts) != 1 or np.size(cts[0]) < 2:
        return True
    shape = np.shape(cts[0])
    chosen = np.zeros(shape, bool)
    chosen[tuple(int(rng.integers(length)) for length in shape)] = True
    raws = call.pull(call.hand([np.where(chosen, cts[0], 0).astype(cts[0].dtype)]))
    spread = [raw for raw in raws if raw is not None and raw.shape == shape and np.any(raw[~chosen & np.isfinite(raw)])]
    if spread:
        report.failed(
            "not-elementwise",
            f"{call}: a cotangent at one element of the output reaches other elements of an argument, but the rule's "
            'structure is "elementwise"',
            'register it with structure="generic"',
        )
        return False
    report.passed("elementwise as declared", str(call))
    return True


def _linear_function(call: RuleCall, report: CheckReport, rng: np.random.Generator) -> bool:
    if not call.rule.linear:
        return True
    others = [np.asarray(random_like(point, rng)) for point in call.points]
    mixed = [2 * a - 3 * b for a, b in zip(call.points, others, strict=True)]
    weights = [random_like(out, rng) for out in call.outputs()]
    zeros = [np.zeros_like(point) for point in call.points]
    at_point, at_others, at_mixed, at_zero = (
        inner(weights, call.outputs(values)) for values in (call.points, others, mixed, zeros)
    )
    gap = abs((at_mixed - at_zero) - (2 * (at_point - at_zero) - 3 * (at_others - at_zero)))
    size = abs(at_mixed) + 2 * abs(at_point) + 3 * abs(at_others)
    if gap > 1e4 * rounding(call, weights) * size:
        report.failed(
            "function-not-linear",
            f"{call}: the rule is declared linear=True, but f(2x - 3y) is not 2 f(x) - 3 f(y) (less f(0))",
            "leave linear=True out: forward mode would call the function on the tangents",
        )
        return False
    report.passed("linear as declared", str(call))
    return True


def _equivalent(call: RuleCall, report: CheckReport) -> bool:
    """The equivalent of a composed rule computes the function's value."""
    equivalent = equivalent_of(call.rule)
    if equivalent is None:
        return True
    args, kwargs = split(call.arguments_at(call.points))
    expected = call.outputs()
    worst = furthest(expected, float_leaves(equivalent(*args, **kwargs)))
    if worst > 1e5 * precision(*(np.asarray(out).dtype for out in expected)):
        report.failed(
            "value-differs",
            f"{call}: the equivalent from which the pull is taken computes another value (relatively {worst:.1e})",
            "the equivalent must be the same function, written in operations that have rules",
        )
        return False
    report.passed("equivalent's value", str(call), worst)
    return True


def equivalent_of(rule: Rule) -> Callable[..., Any] | None:
    """The equivalent that `bridge.extend.composed` registered for a rule; None for other rules."""
    return getattr(rule.joint, "equivalent", None)
