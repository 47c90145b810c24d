"""The example of docs/solvers.md prints what the page says, and the links of the pages about SciPy lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed, text_of

pytest.importorskip("scipy", reason="scipy is needed: python -m pip install -e '.[test]'")


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    ((code, expected),) = examples("docs/solvers.md")
    assert printed(code, tmp_path) == expected


@pytest.mark.parametrize("page", ["docs/solvers.md", "docs/scipy.md", "docs/libraries.md"])
def test_links_lead_to_files(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text_of(page)):
        assert (ROOT / "docs" / target).exists(), target
