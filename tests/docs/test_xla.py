"""The examples of docs/xla.md print what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed, text_of

pytest.importorskip("jax")

DOCS = ROOT / "docs"
TEXT = text_of("docs/xla.md")
EXAMPLES = examples("docs/xla.md")


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") > 0


@pytest.mark.ci
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str, tmp_path: Path) -> None:
    assert printed(code, tmp_path) == output


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (DOCS / target).exists(), target
