"""Compiled loops touch no memory that is not theirs: random ones run once more under the compiler's sanitizers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = "-fsanitize=address,undefined -fno-sanitize=float-divide-by-zero,signed-integer-overflow,nonnull-attribute"


def library(name: str) -> str:
    """The path of a library of gcc's; empty if it has none."""
    asked = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    path = asked.stdout.strip()
    return path if Path(path).is_absolute() else ""


@pytest.mark.nightly
@pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")
@pytest.mark.skipif(sys.platform != "linux", reason="sanitizers are loaded by LD_PRELOAD")
def test_under_sanitizers(tmp_path: Path) -> None:
    preloaded = [library("libasan.so"), library("libubsan.so")]
    if not all(preloaded):
        pytest.skip("gcc has no sanitizers here")
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\nexec gcc -g {CHECKS} -fno-sanitize-recover=all "$@"\n', encoding="utf-8")
    compiler.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "LD_PRELOAD": " ".join(preloaded),
        "ASAN_OPTIONS": "detect_leaks=0",
        "BRIDGE_LOOPS_CACHE": "0",
    }
    for name in ("PYTEST_XDIST_WORKER", "PYTEST_ADDOPTS"):
        environment.pop(name, None)
    tests = [f"tests/loops_in_c/test_{name}.py" for name in ("kinds", "loops", "tiers")]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "-m", "not nightly", *tests]
    run = subprocess.run(
        command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, (run.stdout + run.stderr)[-4000:]
