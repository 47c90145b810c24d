"""The examples of docs/loops.md print what the page says, and its links lead somewhere."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed_alone, text_of

PAGE = "docs/loops.md"
EXAMPLES = examples(PAGE)


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == text_of(PAGE).count("```python") > 0


@pytest.mark.ci
@pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang")
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str, tmp_path: Path) -> None:
    assert printed_alone(code, tmp_path) == output


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text_of(PAGE)):
        assert (ROOT / "docs" / target.partition("#")[0]).exists(), target
