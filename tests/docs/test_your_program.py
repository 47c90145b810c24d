"""The examples of docs/your_program.md print what the page says, and its links lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.rulebook import book
from tests.helpers.pages import ROOT, examples, printed, printed_alone, text_of

PAGE = "docs/your_program.md"
EXAMPLES = examples(PAGE)


@pytest.fixture
def stand_in_of_the_page() -> Iterator[None]:
    """What the example enters into the book is there for one test."""
    distance = pytest.importorskip("scipy.spatial.distance", reason="scipy is needed: pip install -e '.[test]'")
    yield
    book.STAND_INS.pop(distance.jensenshannon, None)
    for forget in book.ON_ENTRY:
        forget()


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == text_of(PAGE).count("```python") > 0


@pytest.mark.ci
@pytest.mark.usefixtures("stand_in_of_the_page")
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str, tmp_path: Path) -> None:
    if "numba" in code:
        pytest.importorskip("numba", reason="numba is needed: pip install -e '.[test]'")
    said = printed_alone(code, tmp_path) if "explain_source" in code else printed(code, tmp_path)
    assert said == output


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", text_of(PAGE)):
        assert (ROOT / "docs" / target).exists(), target
