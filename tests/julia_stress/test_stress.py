"""A short run of `python -m tests.julia_stress`, in a process of its own: whatever crashes it fails the test."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.julia_process import environment

pytestmark = pytest.mark.julia


@pytest.mark.parametrize(
    "count",
    [pytest.param(300, marks=pytest.mark.ci), pytest.param(10_000, marks=pytest.mark.nightly)],
)
def test_gradients_from_threads_while_everything_disturbs_them(count: int, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.julia_stress", str(count)]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    said = re.search(r"(\d+) ended well, 0 failures", done.stdout)
    assert said and int(said[1]) >= count, done.stdout
    for kind in ("Ctrl-C", "raising", "callback_raising", "large"):
        assert re.search(rf"^ *[1-9]\d*  {kind}$", done.stdout, re.MULTILINE), done.stdout
