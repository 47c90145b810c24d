"""One call, or one program, under both engines, and how far they differ."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import bridge
from bridge.engines.julia.rules import checked_values
from bridge.proof.rules.rule_calls import RuleCall
from bridge.rulebook.rule import Case, Rule

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


def of_case_forward(rule: Rule, native: Rule, case: Case) -> str | None:
    """How forward mode under the engine differs from its own pull, and from the rule book, along a random direction."""
    with np.errstate(all="ignore"):
        call = RuleCall(native, case.args, case.kwargs, case.loss, case.tolerance)
        rng = np.random.default_rng(2)
        along = tuple(_drawn(rng, x) for x in call.points)

        def run(*leaves: Any) -> Any:
            return call.tracked(call.arguments_with(leaves))

        value, moved = bridge.jvp(run, tuple(call.points), along, engine="julia")
        expected = bridge.jvp(run, tuple(call.points), along, engine="native")[1]
        found, expected = _moving(value, moved), _moving(value, expected)
        cts = call.seeds(np.random.default_rng(1))
        pulled = RuleCall(rule, case.args, case.kwargs, case.loss, case.tolerance).cotangents(cts)
        allowed = tolerance(*call.points, *call.outputs())
    if case.loss is None:
        # Else single outputs are not defined: vectors up to a phase.
        different = next((d for e, f in zip(expected, found, strict=True) if (d := difference(e, f, allowed))), None)
        if different is not None:
            return different
    forward, backward = _terms(cts, found), _terms(pulled, along)
    apart = abs(np.sum(forward) - np.sum(backward))
    if np.isnan(apart) or apart <= allowed * max(np.linalg.norm(forward), np.linalg.norm(backward), 1e-3):
        return None
    return f"along a direction {np.sum(forward)} in forward mode, {np.sum(backward)} by the pull"


def _terms(cts: Sequence[Any], along: Sequence[Any]) -> Any:
    return np.concatenate([np.real(np.conj(c) * t).ravel() for c, t in zip(cts, along, strict=True)])


def _drawn(rng: np.random.Generator, x: Any) -> Any:
    drawn = rng.standard_normal(np.shape(x))
    if np.iscomplexobj(x):
        drawn = drawn + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(drawn).astype(np.asarray(x).dtype)


def _moving(value: Any, along: Any) -> list[Any]:
    """The tangents of those outputs that are floats."""
    if isinstance(value, (list, tuple)):
        return [leaf for part, t in zip(value, along, strict=True) for leaf in _moving(part, t)]
    return [np.asarray(along)] if np.asarray(value).dtype.kind in "fc" else []


def of_program(function: Callable[..., Any], inputs: Sequence[Any], argnums: tuple[int, ...]) -> str | None:
    """How the gradients of a program under both engines differ; values must have the same bits."""
    with np.errstate(all="ignore"), checked_values():
        value, expected = bridge.value_and_grad(function, argnums, engine="native")(*map(np.copy, inputs))
        same, found = bridge.value_and_grad(function, argnums, engine="julia")(*map(np.copy, inputs))
    if np.asarray(value).tobytes() != np.asarray(same).tobytes():
        return f"the value {same} is not {value}"
    pairs = zip(expected, found, strict=True)
    return next((d for e, f in pairs if e.dtype != f.dtype or (d := difference(e, f, tolerance(e)))), None)
