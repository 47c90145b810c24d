"""Bad command lines: an exit status, a line that says what to do, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bridge.cli import commands as cli

ROOT = Path(__file__).parents[2]

PROGRAM = """
import numpy as np

def f(x):
    return np.sum(x**2)

def leaves(x):
    raise SystemExit(5)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "ends.py").write_text("import sys\nsys.exit(5)\n")
    np.save(tmp_path / "x.npy", np.ones(3))
    return tmp_path


CHECK = "check {0}/prog.py:f --arg {0}/x.npy --engines native"
BAD: dict[str, tuple[str, str]] = {
    "a folder": (CHECK + " --html {0}", "is a folder\n  remedy: name a file in it"),
    "no folder": (CHECK + " --html {0}/none/x.html", "there is no folder"),
    "no file to write": (CHECK + " --json /proc/x.json", "/proc/x.json cannot be written: No such file or directory"),
    "no page to write": ("coverage --write {0}/none/x.md", "x.md cannot be written: No such file or directory"),
    "a module that ends": ("check {0}/ends.py:f", "raised SystemExit when it was imported: 5"),
    "a program that ends": ("check {0}/prog.py:leaves --arg {0}/x.npy", "leaves raised SystemExit: 5"),
    "no name": ("check ../../..:f", "'../../..' is no name of a module\n  remedy: write module:function"),
    "no engine": ("check {0}/prog.py:f --arg {0}/x.npy --engines ,", "--engines ',' names no engine"),
}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
@pytest.mark.parametrize("name", BAD)
def test_errors_end_with_2_and_a_remedy(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, said = BAD[name]
    assert cli.main(line.format(folder).split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "remedy: " in error


USAGE: dict[str, tuple[str, str]] = {
    "seed": (CHECK + " --seed -1", "argument --seed: '-1' is not a whole number, not below 0"),
    "no number": (CHECK + " --rtol nan", "argument --rtol: 'nan' is not a number, not below 0"),
    "below 0": (CHECK + " --rtol -1", "argument --rtol: '-1' is not a number, not below 0"),
    "an option": (CHECK + " --enginse jax", "unrecognized arguments: --enginse jax: did you mean '--engines'?"),
    "its usage": (CHECK + " --enginse jax", "usage: python -m bridge check "),
    "a command": ("chek", "there is no 'chek': did you mean 'check'?"),
    "an action": ("rules lst", "there is no 'lst': did you mean 'list'?"),
}


@pytest.mark.parametrize("name", USAGE)
def test_usage_is_that_of_the_command(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, said = USAGE[name]
    with pytest.raises(SystemExit) as caught:
        cli.main(line.format(folder).split())
    assert caught.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.ci
def test_a_terminal_without_the_characters(folder: Path) -> None:
    line = [sys.executable, "-m", "bridge", *CHECK.format(folder).split()]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(line, capture_output=True, text=True, env=environment, cwd=folder)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)
    assert "\\u2713 ran" in done.stdout


@pytest.mark.ci
def test_who_reads_may_go(folder: Path) -> None:
    line = [sys.executable, "-m", "bridge", "rules", "list"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, cwd=folder) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141
