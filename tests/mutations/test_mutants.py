"""Mutants: what is changed, and that the list of those that change nothing is about code that is there."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.mutations.__main__ import explained
from tests.mutations.mutants import codes, mutants_of

ROOT = Path(__file__).parents[2]

SOURCE = '''
LIMIT = 3

def f(x, k=1):
    """A text, 1."""
    scale = 2.0
    def inner():
        return scale if x else None
    if x < k and not inner():
        raise ValueError(f"{x + 1}")
    return [y * scale for y in x if y]

def cases():
    yield 1 + 1
'''

CHANGES = {
    "2.0 → 3.0",
    "return scale if x else None → return None",
    "if x → if not (x)",
    "if x < k and (not inner()) → if not (x < k and (not inner()))",
    "x < k and (not inner()) → x < k or not inner()",
    "x < k → x <= k",
    "x < k → x >= k",
    "not inner() → inner()",
    "raise ValueError(f'{x + 1}') → left out",
    "return [y * scale for y in x if y] → return None",
    "y * scale → y / scale",
    "if y → if not (y)",
}


def test_what_is_changed() -> None:
    assert {mutant.change for mutant in mutants_of("file.py", SOURCE)} == CHANGES


def test_each_is_another_code_with_the_same_variables() -> None:
    before = codes(SOURCE, "file.py")
    for mutant in mutants_of("file.py", SOURCE):
        after = codes(SOURCE, "file.py", mutant.number)
        assert [name for name, code in before.items() if after.get(name) != code], mutant
        assert all(code.co_freevars == before[name].co_freevars for name, code in after.items()), mutant


@pytest.mark.ci
def test_those_that_are_told_to_be_equivalent_are_there() -> None:
    """Once for each line and change: where a line changes, somebody thinks again."""
    found: Counter[tuple[str, str, str]] = Counter()
    for file in {file for file, _, _ in explained()}:
        for mutant in mutants_of(file, (ROOT / file).read_text(encoding="utf-8")):
            found[mutant.file, mutant.source, mutant.change] += 1
    assert [one for one in sorted(explained()) if not found[one]] == []


@pytest.mark.ci
@pytest.mark.skipif(sys.platform != "linux", reason="mutants run in forks")
def test_a_mutant_is_killed() -> None:
    command = ["-m", "tests.mutations", "bridge/rewind/fingerprint.py", "bridge/rewind/closures.py", "--sample", "3"]
    found = subprocess.run(
        [sys.executable, *command, "--tests", "tests/rewind/test_closures.py"], cwd=ROOT, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr
    rows = {row.split()[0]: row.split()[1:] for row in found.stdout.splitlines() if row.startswith("bridge/rewind")}
    assert int(rows["bridge/rewind/closures.py"][2]) > 0
    assert "on a line that no test runs: bridge/rewind/fingerprint.py" in found.stdout
