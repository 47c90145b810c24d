"""The README's examples print what it says, and its commands are the ones that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed, text_of

TEXT = text_of("README.md")
EXAMPLES = examples("README.md")


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") > 0


@pytest.mark.ci
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_readme_says(code: str, output: str, tmp_path: Path) -> None:
    assert printed(code, tmp_path, "readme") == output


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TEXT):
        assert (ROOT / target).exists(), target
