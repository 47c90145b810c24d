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


LOOP = """
import numpy as np, bridge
code = "function (x) b = MutationBridge.Buffer(x); for i in 2:length(x) b[i] *= b[i-1] end; sum(copy(b)) end"
assert bridge.grad(bridge.julia.function(code))(np.array([2.0, 3.0]))[0] == 4.0
"""


def test_the_way_back_is_made_by_what_was_compiled_with_the_package(tmp_path: Path) -> None:
    """Zygote's generating functions are of a world in which that is not there: they would compile it again."""
    trace = tmp_path / "compiled.jl"
    done = run(LOOP, environment(tmp_path, PYTHON_JULIACALL_TRACE_COMPILE=str(trace)))
    assert done.returncode == 0, done.stderr
    text = trace.read_text()
    assert "MutationBridge.WayBack{" in text, "the trace does not tell"
    assert "typeof(Zygote._generate_callable_pullback)" not in text
