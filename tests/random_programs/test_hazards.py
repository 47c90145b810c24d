"""Random programs at which gradients go wrong in silence: right, or refused by name.

`python -m tests.random_programs COUNT --first SEED` runs as many as one likes, under any engine.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from typing import Any

import numpy as np
import pytest

from bridge import in_c
from bridge.rewind.writes import Write
from tests.random_programs.hazards import HAZARDS
from tests.random_programs.hosts import HOSTS
from tests.random_programs.program import Line, RandomProgram
from tests.random_programs.reduction import smallest
from tests.random_programs.verdict import FAILURES, REFUSED, RIGHT, UNFIT, UNNAMED, judged
from tests.random_programs.writing import STATEMENTS, program_of, programs

EVERYTHING = (*STATEMENTS, *HAZARDS, *HOSTS)


def program(*lines: str, result: str = "np.sum(x * x)", dtype: Any = np.float64) -> RandomProgram:
    x = np.array([0.5, -0.25, 1.25, 0.75], dtype)
    return RandomProgram((x,), ("{}",), [Line(line) for line in lines], result)


@pytest.mark.ci
def test_random_programs(request: pytest.FixtureRequest) -> None:
    ended, count = Counter[str](), request.config.getoption("--programs")
    for one in programs(count, statements=EVERYTHING):
        verdict = judged(one, "native")
        ended[verdict.kind] += 1
        assert verdict.kind not in FAILURES, f"{verdict.kind}: {verdict.detail}\n{one!r}"
    print(dict(ended))
    assert ended[RIGHT] > 0.4 * count


def test_a_seed_gives_the_same_program_in_every_run() -> None:
    assert program_of(7, EVERYTHING).source == program_of(7, EVERYTHING).source
    assert program_of(7, EVERYTHING).source != program_of(8, EVERYTHING).source


def test_verdicts() -> None:
    assert judged(program("x *= 2.0"), "native").kind == RIGHT
    assert judged(program("x *= 2.0", dtype=np.float32), "native").kind == RIGHT
    assert judged(program("x[9] = 2.0"), "native").kind == UNFIT
    assert judged(program("x = np.floor(1e5 * x)"), "native").kind == UNFIT
    assert judged(program("c = np.zeros(4, dtype=int)", "c[...] = x"), "native").kind == REFUSED


@pytest.mark.ci
def test_a_wrong_rewind_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        # What was overwritten stays so on the way back.
        patch.setattr(Write, "undo", lambda self: None)
        wrong = next(one for one in programs(100, statements=EVERYTHING) if judged(one, "native").what == "gradient")
        small = smallest(wrong, lambda one: judged(one, "native").what == "gradient")
    assert len(small.lines) < len(wrong.lines) / 2
    assert judged(small, "native").kind == RIGHT


def test_an_error_without_a_name_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any) -> None:
        raise KeyError("lost")

    monkeypatch.setattr(Write, "pull", fails)
    with in_c.pure():
        verdict = judged(program("x[1:] = x[:-1]"), "native")
    assert verdict.kind == UNNAMED
    assert verdict.what.startswith("KeyError in test_hazards.py")


def test_refusals_of_a_kind_are_counted_together() -> None:
    pool = "with ThreadPoolExecutor(1) as pool:\n    y = pool.submit(lambda: np.sum(x)).result()"
    verdict = judged(program(pool, "x *= y"), "native")
    assert verdict.kind == REFUSED
    assert verdict.what == "ContextError: a Buffer of a context of thread ... is used in thread ..."


@pytest.mark.ci
def test_the_command_goes_on_from_a_seed() -> None:
    command = [sys.executable, "-m", "tests.random_programs", "20", "--first", "1000", "--jobs", "1"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "seeds 1000 to 1049: native" in run.stdout, run.stderr
    assert "a second, seeds to 1050" in run.stdout
