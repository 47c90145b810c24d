"""`python -m benchmarks.in_c` prints each program, and does not pass over a gradient that is another."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import in_c as benchmark
from bridge import in_c


def test_programs_are_printed(capsys: Any) -> None:
    assert benchmark.main(20) == int(not in_c.AVAILABLE)
    shown = capsys.readouterr().out
    assert all(program.__name__ in shown for program in benchmark.PROGRAMS)


def test_a_wrong_replay_is_told(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(benchmark, "replayed", lambda steps: lambda: np.zeros(64))
    assert benchmark.main(20) == 1
