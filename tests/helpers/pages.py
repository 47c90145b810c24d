"""Examples of pages: blocks of Python, each followed by what it prints, which are run from files as programs are."""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def examples(page: str) -> list[tuple[str, str]]:
    """The code and the output of each example of a page, named by its path from the top."""
    return re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text_of(page), re.DOTALL)


def text_of(page: str) -> str:
    """A page, named by its path from the top."""
    return (ROOT / page).read_text(encoding="utf-8")


def printed(code: str, folder: Path, module: str = "page") -> str:
    """What code prints when it is run as a file of that folder, under the name of a module."""
    file = folder / f"{module}.py"
    file.write_text(code, encoding="utf-8")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(file), run_name=module)
    return said.getvalue()


def printed_alone(code: str, folder: Path) -> str:
    """What code prints that is run in a process of its own: what is read depends on the classes that a program has."""
    file = folder / "page.py"
    file.write_text(code, encoding="utf-8")
    variables = os.environ | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, str(file)]
    return subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True).stdout
