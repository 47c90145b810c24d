"""The example of docs/profile.md prints what the page says, but for its figures."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed_alone, text_of

PAGE = "docs/profile.md"


def without_figures(text: str) -> list[str]:
    """The lines of a report: the number, where it runs, and the source or the reason."""
    lines = [re.sub(r"^(>?\s*\d+)\s.*(Python|mixed)", r"\1 \2", line).split() for line in text.splitlines()[3:]]
    return [" ".join(line) for line in lines if "outside" not in line]


@pytest.mark.ci
@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang")
def test_example_prints_what_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BRIDGE_LOOPS", raising=False)
    ((code, output),) = examples(PAGE)
    printed = without_figures(printed_alone(code, tmp_path).replace("page.py", "heat.py"))
    assert [line.removeprefix("> ") for line in printed] == [
        line.removeprefix("> ") for line in without_figures(output)
    ]
    stacks = (tmp_path / "heat.folded").read_text(encoding="utf-8")
    assert "forward;heat (page.py:14);smoothness (page.py:20) " in stacks
    assert "backward;smoothness (page.py:20) " in stacks


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text_of(PAGE)):
        assert (ROOT / "docs" / target.partition("#")[0]).exists(), target
