"""The notebooks of examples/ run from the first cell to the last, and are kept without what they print."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_are_some() -> None:
    assert len(NOTEBOOKS) >= 2


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in cells)


@pytest.mark.thorough
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs(notebook: Path) -> None:
    nbclient = pytest.importorskip("nbclient", reason='pip install -e ".[docs]"')
    pytest.importorskip("ipykernel", reason='pip install -e ".[docs]"')
    nbformat: Any = pytest.importorskip("nbformat", reason='pip install -e ".[docs]"')
    for needed in ("jax", "matplotlib", "jinja2"):
        pytest.importorskip(needed, reason="the notebook's first cell names what it needs")
    content = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(content, timeout=300, resources={"metadata": {"path": str(FOLDER)}}).execute()
    shown = [data for cell in content.cells for one in cell.get("outputs", ()) if (data := one.get("data"))]
    assert any("<iframe" in data.get("text/html", "") for data in shown)
