"""The page of libraries is what the tables say."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.cli import libraries
from bridge.cli.commands import main

pytest.importorskip("scipy", reason="scipy is needed: python -m pip install -e '.[test]'")

PAGE = Path(__file__).parents[2] / "docs" / "libraries.md"


def test_page_is_up_to_date() -> None:
    assert libraries.complaint(PAGE) is None


def test_known_entries_are_there() -> None:
    found = libraries.entries()
    assert found["scipy.signal.convolve"] == "rules/convolutions.py"
    assert found["scipy.interpolate.BSpline()"] == "rules/bsplines.py"
    assert found["scipy.special.logsumexp"].startswith("rules/")
    assert found["math.sin"] == "rules/standard_math.py"
    assert not any("bridge" in name for name in found)


def test_stale_page_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stale = tmp_path / "libraries.md"
    assert main(["coverage", "--libraries", "--check", str(stale)]) == 1
    assert "out of date; run python -m bridge coverage --libraries --write" in capsys.readouterr().err
    assert main(["coverage", "--libraries", "--write", str(stale)]) == 0
    assert main(["coverage", "--libraries", "--check", str(stale)]) == 0
    stale.write_text(stale.read_text(encoding="utf-8").replace(" asinh, ", " ", 1), encoding="utf-8")
    assert "cmath.asinh: not there -> rules/standard_math.py" in str(libraries.complaint(stale))


def test_page_of_other_versions_is_compared_where_both_know_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "libraries.md"
    page.write_text(libraries.page().replace(" asinh, ", " ", 1), encoding="utf-8")
    monkeypatch.setattr(libraries, "_versions", lambda: "SciPy 9.9 and Python 3.99")
    assert libraries.complaint(page) is None
