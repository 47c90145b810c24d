"""Exponents: of the points that were right, beside what does not grow."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.published.runs import Result
from benchmarks.scaling import __main__ as scaling
from benchmarks.scaling.catalogue import load, named


def planted(monkeypatch: pytest.MonkeyPatch, seconds: Any, verdict: str = "right") -> None:
    """Runs that take a time by the numbers of their point."""

    def run(job: dict[str, Any], timeout: float) -> Result:
        _, steps, size = (part.rpartition("=")[2] for part in job["name"].split("/"))
        took = seconds(int(steps), int(size))
        facts = {"processor_seconds": took, "first_processor": took + 1.0}
        return Result(job["name"], job["engine"], verdict, facts=facts)

    monkeypatch.setattr(scaling, "run", run)


def test_time_that_grows_with_steps_and_not_with_the_array_passes(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted(monkeypatch, lambda steps, size: 1e-6 * steps + 1e-9 * size)
    file = tmp_path / "table.txt"
    assert scaling.main(["--only", "sweep", "writes", "--output", str(file)]) == 0
    assert "falls short" not in capsys.readouterr().out and file.read_text().count("pass") == 3


def test_time_that_grows_with_the_array_falls_short(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, lambda steps, size: 1e-9 * steps * size)
    assert scaling.main(["--only", "writes"]) == 1
    row = scaling.Row("writes", "time", (10, 100, 1000), (1.0, 2.0, 4.0), 0.1)
    assert np.isclose(row.exponent, math.log10(2.0)) and row.verdict == "falls short"


def test_points_that_are_not_right_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, lambda steps, size: 1e-6 * steps, verdict="timeout")
    assert scaling.main(["--only", "stencil"]) == 1
    assert scaling.Row("stencil", "time", (1, 2, 4), (1.0, math.nan, 4.0), 1.0).verdict == "not known"


@pytest.mark.parametrize("name", [*scaling.OF_STEPS, *scaling.OF_SIZE])
def test_programs_run(name: str) -> None:
    program = load(Path(), named(name, 4, 40), "", False)
    before = program.arguments["u"].copy()
    results = program.results(tuple(program.arguments.values()))
    assert all(np.all(np.isfinite(each)) for each in results)
    assert np.array_equal(program.arguments["u"], before)
