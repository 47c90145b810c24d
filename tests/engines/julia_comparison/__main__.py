"""All comparisons in one process, printed as JSON: `python -m tests.engines.julia_comparison cases|programs|forward`.

A process of its own, because Julia then runs with `--compile=min`: thousands of calls of different types, each of a few
elements, are interpreted in the time that a hundred take to compile.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import scipy.special  # noqa: F401, its rules are read once it is loaded

import bridge.numpy
from bridge.engines.julia.engine import ENGINE
from bridge.engines.julia.rules import JuliaRule
from bridge.engines.protocol import EngineRule
from bridge.errors import NoRuleError
from bridge.extend import RULES
from bridge.proof.rules.inputs import book
from bridge.rulebook.rule import Case, Rule
from tests.conformance.test_corpus import GRADIENT, KINKS, argument, function, name
from tests.engines.julia_comparison.comparison import of_case, of_case_forward, of_program
from tests.helpers import finite_differences as reference
from tests.programs import PROGRAMS

# So many cases of a rule run by day, evenly taken from all of them; of a composition, whose parts have cases, fewer,
# and in forward mode, where each call is compared with the pull besides.
BY_DAY, OF_COMPOSED, FORWARD = 5, 2, 1


class Results:
    """What was compared, by name."""

    def __init__(self) -> None:
        self.agree: Counter[str] = Counter()
        self.without_rule: Counter[str] = Counter()
        self.partly: Counter[str] = Counter()
        self.failures: list[str] = []
        self.by_pulls: dict[str, str] = {}
        self.start = time.perf_counter()

    def compare(self, label: str, what: str, run: Any) -> None:
        try:
            difference = run()
        except NoRuleError as error:
            self.partly[f"{label}: {error.what}"] += 1
        except Exception as error:
            self.failures.append(f"{what}: {type(error).__name__}: {error}")
        else:
            if difference is None:
                self.agree[label] += 1
            else:
                self.failures.append(f"{what}: {difference}")

    def report(self) -> str:
        return json.dumps({**vars(self), "seconds": time.perf_counter() - self.start})


def cases(everything: bool = False) -> Results:
    """The cases of every rule that the engine has."""
    results = Results()
    started = ENGINE.started()
    for native, found in _by_rule().items():
        rule = started.rule(native.function, native)
        if rule is None:
            results.without_rule[native.name] += len(found)
            continue
        assert isinstance(rule, EngineRule)
        most = len(found) if everything else BY_DAY if hasattr(rule, "row") else OF_COMPOSED
        for case in _some(found, most):
            results.compare(native.name, f"{native.name}{_described(case)}", lambda: of_case(rule, native, case))  # noqa: B023
    return results


def forward(everything: bool = False) -> Results:
    """Forward mode of the cases of every rule that Julia pushes; linear functions and compositions are the core's."""
    results = Results()
    started = ENGINE.started()
    for native, found in _by_rule().items():
        rule = started.rule(native.function, native)
        if not isinstance(rule, JuliaRule) or native.linear:
            continue
        for case in _some(found, len(found) if everything else BY_DAY):
            if not everything and results.agree[native.name] == FORWARD:
                break
            what = f"forward {native.name}{_described(case)}"
            results.compare(native.name, what, lambda: of_case_forward(rule, native, case))  # noqa: B023
    results.by_pulls = ENGINE.forward_by_pulls()
    return results


def _some(found: list[Case], most: int) -> list[Case]:
    return [
        found[k] for k in sorted({round(k * (len(found) - 1) / max(most - 1, 1)) for k in range(min(most, len(found)))})
    ]


def _by_rule() -> dict[Rule, list[Case]]:
    found: dict[Rule, list[Case]] = defaultdict(list)
    for module in [module for module in book() if hasattr(module, "cases")]:
        for case in module.cases():
            if case.function in RULES:
                found[RULES[case.function]].append(case)
    return found


def _described(case: Any) -> str:
    return f"{[getattr(x, 'shape', x) for x in case.args]} {case.kwargs}"


def programs() -> Results:
    """Every recorded program and every case of the corpus that the rule book differentiates."""
    results = Results()
    for program in PROGRAMS:
        if program.raises is None:
            positions = tuple(k for k, x in enumerate(program.inputs) if reference.is_differentiable(x)) or (0,)
            run = program.under(bridge.numpy)
            results.compare(str(program), str(program), lambda: of_program(run, program.inputs, positions))  # noqa: B023
    for case in GRADIENT + KINKS:
        run = function(case, bridge.numpy)
        results.compare(name(case), name(case), lambda: of_program(run, (argument(case),), (0,)))  # noqa: B023
    return results


if __name__ == "__main__":
    np.random.seed(0)
    runs = {"cases": cases, "programs": programs, "forward": forward}
    runs |= {"all-cases": lambda: cases(everything=True), "all-forward": lambda: forward(everything=True)}
    print(runs[sys.argv[1]]().report())
