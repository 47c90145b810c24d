"""One call, or one program, under both engines, and how far they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bridge
from bridge.engines.julia.rules import checked_values
from bridge.proof.rules.rule_calls import RuleCall
from bridge.rewind.rule import Case, Rule

HALF, SINGLE, DOUBLE = 1e-2, 1e-4, 1e-10


def tolerance(*arrays: Any) -> float:
    """What rounding explains, in the least precise of these dtypes."""
    kinds = {np.asarray(x).dtype.char for x in arrays}
    return HALF if "e" in kinds else SINGLE if kinds & set("fF") else DOUBLE


def difference(expected: Any, found: Any, allowed: float) -> str | None:
    """How two cotangents differ by more than `allowed` times the largest element; None if they do not."""
    expected, found = np.asarray(expected), np.asarray(found)
    if expected.shape != found.shape:
        return f"shape {found.shape} for {expected.shape}"
    if not np.array_equal(np.isnan(expected), np.isnan(found)):
        return f"{found} has NaN elsewhere than {expected}"
    largest = np.max(np.abs(expected), initial=1e-3, where=np.isfinite(expected))
    with np.errstate(invalid="ignore"):
        apart = np.where((expected == found) | np.isnan(expected), 0, np.abs(expected - found))
    return None if np.max(apart, initial=0) <= allowed * largest else f"{found} is not {expected}"


def of_case(rule: Rule, native: Rule, case: Case) -> str | None:
    """How the pull of `rule` differs from the native one on a case; its value is compared with NumPy's on the way."""
    with np.errstate(all="ignore"), checked_values():
        call = RuleCall(native, case.args, case.kwargs, case.loss, case.tolerance)
        cts = call.seeds(np.random.default_rng(1))
        expected = call.cotangents(cts)
        found = RuleCall(rule, case.args, case.kwargs, case.loss, case.tolerance).cotangents(cts)
        allowed = tolerance(*call.points, *call.outputs())
    return next((d for e, f in zip(expected, found, strict=True) if (d := difference(e, f, allowed))), None)


def of_program(function: Callable[..., Any], inputs: Sequence[Any], argnums: tuple[int, ...]) -> str | None:
    """How the gradients of a program under both engines differ; values must have the same bits."""
    with np.errstate(all="ignore"), checked_values():
        value, expected = bridge.value_and_grad(function, argnums, engine="native")(*map(np.copy, inputs))
        same, found = bridge.value_and_grad(function, argnums, engine="julia")(*map(np.copy, inputs))
    if np.asarray(value).tobytes() != np.asarray(same).tobytes():
        return f"the value {same} is not {value}"
    pairs = zip(expected, found, strict=True)
    return next((d for e, f in pairs if e.dtype != f.dtype or (d := difference(e, f, tolerance(e)))), None)
