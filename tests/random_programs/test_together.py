"""Random programs that are compiled as one: each has its own verdict, and a rewind that is wrong is found."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from bridge.rewind.memory import OuterMemory

pytest.importorskip("jax", reason="JAX is not installed: random programs were not compiled (pip install jax)")

import jax

from tests.random_programs import together
from tests.random_programs.program import RandomProgram
from tests.random_programs.test_hazards import EVERYTHING, program
from tests.random_programs.together import judged_together
from tests.random_programs.verdict import DIFFERS, REFUSED, RIGHT, UNFIT, Verdict, judged
from tests.random_programs.writing import programs


def kinds(verdicts: list[Verdict]) -> list[str]:
    return [verdict.kind for verdict in verdicts]


@pytest.mark.ci
def test_programs_end_together_as_they_end_alone() -> None:
    some = list(programs(5, first=500_000, statements=EVERYTHING))
    assert kinds(judged_together(some)) == [judged(one, "xla").kind for one in some]


def test_one_that_is_refused_or_unfit_says_nothing_of_the_others() -> None:
    some = [
        program("x *= 2.0"),
        program("x[...] = np.unique(x)"),
        program("x = np.floor(1e5 * x)"),
        program("x *= np.cos(x)", dtype=np.float32),
        program("x[9] = 2.0"),
    ]
    verdicts = judged_together(some)
    assert kinds(verdicts) == [RIGHT, REFUSED, UNFIT, RIGHT, UNFIT]
    assert verdicts[1].what == judged(some[1], "xla").what


def test_one_that_notes_something_while_it_runs_runs_once_more_alone() -> None:
    """0 * log(0): strong zeros are another program's."""
    mended = program(
        "y = x * 0.0", "y[1:] = x[1:]", "z = np.where(y == 0.0, 0.5, np.log(np.abs(y)))", result="np.sum(z)"
    )
    assert together.answers([mended])[0] is None
    assert kinds(judged_together([mended, program("x *= 2.0")])) == [RIGHT, RIGHT]


def test_a_wrong_rewind_is_found_in_the_program_that_has_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def swap(self: Any, array: Any, key: Any, saved: Any) -> Any:
        # As it once was: what `...` gives of an array without axes is a view, and no copy.
        current = array[key]
        current = current.copy() if current.shape else current
        array[key] = saved
        return current

    monkeypatch.setattr(OuterMemory, "swap", swap)
    wrong = program("o = np.array(x[0])", "np.tanh(o, out=o)", result="o * np.cos(o)")
    verdicts = judged_together([program("x *= 2.0"), wrong, program("x[1:] = x[:-1]")])
    assert kinds(verdicts) == [RIGHT, DIFFERS, RIGHT]
    assert verdicts[1].what == "gradient"


def test_what_the_common_program_alone_gets_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def moved(some: list[RandomProgram]) -> list[Any]:
        return [lambda one: (3.0, [np.zeros(4)], one.inputs) for _ in some]

    monkeypatch.setattr(together, "answers", moved)
    assert [(one.kind, one.what) for one in judged_together([program("x *= 2.0")])] == [
        (DIFFERS, "only among other programs, value")
    ]


def test_programs_that_xla_does_not_take_together_are_asked_in_halves(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, asked = together.answers, []

    def failing(some: list[RandomProgram]) -> list[Any]:
        asked.append(len(some))
        if len(some) > 1:
            raise jax.errors.JaxRuntimeError("too much")
        return answers(some)

    monkeypatch.setattr(together, "answers", failing)
    assert kinds(judged_together([program("x *= 2.0")] * 3)) == [RIGHT] * 3
    assert asked == [3, 1, 2, 1, 1]


@pytest.mark.ci
def test_the_command_compiles_programs_together() -> None:
    command = [sys.executable, "-m", "tests.random_programs", "5", "--first", "500000", "--jobs", "1"]
    command += ["--engines", "native", "xla", "--batch", "25"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "seeds 500000 to 500049: native" in run.stdout and "; xla {" in run.stdout, run.stderr
    assert "a second, seeds to 500050" in run.stdout
