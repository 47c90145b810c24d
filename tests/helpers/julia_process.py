"""Python programs in processes of their own that use this machine's Julia, away from the user's configuration."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bridge

ROOT = Path(__file__).parents[2]


def environment(folder: Path, **different: str) -> dict[str, str]:
    """Variables that choose the Julia that `bridge.julia.status()` finds; configuration and cache lie in `folder`."""
    found = bridge.julia.status()
    chosen = {"PYTHON_JULIACALL_EXE": str(found.exe), "PYTHON_JULIACALL_PROJECT": str(found.project)}
    homes = {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_CACHE_HOME": str(folder / "cache")}
    path = os.pathsep.join(part for part in (str(ROOT), os.environ.get("PYTHONPATH")) if part)
    return os.environ | chosen | homes | {"PYTHONPATH": path, "PYTHONUNBUFFERED": "1"} | different


def answer(code: str, variables: dict[str, str], *options: str) -> str:
    """Run the program and return what it prints; it must succeed."""
    completed = run(code, variables, *options)
    assert completed.returncode == 0, completed.stdout + completed.stderr
    return completed.stdout


def run(code: str, variables: dict[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "faulthandler", *options, "-c", code]
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)
