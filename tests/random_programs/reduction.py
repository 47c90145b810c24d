"""Making a failing program small: lines are left out as long as the failure stays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tests.helpers.finite_differences import replicas
from tests.random_programs.program import RandomProgram


def smallest(program: RandomProgram, fails: Callable[[RandomProgram], bool]) -> RandomProgram:
    """The program without the lines and the terms of its result that the failure does not need."""
    shorter = True
    while shorter:
        shorter = False
        for candidate in _shortened(program):
            if _runs(candidate) and fails(candidate):
                program, shorter = candidate, True
                break
    return program


def _shortened(program: RandomProgram) -> list[RandomProgram]:
    lines, terms = program.lines, program.result.split(" + np.sum(")
    results = [terms[0], *("np.sum(" + term for term in terms[1:])]
    candidates = [replace(program, lines=lines[:k] + lines[k + 1 :]) for k in reversed(range(len(lines)))]
    if len(results) > 1:
        candidates += [replace(program, result=" + ".join(results[:k] + results[k + 1 :])) for k in range(len(results))]
    return candidates


def _runs(program: RandomProgram) -> bool:
    try:
        value = program.plain(*replicas(program.inputs))
    except (NameError, ValueError, IndexError, KeyError, AttributeError, TypeError, SyntaxError):
        return False
    return bool(np.isfinite(value))
