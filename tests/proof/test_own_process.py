"""`check_rule(..., subprocess=True)`: the same findings, and functions that end their process are one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bridge.errors import ArgumentError, CheckError
from bridge.extend import RULES, Case, rule
from bridge.proof.rules.check_rule import check_rule
from tests.proof import rules_that_end

X = np.array([0.7, -1.3, 2.1])


def failures(made: Any, *args: Any) -> str:
    with pytest.raises(CheckError) as caught:
        check_rule(made, *args, subprocess=True)
    assert caught.value.report is not None
    return f"{caught.value.report.codes} {caught.value}"


def test_a_right_rule_gets_the_report_that_it_gets_here() -> None:
    RULES[rules_that_end.doubled] = rules_that_end.RIGHT  # other tests end with what modules have registered
    there, here = check_rule(rules_that_end.RIGHT, X, subprocess=True), check_rule(rules_that_end.RIGHT, X)
    assert there.ok and repr(there) == repr(here)


def test_rules_are_found_by_their_functions_too() -> None:
    assert check_rule(rules_that_end.scaled, subprocess=True).ok
    assert check_rule(np.tanh, np.array([0.5]), subprocess=True).ok


def test_a_wrong_rule() -> None:
    assert failures(rules_that_end.WRONG).startswith("['wrong-gradient']")


def test_a_function_that_reads_at_null() -> None:
    text = failures(rules_that_end.ENDING, X)
    assert text.startswith("['process-ended']")
    assert "reading_at_null ended its process: signal SIGSEGV, in File" in text
    assert "rules_that_end.py" in text and "look what the compiled code reads and writes" in text


def test_a_function_that_leaves() -> None:
    assert "leaving ended its process: exit status 3" in failures(rules_that_end.LEAVING)


def test_what_cannot_be_sent_is_named() -> None:
    local = rule(lambda x: x * 2)(lambda ct, out, x: 2 * ct)
    with pytest.raises(
        ArgumentError, match=r"cannot be checked in a process of its own.*(pickle|local object)"
    ) as caught:
        check_rule(local, X, subprocess=True)
    assert "a name in a module that can be imported" in str(caught.value)
    case = Case(rules_that_end.doubled, (X,), loss=lambda out: np.sum(out))
    with pytest.raises(ArgumentError, match="cannot be checked in a process of its own"):
        check_rule(rules_that_end.RIGHT, case, subprocess=True)


@pytest.mark.ci
def test_a_script_without_a_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "unguarded.py"
    script.write_text(
        "import numpy as np, bridge\n"
        "from tests.proof import rules_that_end\n"
        "print(bridge.check_rule(rules_that_end.RIGHT, np.ones(3), subprocess=True).ok)\n"
    )
    variables = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, str(script)], env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "anew, and did not get through it" in done.stderr and 'if __name__ == "__main__":' in done.stderr
    script.write_text(script.read_text().replace("print(", 'if __name__ == "__main__": print('))
    done = subprocess.run([sys.executable, str(script)], env=variables, capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"
