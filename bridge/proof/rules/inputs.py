"""Calls on which a rule is proved when none is given: its own cases, else invented arguments."""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from bridge.errors import ArgumentError
from bridge.proof.numerics.arrays import is_inexact, leaves
from bridge.proof.rules.calls import Call
from bridge.proof.rules.rule_calls import MutatingCall, RuleCall
from bridge.rulebook.book import MUTATING, RULES, read_book
from bridge.rulebook.rule import Case, MutatingRule, Rule

MOST_GUESSES = 200


def call_of(rule: Rule | MutatingRule, case: Case) -> Call:
    """The call that a case describes."""
    kind = MutatingCall if isinstance(rule, MutatingRule) else RuleCall
    return kind(rule, case.args, case.kwargs, case.loss, case.tolerance)


def rule_of(function: Any) -> Rule | MutatingRule:
    """The rule that is registered for a function, or the rule itself."""
    if isinstance(function, (Rule, MutatingRule)):
        return function
    book()
    try:
        found: Rule | MutatingRule | None = RULES.get(function) or MUTATING.get(function)
    except TypeError:  # a handle of ctypes is no key; what stands for it wraps it
        every: list[Rule | MutatingRule] = [*RULES.values(), *MUTATING.values()]
        found = next((one for one in every if getattr(one.function, "__wrapped__", None) is function), None)
    if found is not None:
        return found
    raise ArgumentError(
        f"{getattr(function, '__name__', function)!r} has no rule to check",
        remedy="register one with bridge.rule or bridge.mutating_rule, or pass what they return",
    )


def book() -> list[ModuleType]:
    """All modules of the rule book that this process can use."""
    read_book()
    return [module for name, module in sorted(sys.modules.items()) if name.startswith("bridge.rules.")]


def cases_of(rule: Rule | MutatingRule) -> list[Case]:
    """The cases of a rule, from the `cases()` of the module that defines it, else of the rule book."""
    own = {getattr(part, "__module__", None) for part in parts_of(rule)}
    for module in [module for name, module in sys.modules.items() if name in own] + book():
        if hasattr(module, "cases"):
            found = [case for case in module.cases() if case.function in (rule.function, rule)]
            if found:
                return found
    return []


def invented(rule: Rule | MutatingRule) -> Case | None:
    """A case with arguments that the function accepts, found by trying vectors, matrices and numbers."""
    names = _required(rule)
    rng = np.random.default_rng(0)
    for guess in itertools.islice(_guesses(len(names), rng), MOST_GUESSES):
        case = Case(rule.function, guess)
        try:
            result = call_of(rule, case).outputs()
        except Exception:
            continue
        if result and all(np.all(np.isfinite(out)) for _, out in leaves(result) if is_inexact(out)):
            return case
    return None


def _guesses(count: int, rng: np.random.Generator) -> Iterator[tuple[Any, ...]]:
    def vector() -> np.ndarray:
        return rng.uniform(0.2, 0.8, 4)

    def matrix() -> np.ndarray:
        return rng.uniform(0.1, 0.4, (3, 3)) + np.eye(3)

    kinds = (vector, matrix, lambda: 0.5, lambda: 2, lambda: [vector(), vector()], lambda: 0)
    for chosen in itertools.product(kinds, repeat=count):
        guess = tuple(kind() for kind in chosen)
        if any(isinstance(leaf, np.ndarray) for _, leaf in leaves(guess)):
            yield guess


def _required(rule: Rule | MutatingRule) -> tuple[str, ...]:
    if isinstance(rule, MutatingRule):
        if rule.signature is None:
            return rule.parameters
        return _without_default(list(rule.signature.parameters.values()))
    parameters = list(inspect.signature(parts_of(rule)[0]).parameters.values())[2:]
    return _without_default(parameters) or rule.parameters or ("x",)


def _without_default(parameters: list[inspect.Parameter]) -> tuple[str, ...]:
    return tuple(p.name for p in parameters if p.default is p.empty and p.kind in _POSITIONAL)


_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parts_of(rule: Rule | MutatingRule) -> list[Any]:
    """The functions of which a rule is made."""
    if isinstance(rule, MutatingRule):
        return [part for part in (rule.pull_function, rule.function) if part is not None]
    return [part for part in (rule.joint, *(rule.per_argument or ())) if part is not None]
