"""One wrong rule in one random program, such that the program's gradient shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import bridge
from bridge.extend import RULES
from bridge.rewind.context import Context
from bridge.rewind.log import Operation
from tests.proof.planted import MISTAKES, planted
from tests.random_programs import RandomProgram

# A mistake counts as one that a gradient shows from this relative change on.
VISIBLE = {np.dtype(np.float64): 1e-5, np.dtype(np.float32): 1e-2}
ATTEMPTS = 12


@dataclass(frozen=True)
class Plant:
    """A function whose rule is wrong, how it is wrong, and the lines on which the program calls it."""

    function: Any
    name: str
    mistake: str
    lines: frozenset[str]


def plant_for(program: RandomProgram, rng: np.random.Generator) -> Plant | None:
    """A wrong rule that changes the program's gradient; None where none of those tried does."""
    calls = _calls(program)
    honest = _gradient(program)
    for _ in range(ATTEMPTS if calls else 0):
        function = list(calls)[int(rng.integers(len(calls)))]
        mistake = list(MISTAKES)[int(rng.integers(len(MISTAKES)))]
        with planted(function, MISTAKES[mistake]) as rule:
            changed = _gradient(program)
        if _shows(honest, changed, program.inputs[0].dtype):
            return Plant(function, rule.name, mistake, frozenset(calls[function]))
    return None


def _calls(program: RandomProgram) -> dict[Any, set[str]]:
    """The functions of the rule book that are entries of the program's log, with their lines."""
    found: dict[Any, set[str]] = {}
    with Context() as context:
        program.function(np)(*(context.buffer(x) for x in program.inputs))
    for entry in context.log:
        if isinstance(entry, Operation) and entry.call.rule.function in RULES and not getattr(entry, "keeps", False):
            found.setdefault(entry.call.rule.function, set()).add(str(entry.where))
    return found


def _gradient(program: RandomProgram) -> Any:
    argnums = tuple(range(len(program.inputs)))
    return bridge.grad(program.function(np), argnums=argnums, engine="native")(*program.inputs)


def _shows(honest: Any, changed: Any, dtype: np.dtype[Any]) -> bool:
    size = max(float(np.max(np.abs(g), initial=0.0)) for g in honest)
    gap = max(float(np.max(np.abs(a - b), initial=0.0)) for a, b in zip(honest, changed, strict=True))
    return gap > VISIBLE[dtype] * max(size, 1e-3)
