"""The examples of docs/random.md print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "random.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") > 0


@pytest.mark.ci
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str) -> None:
    if 'engine="xla"' in code:
        pytest.importorskip("jax")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "random.md", "exec"), {"__name__": "page"})
    assert printed.getvalue() == output


def test_every_function_is_in_the_table() -> None:
    from bridge import random

    missing = [name for name in random.__all__ if f"`{name}" not in TEXT]
    assert not missing
