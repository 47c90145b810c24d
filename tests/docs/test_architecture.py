"""docs/architecture.md: its steps of a write and of a compiled call are those that are taken."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import in_c

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "bridge"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
PROGRAM = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)[0]


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


def test_the_compiled_path_is_what_happens() -> None:
    pytest.importorskip("jax")
    steps = re.findall(r"^\| \d+ \| `([\w/]+\.py)` `([\w.]+)` \|", TEXT, re.MULTILINE)
    assert len(steps) > 5 and len({file for file, _ in steps}) == 5
    calls = iter(taken("xla"))
    missing = [step for step in steps if not any(map(is_step(step), calls))]
    assert not missing, "not taken, or in another order"
