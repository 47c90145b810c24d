"""The examples of docs/semantics.md print what the page says, and its links lead somewhere."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "semantics.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") > 0


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str) -> None:
    if 'engine="xla"' in code:
        pytest.importorskip("jax", reason='needs JAX: pip install "mutation-bridge[jax]"')
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "semantics.md", "exec"), {"__name__": "page"})
    assert printed.getvalue() == output


def test_links_and_tests_exist() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / "docs" / target).exists(), target
    named = re.findall(r"`(tests/[\w/]+\.py)`", TEXT)
    assert len(named) >= 6
    for target in named:
        assert (ROOT / target).exists(), target
