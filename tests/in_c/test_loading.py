"""Which way is taken, and why: told by the module and by the doctor."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import bridge
from bridge import in_c

ROOT = Path(__file__).parents[2]
PROBE = """
import numpy as np
import bridge
from bridge import in_c
print(in_c.AVAILABLE, in_c.WHY_NOT)
print(bridge.grad(lambda x: np.sum(x[1:] * x[:-1]))(np.arange(3.0)).tolist())
"""


def told(folder: Path, **environment: str) -> list[str]:
    run = [sys.executable, "-c", PROBE]
    env = {**os.environ, "PYTHONPATH": str(folder), **environment}
    return subprocess.run(run, capture_output=True, text=True, check=True, cwd=folder, env=env).stdout.splitlines()


def test_pure_python_is_asked_for() -> None:
    assert told(ROOT, BRIDGE_PURE="1") == ["False BRIDGE_PURE is set", "[1.0, 2.0, 1.0]"]


@pytest.mark.ci
def test_without_what_is_compiled(tmp_path: Path) -> None:
    for name in ("bridge", "rules"):
        (tmp_path / name).mkdir()
        for path in (ROOT / name).rglob("*.py"):
            copy = tmp_path / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    line, answer = told(tmp_path, BRIDGE_PURE="0")
    assert line.startswith("False it was not built, for want of a compiler")
    assert answer == "[1.0, 2.0, 1.0]"
    if in_c.AVAILABLE:
        made = ROOT / "bridge" / "in_c" / f"_steps{sysconfig.get_config_var('EXT_SUFFIX')}"
        (tmp_path / "bridge" / "in_c" / made.name).write_bytes(made.read_bytes())
        assert told(tmp_path, BRIDGE_PURE="0")[0] == "True None"
        (tmp_path / "bridge" / "in_c" / "steps.h").write_text("/* changed since */")
        line, answer = told(tmp_path, BRIDGE_PURE="0")
        assert line == "False it is older than its sources; install the checkout again: python -m pip install -e ."
        assert answer == "[1.0, 2.0, 1.0]"


@pytest.mark.skipif(not in_c.AVAILABLE, reason=f"there is no compiled part: {in_c.WHY_NOT}")
def test_one_thing_may_be_run_in_python() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        return np.sum(x * x)

    with in_c.pure(), in_c.pure():
        assert bridge.grad(f)(np.arange(3.0)).tolist() == [0.0, 2.0, 4.0]
    assert type(bridge.arrays.buffer.Buffer.__add__).__module__ == "bridge.in_c._steps"
