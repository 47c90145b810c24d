"""The benchmark of reading runs, and compares what it says that it compares."""

from __future__ import annotations

import numpy as np
import pytest

import bridge
from benchmarks import reading


def test_every_program_has_a_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"helpers": (reading.helpers, (np.linspace(0.0, 1.0, 5), 4)), "nothing": reading.WORKLOADS["nothing"]}
    monkeypatch.setattr(reading, "WORKLOADS", small)
    assert reading.main(["--repeats", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["program", *small]


def test_the_unread_program_has_tracked_arrays_in_its_helpers_too() -> None:
    unread = reading.with_tracked_arrays(reading.helpers)
    assert unread.__globals__["_derivative"].__globals__["np"] is bridge.numpy
    assert reading.helpers.__globals__["np"] is np
