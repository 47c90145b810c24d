"""Many random programs as one XLA program, so that what it costs to compile at all is paid once for all of them.

Each is traced as it is alone, by the class that `engine="xla"` traces with, and has results and notes of its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import jax
import numpy as np

from bridge.xla.calling import noted
from bridge.xla.interrupts import quiet
from bridge.xla.lowering.lower import x64
from bridge.xla.signature import call_of
from bridge.xla.traced import Program, given
from tests.helpers import finite_differences as reference
from tests.random_programs.program import RandomProgram
from tests.random_programs.verdict import DIFFERS, FAILURES, Answer, Verdict, differentiated, forgotten, judged


def judged_together(programs: Sequence[RandomProgram]) -> list[Verdict]:
    """How each program ends under XLA; one of which the common program says nothing, or nothing good, runs alone."""
    try:
        found = answers(programs)
    except Exception:
        # Nobody knows whose fault it is.
        if len(programs) == 1:
            return [judged(programs[0], "xla")]
        half = len(programs) // 2
        return judged_together(programs[:half]) + judged_together(programs[half:])
    return [_judged(program, answer) for program, answer in zip(programs, found, strict=True)]


def answers(programs: Sequence[RandomProgram]) -> list[Answer | None]:
    """What each program gives, or raises while it is traced; None where it noted something and must run once more."""
    with ExitStack() as stack:
        for program in programs:
            stack.enter_context(forgotten(program))
        stack.enter_context(warnings.catch_warnings())
        stack.enter_context(np.errstate(all="ignore"))
        warnings.simplefilter("ignore")
        parts = [_Part(program) for program in programs]
        with x64():
            values = [part.values for part in parts]
            compiled = jax.jit(lambda *of_all: _traced(parts, *of_all)).lower(quiet(), values).compile()
            results = compiled(quiet(), values)
        return [part.answer(result) for part, result in zip(parts, results, strict=True)]


class _Part:
    """A program among others: what goes in, how it is traced, what comes out."""

    def __init__(self, program: RandomProgram) -> None:
        self.inputs = reference.replicas(program.inputs)
        compiled = differentiated(program, self.inputs, "xla")
        signature, self.values, _ = call_of(self.inputs, {})
        self.traced = Program(compiled.function, signature, compiled.settings, mends=False)
        self.error: Exception | None = None

    def of(self, never: Any, values: list[Any]) -> Any:
        try:
            with given(list(self.inputs)):
                return self.traced(never, values)
        except Exception as error:
            # It is this program's end, and nothing to the others.
            self.error = error
            return None

    def answer(self, result: Any) -> Answer | None:
        if self.error is not None:
            return _raising(self.error)
        outputs, notes = result
        if noted(notes) is not None:
            return None
        value, gradient = self.traced.handed_out(outputs, plain=True)
        return lambda program: (value, gradient, self.inputs)


def _traced(parts: list[_Part], never: Any, values: list[Any]) -> list[Any]:
    return [part.of(never, own) for part, own in zip(parts, values, strict=True)]


def _raising(error: Exception) -> Callable[[RandomProgram], Any]:
    def answer(program: RandomProgram) -> Any:
        raise error

    return answer


def _judged(program: RandomProgram, answer: Answer | None) -> Verdict:
    together = judged(program, "xla", answer)
    if together.kind not in FAILURES or answer is None:
        return together
    alone = judged(program, "xla")
    if alone.kind in FAILURES:
        return alone
    return Verdict(DIFFERS, f"only among other programs, {together.what}", together.detail)
