"""The guard that counts instructions: it counts the same each time, and says what has grown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from benchmarks import guard
from benchmarks.guard import Counts
from benchmarks.programs import PROGRAMS


def test_counts_are_the_same_each_time() -> None:
    def program() -> float:
        return float(sum(k * k for k in range(100)))

    def longer() -> float:
        return float(sum(k * k for k in range(200)))

    assert guard.instructions(program) == guard.instructions(program) > 100
    assert guard.instructions(longer) > 1.5 * guard.instructions(program)


def test_counts_of_a_program_with_steps() -> None:
    def make(steps: int) -> tuple[np.ndarray, int]:
        return guard.X, steps

    found = guard.of_steps(PROGRAMS["heat"], 0, 5, make)
    assert found == guard.of_steps(PROGRAMS["heat"], 0, 5, make)
    assert 10 < found.operation < found.call


@pytest.mark.parametrize(
    ("before", "grown"), [([100.0, 10.0], False), ([96.0, 10.0], False), ([95.0, 10.0], True), ([100.0, 9.0], True)]
)
def test_what_has_grown(before: list[float], grown: bool) -> None:
    table, found = guard.compared({"heat": Counts(100.0, 10.0)}, {"heat": before})
    assert found is grown
    console = Console(width=120)
    with console.capture() as capture:
        console.print(table)
    assert ("%" in capture.get()) == (before != [100.0, 10.0])


def test_what_is_compared_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(guard, "FILE", tmp_path / "counts.json")
    count = [100.0]
    monkeypatch.setattr(guard, "CASES", {"one": lambda: Counts(count[0], 0.0)})
    assert guard.main([]) == 0 and "nothing is committed" in capsys.readouterr().out
    assert guard.main(["--update"]) == 0 and guard.main([]) == 0
    count[0] = 110.0
    assert guard.main([]) == 1
    said = capsys.readouterr().out
    assert "+10.0%" in said and "grown by more than 5%" in said
