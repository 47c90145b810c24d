"""Every rule of the rule book, proved on its cases; every case, proved able to catch a wrong rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.fft  # rules about a library are read once it is loaded
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.sparse.linalg
import scipy.spatial.distance
import scipy.special  # noqa: F401

from bridge.errors import CheckError
from bridge.extend import MUTATING, RULES, ZERO_PULL
from bridge.proof.numerics.compare import Sampling, compare
from bridge.proof.rules.check_rule import check_rule
from bridge.proof.rules.inputs import book, call_of
from bridge.proof.rules.rule_calls import RuleCall
from bridge.rulebook.rule import Case, MutatingRule, Rule
from bridge.signatures import operation_name

MODULES = [module for module in book() if hasattr(module, "cases")]
CASES = [(module.__name__.rpartition(".")[2], case) for module in MODULES for case in module.cases()]
# Other tests register rules of their own.
REGISTERED: dict[Any, Rule | MutatingRule] = {
    function: rule for function, rule in (*RULES.items(), *MUTATING.items()) if not rule.name.startswith("tests.")
}


def by_rule() -> dict[Rule | MutatingRule, list[Case]]:
    """Every registered rule with its cases."""
    found: dict[Rule | MutatingRule, list[Case]] = {rule: [] for rule in REGISTERED.values()}
    for _, case in CASES:
        if case.function in REGISTERED:
            found[REGISTERED[case.function]].append(case)
    return found


BY_RULE = by_rule()
PARAMETERS = [pytest.param(rule, cases, id=rule.name) for rule, cases in BY_RULE.items()]
SOME = [pytest.param(rule, cases[:1], id=rule.name) for rule, cases in BY_RULE.items()]
OTHERS = [pytest.param(rule, cases[1:], id=rule.name) for rule, cases in BY_RULE.items() if cases[1:]]


def test_every_rule_has_a_case() -> None:
    assert [rule.name for rule, cases in BY_RULE.items() if not cases] == []


def test_every_case_has_a_rule() -> None:
    known = {*REGISTERED, *ZERO_PULL}
    assert [(family, str(case.function)) for family, case in CASES if case.function not in known] == []


@pytest.mark.ci
@pytest.mark.parametrize(("rule", "cases"), SOME)
def test_rule(rule: Rule | MutatingRule, cases: list[Case]) -> None:
    prove(rule, cases)


@pytest.mark.ci
@pytest.mark.parametrize(("rule", "cases"), OTHERS)
def test_rule_at_its_other_cases(rule: Rule | MutatingRule, cases: list[Case]) -> None:
    prove(rule, cases)


def prove(rule: Rule | MutatingRule, cases: list[Case]) -> None:
    failures = {}
    for case in cases:
        try:
            check_rule(rule, case)
        except CheckError as error:
            failures |= {
                failure.code: str(failure) for failure in error.report.failures if failure.code not in failures
            }
    assert not failures, "\n" + "\n".join(failures.values())


@pytest.mark.parametrize(
    "case", [case for _, case in CASES if case.function in ZERO_PULL], ids=lambda case: operation_name(case.function)
)
def test_functions_declared_flat_are_flat(case: Case) -> None:
    flat = Rule(case.function, _no_cotangents, None, reads=(), linear=False, structure="linear")
    call = RuleCall(flat, case.args, case.kwargs, None, case.tolerance)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        cts = call.seeds(rng)
        zeros = [np.zeros_like(point) for point in call.points]
        found = compare(call, cts, zeros, Sampling(case.tolerance, rng))
    assert [sample for sample in found.mismatches if sample.slope.kind == "smooth"] == []


def _no_cotangents(ct: Any, out: Any, *args: Any, **kwargs: Any) -> tuple[None, ...]:
    return (None,) * len(args)


@pytest.mark.parametrize(("rule", "cases"), PARAMETERS)
def test_a_wrong_rule_would_fail_on_its_cases(rule: Rule | MutatingRule, cases: list[Case]) -> None:
    assert any(_tells_a_factor(rule, case) for case in cases)


def _tells_a_factor(rule: Rule | MutatingRule, case: Case) -> bool:
    """Whether finite differences at a case tell the pull from one that is a tenth too large."""
    call = call_of(rule, case)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        cts = call.seeds(rng)
        wrong = [1.1 * cotangent for cotangent in call.cotangents(cts)]
        return bool(compare(call, call.weights(cts), wrong, Sampling(case.tolerance, rng, 10)).mismatches)
