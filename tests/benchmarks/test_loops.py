"""`python -m benchmarks.loops` compares a kernel's gradients with its loops in Python and in C."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import loops

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang"
)

KERNEL = """
def kernel(n, A):
    for i in range(1, n):
        for j in range(1, n):
            A[i, j] += A[i - 1, j - 1] * 0.5
"""
INITIAL = "import numpy as np\n\ndef initialize(n):\n    return np.ones((n, n))\n"
INFO = {
    "module_name": "small",
    "relative_path": "small",
    "func_name": "kernel",
    "parameters": {"S": {"n": 40}},
    "init": {"func_name": "initialize", "input_args": ["n"], "output_args": ["A"]},
    "input_args": ["n", "A"],
    "output_args": ["A"],
}


@pytest.mark.ci
def test_a_kernel_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "npbench" / "benchmarks" / "small"
    folder.mkdir(parents=True)
    (folder / "small_numpy.py").write_text(KERNEL, encoding="utf-8")
    (folder / "small.py").write_text(INITIAL, encoding="utf-8")
    (tmp_path / "bench_info").mkdir()
    (tmp_path / "bench_info" / "small.json").write_text(json.dumps({"benchmark": INFO}), encoding="utf-8")
    monkeypatch.setattr(loops, "WARM", 0.3)
    assert loops.main([str(tmp_path), "--kernels", "small", "--to", str(tmp_path / "plots")]) == 0
    told = capsys.readouterr().out
    assert "small" in told
    assert "geometric mean" in told
    assert (tmp_path / "plots" / "loops.png").stat().st_size > 1000
    monkeypatch.setattr(loops, "TOLERANCE", -1.0)
    assert loops.main([str(tmp_path), "--kernels", "small"]) == 1
