"""docs/adding_an_engine.md: its code prints what it says."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from bridge.engines import registry

TEXT = (Path(__file__).parents[2] / "docs" / "adding_an_engine.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
EXAMPLES = [(code, output) for (kind, code), (after, output) in pairwise(BLOCKS) if (kind, after) == ("python", "text")]
ENGINE = next(code for _, code in BLOCKS if code.startswith("# differences.py"))


@pytest.fixture
def engine_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's module can be imported, and the engine that it registers is there for one test."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_HOMES", dict(registry._HOMES))
    (tmp_path / "differences.py").write_text(ENGINE, encoding="utf-8")
    yield
    sys.modules.pop("differences", None)


@pytest.mark.usefixtures("engine_of_the_page")
@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_example_prints_what_the_page_says(code: str, output: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "adding_an_engine.md", "exec"), {"__name__": "adding_an_engine"})
    assert printed.getvalue() == output


def test_every_output_has_its_example() -> None:
    assert len(EXAMPLES) == TEXT.count("```text") > 0
