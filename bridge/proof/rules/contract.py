"""The contract of a pull, proved on plain arrays: what it returns, what it leaves alone, that it keeps no state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.errors import BridgeError, RuleError
from bridge.proof.numerics.arrays import duplicate, random_like
from bridge.proof.numerics.tolerances import alike, first_change, precision
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call
from bridge.proof.rules.rule_calls import RuleCall

WRITES = {
    "cotangent": "writes-cotangent",
    "output": "writes-output",
    "after": "writes-output",
    "arguments": "writes-input",
}


def prove_function(call: Call, report: CheckReport) -> bool:
    """The plain function writes only what its rule declares, and computes the same every time."""
    before = call.arguments_at(call.points)
    after = duplicate(before)
    first = duplicate(call.run(after))
    changed = first_change(call.without_written(before), call.without_written(after))
    if changed is not None:
        report.failed(
            "undeclared-mutation",
            f"{call}: the function writes into {call.name_of(changed)}, which its rule does not declare",
            f"declare it: mutating_rule(mutates={_with(call, call.name_of(changed))!r}); nothing else would restore "
            "its old values",
        )
    again = call.run(duplicate(before))
    moved = first_change(first, duplicate(again))
    if moved is not None:
        report.failed(
            "nondeterministic",
            f"{call}: two calls of the function on the same arguments give different values",
            "take randomness and state out of the function (pass the key or the state as an argument)",
        )
    if changed is not None or moved is not None:
        return False
    report.passed("function is pure", str(call))
    return True


def _with(call: Call, name: str) -> str | tuple[str, ...]:
    """What a rule declares to be written, and one more."""
    declared = getattr(call.rule, "mutates", ())
    return (*declared, name) if declared else name


def prove_contract(call: Call, report: CheckReport, rng: np.random.Generator) -> bool:
    """What a pull returns has the right count, shapes and dtypes; it writes nothing, and keeps no state."""
    if not prove_returns(call, report, rng):
        return False
    cts = [random_like(out, rng) for out in call.outputs()]
    return _writes(call, cts, report) & _repeats(call, cts, report, rng)


def prove_returns(call: Call, report: CheckReport, rng: np.random.Generator) -> bool:
    """The pull runs, and returns one cotangent of the right shape and dtype for each array argument."""
    cts = [random_like(out, rng) for out in call.outputs()]
    try:
        raws = call.pull(call.hand(cts))
        surplus = call.surplus(call.hand(cts)) if isinstance(call, RuleCall) else 0
    except (BridgeError, np.linalg.LinAlgError) as error:
        if not isinstance(error, RuleError):
            raise
        report.failed("cotangent-count", f"{call}: {error.what}", error.remedy or "return one for each array argument")
        return False
    except Exception as error:
        report.failed(
            "pull-raises",
            f"{call}: the pull raises {type(error).__name__}: {error}",
            "the function accepts these arguments, so its pull must too (or refuse them by a BridgeError)",
        )
        return False
    if surplus:
        report.failed(
            "cotangent-count",
            f"{call}: the pull returns {surplus} cotangents more than the function has arguments",
            "return one cotangent for each argument, in the order of the arguments (None for none)",
        )
        return False
    return _shapes(call, raws, report) and _dtypes(call, raws, cts, report)


def _shapes(call: Call, raws: Sequence[Any], report: CheckReport) -> bool:
    allowed_by_broadcast = {np.shape(out) for out in call.outputs()} if call.fitted_by_context else set()
    fine = True
    for path, point, raw in zip(call.paths, call.points, raws, strict=True):
        if raw is None or getattr(raw, "shape", None) in {np.shape(point)} | allowed_by_broadcast:
            continue
        fine = False
        what = f"shape {raw.shape}" if hasattr(raw, "shape") else f"type {type(raw).__name__}"
        report.failed(
            "cotangent-shape",
            f"{call}: the cotangent of {call.name_of(path)} has {what}, but the argument has shape {np.shape(point)}",
            "sum over the axes along which the argument was broadcast (bridge.extend.sum_to_shape)",
        )
    if fine:
        report.passed("cotangent shapes", str(call))
    return fine


def _dtypes(call: Call, raws: Sequence[Any], cts: Sequence[Any], report: CheckReport) -> bool:
    given = [np.asarray(x).dtype for x in (*call.points, *cts, *call.outputs())]
    finest = min((precision(dtype) for dtype in given), default=0.0)
    fine = True
    for path, point, raw in zip(call.paths, call.points, raws, strict=True):
        if raw is None:
            continue
        if raw.dtype.kind not in "fc" or (
            raw.dtype.kind == "c" and point.dtype.kind == "f" and not call.fitted_by_context
        ):
            remedy = "return a real cotangent (np.real) for a real argument"
        elif precision(raw.dtype) < finest:
            remedy = "keep the precision: Python numbers for constants, ct.dtype or zeros(shape, like=ct) for scratch"
        else:
            continue
        fine = False
        report.failed(
            "wrong-dtype",
            f"{call}: the cotangent of {call.name_of(path)} has dtype {raw.dtype}, but the argument is {point.dtype}",
            remedy,
        )
    if fine:
        report.passed("cotangent dtypes", str(call))
    return fine


def _writes(call: Call, cts: Sequence[Any], report: CheckReport) -> bool:
    handed = call.hand(cts)
    before = duplicate(handed)
    call.pull(handed)
    fine = True
    for role, old in before.items():
        changed = first_change(old, handed[role])
        if changed is None:
            continue
        fine = False
        name = call.name_of(changed) if role == "arguments" else f"its {role}"
        report.failed(
            WRITES[role],
            f"{call}: the pull writes into {name}",
            "write into scratch of your own: np.zeros_like(ct), ct.copy(); others hold the arrays that a pull is given",
        )
    if fine:
        report.passed("pull writes nothing", str(call))
    return fine


def _repeats(call: Call, cts: Sequence[Any], report: CheckReport, rng: np.random.Generator) -> bool:
    raws = call.pull(call.hand(cts))
    kept = duplicate(raws)
    again = duplicate(call.pull(call.hand(cts)))
    others = [random_like(ct, rng) for ct in cts]
    if not alike(kept, again):
        second, third = (duplicate(call.pull(call.hand(others))) for _ in range(2))
        if alike(_less(second, again), _less(third, second), exactly=False):
            code, what = "accumulates", "adds to what its earlier calls returned"
        else:
            code, what = "not-repeatable", "returns another result when it is called again on the same arguments"
        report.failed(code, f"{call}: the pull {what}", "keep no state between calls: make scratch arrays in the pull")
        return False
    call.pull(call.hand(others))
    if not alike(raws, kept):
        report.failed(
            "shared-result",
            f"{call}: a later call of the pull changes the cotangents that an earlier one returned",
            "return fresh arrays: the context holds on to what a pull returns",
        )
        return False
    handed = call.hand(cts)
    try:
        call.run(call.arguments_at([0.75 * point for point in call.points]))
    except (ArithmeticError, ValueError):
        report.note(f"{call}: cannot be called at other values; staleness is not proved")
    if not alike(duplicate(call.pull(handed)), kept):
        report.failed(
            "stale-input",
            f"{call}: the pull uses what the function's latest call left behind, not the arguments that it is given",
            "compute from the pull's own parameters; when it runs, they hold what they held at the call",
        )
        return False
    report.passed("pull is repeatable", str(call))
    return True


def _less(a: Sequence[Any], b: Sequence[Any]) -> list[Any]:
    return [None if x is None else x - y for x, y in zip(a, b, strict=True)]
