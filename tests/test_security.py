"""What docs/security.md says: nothing here unpickles, evaluates text or uses a network, and files are data."""

from __future__ import annotations

import ast
import builtins
import json
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bridge
from bridge.cli.check import argument
from bridge.errors import ArgumentError, RefusedError
from bridge.proof.report.json_form import from_json
from tests.proof.report_samples import agreeing_report

ROOT = Path(__file__).parents[1]
FILES = [*sorted((ROOT / "bridge").rglob("*.py")), *sorted((ROOT / "rules").rglob("*.py"))]
FILES.append(ROOT / "pytest_mutation_bridge.py")

PICKLING = {"pickle", "_pickle", "pickletools", "copyreg", "shelve", "marshal", "dill", "cloudpickle", "joblib"}
NETWORK = {"socket", "ssl", "urllib", "http", "ftplib", "smtplib", "asyncio", "requests", "httpx", "xmlrpc"}
PROCESSES = {"subprocess", "multiprocessing", "pty"}
EVALUATING = {"eval", "exec", "compile", "__import__", "execfile"}

MAY_START_PROCESSES = {
    "bridge/julia/discovery.py",
    "bridge/julia/preparation.py",
    "bridge/julia/sysimage.py",
    "bridge/loops_in_c/compiling.py",
    "bridge/proof/rules/own_process.py",
}
MAY_COMPILE = {"bridge/source/finding.py"}


def imported(tree: ast.Module) -> Iterator[str]:
    """The top names of the modules that a file imports, by statements or by name."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and "import_module" in ast.unparse(node.func):
            names = [str(one.value) for one in node.args if isinstance(one, ast.Constant)]
        yield from (name.partition(".")[0] for name in names)


def evaluated(tree: ast.Module) -> Iterator[str]:
    """The builtin functions that run text which a file calls."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EVALUATING:
            yield node.func.id
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "builtins" and node.attr in EVALUATING:
            yield node.attr


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(ROOT).as_posix())
def test_no_file_unpickles_evaluates_or_uses_a_network(file: Path) -> None:
    name, tree = file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))
    modules = set(imported(tree))
    assert not modules & (PICKLING | NETWORK)
    assert not modules & PROCESSES or name in MAY_START_PROCESSES
    found = set(evaluated(tree))
    assert not found or (name in MAY_COMPILE and found == {"compile"}), f"{name} calls {found}"


def test_what_is_looked_for_is_found() -> None:
    tree = ast.parse("import pickle as p\nfrom http.client import x\nimport_module('marshal.a')\neval('1')\n")
    assert set(imported(tree)) == {"pickle", "http", "marshal"}
    assert set(evaluated(tree)) == {"eval"}
    assert EVALUATING - {"execfile"} <= set(dir(builtins))


class Armed:
    """Runs code when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return Path.touch, (Path("owned"),)  # type: ignore[return-value]


def test_arrays_are_read_without_pickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save(tmp_path / "x.npy", np.array([Armed()], object), allow_pickle=True)
    (tmp_path / "y.npy").write_bytes(pickle.dumps(Armed()))
    for file in ("x.npy", "y.npy"):
        with pytest.raises(ArgumentError, match="cannot be read as an array"):
            argument(str(tmp_path / file))
    with pytest.raises(ArgumentError, match=r"neither a \.npy file nor a Python literal"):
        argument("__import__('pathlib').Path('owned').touch()")
    assert not (tmp_path / "owned").exists()


def test_buffers_are_not_pickled() -> None:
    with bridge.Context() as context, pytest.raises(RefusedError, match="cannot be pickled"):
        pickle.dumps(context.buffer(np.ones(2)))


def test_json_is_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = json.loads(agreeing_report().to_json())
    armed = "__import__('pathlib').Path('owned').touch()"
    content["program"] = content["arguments"] = armed
    content["runs"][0]["value"] = {"repr": armed}
    report = from_json(json.dumps(content))
    assert report.runs[0].value == armed
    assert armed in repr(report)
    report.to_html()
    report._repr_html_()
    assert not (tmp_path / "owned").exists()


def test_pages_allow_no_network() -> None:
    page = agreeing_report().to_html()
    assert "default-src 'none'" in page
    assert "<script" not in agreeing_report()._repr_html_()
