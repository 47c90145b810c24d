"""The compiler, and the folder in which compiled loops are kept."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bridge.cli import commands
from bridge.loops_in_c import compiling
from bridge.loops_in_c.compiling import CompilerError, Job

HAS_COMPILER = any(map(shutil.which, ("cc", "gcc", "clang")))
needs_compiler = pytest.mark.skipif(not HAS_COMPILER, reason="no C compiler: cc, gcc or clang")
TEXT = "int answer(void) { return 42; }\n"
CACHES = compiling.folder, compiling.compiler, compiling._identity


def forget() -> None:
    for one in CACHES:
        one.cache_clear()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that keeps what is compiled."""
    path = tmp_path / "kept"
    monkeypatch.setenv(compiling.VARIABLE, str(path))
    forget()
    yield path
    forget()


@needs_compiler
def test_a_library_is_made_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Job(TEXT).library().answer() == 42
    assert [path.suffix for path in folder.iterdir()] == [".so"]
    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr(subprocess, "Popen", None)
    assert Job(TEXT).is_ready()
    assert Job(TEXT).library().answer() == 42


@needs_compiler
def test_another_text_is_another_library(folder: Path) -> None:
    Job(TEXT).library()
    assert Job(TEXT.replace("42", "43")).library().answer() == 43
    assert len(compiling.cached()) == 2


@needs_compiler
def test_a_damaged_library_is_made_again(folder: Path) -> None:
    job = Job(TEXT)
    job.is_ready()
    folder.mkdir(exist_ok=True)
    job._path.write_bytes(b"no library")
    assert Job(TEXT).library().answer() == 42


@needs_compiler
def test_what_the_compiler_refuses_is_an_error(folder: Path) -> None:
    with pytest.raises(CompilerError, match="error"):
        Job("int answer(void) { return }\n").library()
    assert not list(folder.iterdir())


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="folders have no owners on this system")
def test_a_folder_that_others_may_write_is_not_used(folder: Path) -> None:
    folder.mkdir()
    folder.chmod(0o777)
    assert compiling.folder() != folder
    assert Job(TEXT).library().answer() == 42
    assert not list(folder.iterdir())
    assert "not cached" in compiling.state()


@needs_compiler
def test_a_folder_of_another_user_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.mkdir(0o700)
    monkeypatch.setattr(os, "getuid", lambda: 123456, raising=False)
    assert compiling.folder() != folder


def test_nothing_is_kept_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiling.VARIABLE, "0")
    forget()
    assert "bridge-loops-" in compiling.folder().name
    forget()


@needs_compiler
def test_the_command_lists_and_removes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Job(TEXT).library()
    assert commands.main(["cache"]) == 0
    told = capsys.readouterr().out
    assert "1 compiled loops, " in told
    assert str(folder) in told
    assert compiling.cached()[0].name in told
    assert commands.main(["cache", "--clear"]) == 0
    assert "removed from" in capsys.readouterr().out
    assert not list(folder.iterdir())


def test_without_a_compiler_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(compiling, "find_spec", lambda name: None)
    forget()
    with pytest.raises(CompilerError, match=r"cc, gcc, clang, or the package ziglang \(.*\[c\]"):
        compiling.compiler()
    assert "not in use" in compiling.state()
    forget()


@pytest.mark.parametrize("chosen", [f"{sys.executable} -m ziglang cc", "no-such-compiler", ""])
def test_the_environment_variable_cc(chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", chosen)
    forget()
    expected = tuple(chosen.split()) if sys.executable in chosen else (shutil.which("cc"),)
    assert compiling.compiler() == expected
    forget()


PROGRAM = """
import numpy as np, shutil, bridge
shutil.which = lambda name: None
def f(v):
    for i in range(1, v.shape[0]):
        v[i] = np.sqrt(v[i]) * v[i - 1] + np.exp(v[i])
    return np.sum(v)
print(bridge.grad(f, loops="c")(np.linspace(0.1, 0.9, 5)).tolist())
print(bridge.loops_in_c.compiling.state())
"""


@pytest.mark.ci
@pytest.mark.skipif(find_spec("ziglang") is None, reason="ziglang is not installed (the extra c)")
def test_the_compiler_of_the_package_index(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "BRIDGE_LOOPS_CACHE": str(tmp_path / "kept"), "XDG_CACHE_HOME": str(tmp_path)}
    run: Any = subprocess.run(
        [sys.executable, "program.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found, state = run.stdout.splitlines()
    assert "ziglang" in state

    def plain(v: Any) -> Any:
        for i in range(1, v.shape[0]):
            v[i] = np.sqrt(v[i]) * v[i - 1] + np.exp(v[i])
        return np.sum(v)

    v, step = np.linspace(0.1, 0.9, 5), 1e-6
    columns = np.eye(5) * step
    expected = [(plain(v + one) - plain(v - one)) / (2 * step) for one in columns]
    np.testing.assert_allclose(np.array(json.loads(found)), expected, rtol=1e-7)
