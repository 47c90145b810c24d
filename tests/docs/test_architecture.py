"""docs/architecture.md: its code prints what it says, and its steps of a write are those that are taken."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import in_c
from bridge.engines import registry

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bridge"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)
EXAMPLES = [(code, output) for (kind, code), (after, output) in pairwise(BLOCKS) if (kind, after) == ("python", "text")]
ENGINE = next(code for _, code in BLOCKS if code.startswith("# differences.py"))
PROGRAM = next(code for kind, code in BLOCKS if kind == "python")


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
        exec(compile(code, "architecture.md", "exec"), {"__name__": "architecture"})
    assert printed.getvalue() == output


def test_every_output_has_its_example() -> None:
    assert len(EXAMPLES) == TEXT.count("```text") > 0


def taken(engine: str) -> list[tuple[str, str]]:
    """The functions of the package that run in a gradient of the page's program: file and name, in their order."""
    scope: dict[str, Any] = {"np": np}
    exec(compile(PROGRAM, "architecture.md", "exec"), scope)
    gradient = bridge.grad(scope["program"], argnums=(0, 1), engine=engine)
    calls: list[tuple[str, str]] = []
    files: dict[str, str | None] = {}

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            name = frame.f_code.co_filename
            if name not in files:
                path = Path(name)
                files[name] = path.relative_to(PACKAGE).as_posix() if path.is_relative_to(PACKAGE) else None
            if files[name] is not None:
                calls.append((str(files[name]), frame.f_code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with in_c.pure():
            gradient(np.arange(4.0), np.ones(2))
    finally:
        sys.setprofile(before)
    return calls


def is_step(step: tuple[str, str]) -> Callable[[tuple[str, str]], bool]:
    file, name = step
    return lambda call: call[0] == file and f"{call[1]}.".startswith(f"{name}.")


def test_the_life_of_a_write_is_what_happens() -> None:
    steps = re.findall(r"^\| [a-z]* ?\| `([\w/]+\.py)` `([\w.]+)` \|", TEXT, re.MULTILINE)
    assert len(steps) > 15
    calls = iter(taken("native"))
    missing = [step for step in steps if not any(map(is_step(step), calls))]
    assert not missing, "not taken, or in another order"


def test_the_same_write_under_xla_is_what_happens() -> None:
    pytest.importorskip("jax")
    paragraph = TEXT.partition('The same write under `engine="xla"`')[2].partition("\n\n")[0]
    steps = re.findall(r"`([\w/]+\.py)`\s+`([\w.]+)`", paragraph)
    assert len(steps) > 2
    calls = set(taken("xla"))
    assert [step for step in steps if not any(map(is_step(step), calls))] == []
