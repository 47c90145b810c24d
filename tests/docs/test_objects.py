"""The example of docs/objects.md prints what the page says."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.pages import examples, printed


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    ((code, expected),) = examples("docs/objects.md")
    assert printed(code, tmp_path) == expected
