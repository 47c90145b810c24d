"""The examples of docs/transforms.md print what the page says, one after the other."""

from __future__ import annotations

from pathlib import Path

from tests.helpers.pages import examples, printed


def test_the_examples_print_what_the_page_says(tmp_path: Path) -> None:
    blocks = examples("docs/transforms.md")
    assert len(blocks) >= 4
    code = "\n".join(code for code, _ in blocks)
    assert printed(code, tmp_path) == "".join(expected for _, expected in blocks)
