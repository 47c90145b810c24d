"""The first calls of a process: what they need of this package was compiled with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bridge.julia.calls import Entries
from tests.helpers.julia_process import environment, run

pytestmark = pytest.mark.julia

FIRST = "from bridge.julia import first_calls; first_calls.main(everything=False)"
COMPILED = re.compile(r"precompile\(Tuple\{typeof\(MutationBridge\.(?:Python|Session)\.(\w+)\)")
ONCE = {*Entries.__annotations__, "conformed_to_python"}
"""What takes longest to compile: the entries, with all that they call whose types are known."""


def test_a_first_gradient_compiles_no_entry_again(tmp_path: Path) -> None:
    trace = tmp_path / "compiled.jl"
    done = run(FIRST, environment(tmp_path, PYTHON_JULIACALL_TRACE_COMPILE=str(trace)))
    assert done.returncode == 0, done.stderr
    compiled = {found[1] for line in trace.read_text().splitlines() if (found := COMPILED.match(line))}
    assert "by_context" in compiled, "the trace does not tell"
    assert not compiled & ONCE, "loading another package made Julia forget what it had compiled of these"
