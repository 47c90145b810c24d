"""The example of docs/objects.md prints what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "objects.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says() -> None:
    ((code, expected),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, flags=re.S)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "objects.md", "exec"), {"__name__": "page"})
    assert printed.getvalue() == expected
