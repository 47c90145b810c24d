"""The notebooks of examples/ run from the first cell to the last, and are kept without what they print."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells)


# What a kernel does with cells, without its sockets: each is run by IPython's shell, which shows the last value.
RUN = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
shown = []
for cell in json.load(open(sys.argv[1], encoding="utf-8"))["cells"]:
    if cell["cell_type"] == "code":
        done = shell.run_cell("".join(cell["source"]), store_history=True)
        done.raise_error()
        if done.result is not None:
            shown.append(shell.display_formatter.format(done.result)[0].get("text/html", ""))
print(json.dumps(shown))
"""


@pytest.mark.ci
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path, tmp_path: Path) -> None:
    for needed in ("IPython", "jax", "matplotlib", "jinja2"):
        pytest.importorskip(needed, reason='pip install -e ".[dev]", and what the first cell names')
    script = tmp_path / "run.py"
    script.write_text(RUN, encoding="utf-8")
    variables = os.environ | {"PYTHONPATH": str(FOLDER.parents[1]), "IPYTHONDIR": str(tmp_path), "MPLBACKEND": "agg"}
    command = [sys.executable, str(script), str(notebook)]
    done = subprocess.run(command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = json.loads(done.stdout.splitlines()[-1])
    assert any("<iframe" in html for html in shown)
