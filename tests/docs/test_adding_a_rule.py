"""The file that docs/adding_a_rule.md writes, block by block: it prints what the page says, under every engine."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.rulebook.book import RULES
from bridge.rulebook.facts import Facts

pytest.importorskip("jax")

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "adding_a_rule.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", TEXT, re.DOTALL)
JULIA = re.findall(r"```julia\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def page() -> Iterator[dict[str, Any]]:
    """The module that the page writes."""
    module = ModuleType("activations")
    sys.modules["activations"] = module
    yield vars(module)
    del sys.modules["activations"]


def run(page: dict[str, Any], code: str, output: str) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "activations.py", "exec"), page)
    assert printed.getvalue() == output


def test_blocks_without_julia(page: dict[str, Any]) -> None:
    for code, output in BLOCKS:
        if "julia" not in code:
            run(page, code, output)
    assert page["report"].ok
    joined = page["joined"]
    assert isinstance(joined.facts, Facts) and RULES[joined.function] is joined
    parts = [np.array([1.0, 2.0]), np.array([3.0])]
    found = bridge.grad(lambda a, b: np.sum(joined([a, b], 2) ** 2), argnums=(0, 1))(*parts)
    assert [one.tolist() for one in found] == [[4.0, 8.0], [12.0]]


def test_the_entry_has_the_name_of_the_function(page: dict[str, Any]) -> None:
    run(page, *BLOCKS[0])
    assert re.findall(r"@numpy ([\w.]+)\(", JULIA[0]) == [page["squareplus"].name]


@pytest.mark.julia
def test_blocks_with_julia(page: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "activations.jl").write_text(JULIA[0], encoding="utf-8")
    for code, output in BLOCKS:
        run(page, code, output)


def test_links_lead_to_files() -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (DOCS / target).exists(), target
