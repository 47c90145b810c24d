"""The examples of docs/julia.md print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "julia.md").read_text(encoding="utf-8")
PACKAGES = ("Flux",)
"""What examples load that a Julia project need not have."""
EXAMPLES = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", TEXT, re.DOTALL)


def test_every_example_has_its_output() -> None:
    assert len(EXAMPLES) == TEXT.count("```python") > 0


@pytest.mark.julia
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str) -> None:
    from bridge.julia.session import session

    for package in PACKAGES:
        if f"using {package}" in code and not session().has(package):
            pytest.skip(f"{package} is not in the Julia project")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "julia.md", "exec"), {"__name__": "page"})
    assert printed.getvalue() == output


@pytest.mark.parametrize("page", ["julia.md", "julia_buffers.md", "julia_rules.md"])
def test_links_lead_to_files(page: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (DOCS / page).read_text(encoding="utf-8")):
        assert (DOCS / target).exists(), target
