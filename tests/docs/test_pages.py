"""Pages: the files that they name are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FOLDERS = ("bridge", "rules", "julia", "tests", "docs", "examples", "benchmarks")
FILES = [path.relative_to(ROOT) for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")]
FILES += [path.relative_to(ROOT) for path in ROOT.glob("*.*")]
EXAMPLES = {"path/to/file.py", "test_heat.py", "model.jl", "out.json", "activations.py", "activations.jl"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    """Named by their path from the top, or by the end of it."""
    named = set(re.findall(r"`([\w./*-]+\.(?:py|jl|json|toml))(?::\w+)?`", page.read_text(encoding="utf-8")))
    assert [name for name in sorted(named - EXAMPLES) if not any(path.match(name) for path in FILES)] == []
