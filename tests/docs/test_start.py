"""The pages that people read first: their blocks print what they say, and each page of the site has its place in it."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from tests.helpers.pages import ROOT, examples, printed_alone, text_of

PEERS = ("autograd", "jax", "torch", "scipy")
BLOCKS = [
    pytest.param(*example, id=f"{page} {k}")
    for page in ("index", "migration", "performance")
    for k, example in enumerate(examples(f"docs/{page}.md"))
]


@pytest.mark.ci
@pytest.mark.parametrize(("code", "output"), BLOCKS)
def test_blocks_print_what_they_say(code: str, output: str, tmp_path: Path) -> None:
    needed = set(re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE)) | ({"jax"} if '"xla"' in code else set())
    missing = [peer for peer in PEERS if peer in needed and importlib.util.find_spec(peer) is None]
    if missing:
        pytest.skip(f"the block uses {missing[0]}, which is not installed: pip install {missing[0]}")
    assert printed_alone(code, tmp_path) == output


def test_there_are_blocks_of_both_sides() -> None:
    assert len(BLOCKS) == 10
    assert sum("import bridge" in block.values[0] for block in BLOCKS) == 7


def test_each_page_has_its_place_in_the_site() -> None:
    nav = text_of("mkdocs.yml").partition("\nnav:\n")[2]
    placed = re.findall(r": ([\w.]+\.md)$", nav, re.MULTILINE)
    assert sorted(placed) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))
