"""The examples of docs/semantics.md print what the page says, and its links lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed, text_of

TEXT = text_of("docs/semantics.md")
EXAMPLES = examples("docs/semantics.md")


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") > 0


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str, tmp_path: Path) -> None:
    if 'engine="xla"' in code:
        pytest.importorskip("jax", reason='needs JAX: pip install "mutation-bridge[jax]"')
    assert printed(code, tmp_path) == output


def test_links_and_tests_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / "docs" / target).exists(), target
    named = re.findall(r"`(tests/[\w/]+\.py)`", TEXT)
    assert len(named) >= 6
    for target in named:
        assert (ROOT / target).exists(), target
