"""`check_rule`: everything that a rule promises, proved."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bridge.errors import RuleError
from bridge.proof.numerics.tolerances import check_tolerances
from bridge.proof.report.checks import CheckReport
from bridge.proof.rules.calls import Call
from bridge.proof.rules.contract import prove_contract, prove_function
from bridge.proof.rules.declarations import prove_declarations
from bridge.proof.rules.inputs import call_of, cases_of, invented, rule_of
from bridge.proof.rules.own_process import proved_in_own_process
from bridge.proof.rules.tracked import prove_tracked
from bridge.proof.rules.values import Point, prove_gradient
from bridge.proof.rules.variants import prove_layouts, prove_variants
from bridge.rulebook.rule import Case, MutatingRule, Rule


def check_rule(rule: Any, /, *args: Any, subprocess: bool = False, **kwargs: Any) -> CheckReport:
    """Prove a rule: its values against finite differences, and every other promise that it makes.

    Parameters
    ----------
    rule : a `Rule`, a `MutatingRule`, or a function that has one.
    args, kwargs : a call of the function; every float or complex array in it, and every such number among `args`, is
        differentiated. One
        `bridge.extend.Case` stands for its own arguments, loss and tolerance. Without any, the rule's
        cases are taken (`cases()` beside the rule), and without cases arguments are invented.
    subprocess : prove it in a process of its own. A compiled function that ends its process is a failure of the
        report then, with the line that called it. The rule must have a name in a module that can be imported.

    Returns
    -------
    CheckReport : with `.ok`, `.checks` (names and figures) and `.notes` (variants that the function refuses, kinks).

    Raises
    ------
    CheckError : lists every failure with its code (see `bridge.proof.rules`), the values and the remedy; its
        `report` attribute holds the report.
    """
    found = rule_of(rule)
    if subprocess:
        return proved_in_own_process(check_rule, found, args, kwargs).raise_if_failed()
    report = CheckReport(f"check_rule({found.name})")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in _cases(found, args, kwargs, report):
            check_tolerances(tolerance=case.tolerance)
            prove_call(call_of(found, case), report)
    if not report.failures and not any(check.name == Point().name for check in report.checks):
        what = f"{found.name}: in no call that was checked has an argument that is differentiated an element"
        is_case = any(isinstance(arg, Case) for arg in args)
        if is_case and any(_has_elements(call_of(found, case)) for case in cases_of(found)):
            report.note(f"{what}; other cases of the rule prove its gradient")
        else:
            remedy = "check the rule with float or complex arrays that are not empty, given as arguments of their own"
            report.failed("nothing-checked", what, remedy)
    return report.raise_if_failed()


def prove_call(call: Call, report: CheckReport) -> None:
    """Prove a rule at one call and its variants; what rests on a proof that failed is left out."""
    rng = np.random.default_rng(0)
    if not _is_supported(call, report) or not (prove_function(call, report) and prove_contract(call, report, rng)):
        return
    if prove_declarations(call, report, rng) and prove_gradient(call, report, rng, Point(required=True)):
        prove_variants(call, report, rng)
        prove_layouts(call, report, rng)
        prove_tracked(call, report, rng)


def _has_elements(call: Call) -> bool:
    return any(np.size(point) for point in call.points)


def _is_supported(call: Call, report: CheckReport) -> bool:
    if call.rule.supports is None:
        return True
    found = next(filter(None, map(call.supports.complaint, call.arguments.values())), None)
    if found is not None:
        report.failed(
            "not-supported",
            f"{call}: an argument has {found.what}, and the rule supports {call.supports}",
            "check the rule with what it supports, or let it say that it supports this",
        )
        return False
    report.note(f"{call.rule.name} supports {call.supports}; nothing else was proved")
    return True


def _with_numbers(rule: Rule | MutatingRule, case: Case, report: CheckReport) -> Case:
    """A call whose numbers are NumPy's, which are differentiated as arrays are, if the pull has cotangents for them."""
    numbers = {float: np.float64, complex: np.complex128}
    args = tuple(numbers.get(type(arg), lambda same: same)(arg) for arg in case.args)
    with_numbers = Case(case.function, args, case.kwargs)
    try:
        call = call_of(rule, with_numbers)
        call.pull(call.hand(call.outputs()))
    except RuleError:
        given = [k for k, arg in enumerate(case.args) if type(arg) in numbers]
        names = ", ".join(call_of(rule, case).parameter(k) for k in given)
        if given:
            report.note(
                f"not differentiated: {names}; the pull has no cotangent for it, and a gradient by it is an error"
            )
        return case
    except Exception:
        # What else the function or its pull raises, the proof of this call will meet, and say.
        return case
    return with_numbers


def _cases(rule: Rule | MutatingRule, args: tuple[Any, ...], kwargs: dict[str, Any], report: CheckReport) -> list[Case]:
    if isinstance(rule, MutatingRule) and rule.pull_function is None:
        name = rule.name.rpartition(".")[2]
        report.failed(
            "no-pull",
            f"{rule.name} has a mutating rule without a pull",
            f"add one: @{name}.pull over a function (ct, {', '.join(rule.parameters)})",
        )
        return []
    if len(args) == 1 and isinstance(args[0], Case):
        return [args[0]]
    if args or kwargs:
        named = [name for name, value in kwargs.items() if isinstance(value, (float, complex))]
        if named:
            report.note(f"not differentiated: {', '.join(named)}, given by keyword; give it by position")
        return [_with_numbers(rule, Case(rule.function, args, kwargs), report)]
    cases = cases_of(rule)
    if cases:
        return cases
    guess = invented(rule)
    if guess is None:
        report.failed(
            "no-inputs",
            f"{rule.name} has no cases, and no arguments were found that it accepts",
            "pass them: check_rule(rule, *args), or yield a Case from cases() beside the rule",
        )
        return []
    return [guess]
