"""`python -m benchmarks.bounded` prints each amount, and does not pass over a gradient that is another."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import bounded


def test_each_amount_is_measured(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr(bounded, "SIZE", 20_000)
    first, second = (bounded.measured(amount).split() for amount in ("", "1MB"))
    assert first[-1] == second[-1] and len(first) == 4


@pytest.mark.parametrize(("sums", "status"), [(("a", "a", "a"), 0), (("a", "a", "b"), 1)])
def test_another_gradient_is_told(sums: Any, status: int, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    said = iter(sums)
    run = lambda *args, **options: SimpleNamespace(stdout=f"0.10 0.20 300 {next(said)}\n")  # noqa: E731
    monkeypatch.setattr(subprocess, "run", run)
    assert bounded.main() == status
    assert "512MB" in capsys.readouterr().out
