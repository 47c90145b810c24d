"""Stand-ins for Julia: shell scripts that answer as it does while a session is prepared, and nothing else set up."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

from bridge.errors import EngineNotAvailable, JuliaNotAvailable
from bridge.julia import discovery, preparation, session

NEEDED = ("PythonCall", "MutationBridge", *discovery.package_requirements()[1])

posix = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for Julia are shell scripts")


@pytest.fixture(autouse=True)
def nothing_set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration, no variables, no cache, no earlier failure, and juliapkg with a folder of its own."""
    pytest.importorskip("juliapkg")
    from juliapkg.state import STATE

    folders = {"config": tmp_path / "config", "cache": tmp_path / "cache"}
    monkeypatch.setattr("platformdirs.user_config_path", lambda name: folders["config"] / name)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: folders["cache"] / name)
    for key in ("EXE", "PROJECT"):
        monkeypatch.delenv(f"PYTHON_JULIACALL_{key}", raising=False)
    for key, value in (("project", ""), ("meta", "pyjuliapkg/meta.json"), ("install", "pyjuliapkg/install")):
        monkeypatch.setitem(STATE, key, str(tmp_path / "julia_env" / value).rstrip("/"))
    monkeypatch.setitem(STATE, "resolved", False)
    monkeypatch.setattr(session, "_failure", None)
    monkeypatch.setattr(session, "_session", None)
    monkeypatch.delitem(sys.modules, "juliacall", raising=False)


def fake_julia(
    folder: Path,
    version: str = "julia version 1.10.10",
    says: tuple[str, ...] = (),
    fails: str = "",
    builds: tuple[str, ...] = (),
) -> tuple[Path, Path]:
    """Make a shell script that answers as Julia does to `--version` and to `preparation.jl`, and a project folder.

    `builds` are the lines of the shell that answer `sysimage.jl`, whose arguments are $4, $5, ...
    """
    folder.mkdir(parents=True, exist_ok=True)
    exe, project = folder / "julia", folder / "project"
    lines = ["#!/bin/sh", f'[ "$1" = --version ] && {{ echo "{version}"; exit; }}', f'echo called >> "{folder}/calls"']
    lines += ['if [ "${3##*/}" = sysimage.jl ]; then :', *builds, "exit; fi"]
    lines += ["printf '%b\\n' '" + text + "'" for text in says]
    if fails:
        lines += [f"echo '{fails}' >&2", "exit 1"]
    exe.write_text("\n".join(lines) + "\n")
    exe.chmod(exe.stat().st_mode | stat.S_IXUSR)
    project.mkdir(exist_ok=True)
    (project / "Project.toml").write_text("[deps]\n")
    return exe, project


def versions(**different: str) -> tuple[str, ...]:
    """What `preparation.jl` says when nothing is missing."""
    found = dict.fromkeys(NEEDED, "1.0.0") | {"PythonCall": discovery.juliacall_version()}
    found |= {"MutationBridge": discovery.package_requirements()[0]} | different
    return tuple(f"bridge\\tversion\\t{name}\\t{version}" for name, version in {"Julia": "1.10.10", **found}.items())


READY = (*versions(), "bridge\\tready")


def choose(monkeypatch: pytest.MonkeyPatch, exe: Path | str, project: Path | str) -> None:
    monkeypatch.setenv("PYTHON_JULIACALL_EXE", str(exe))
    monkeypatch.setenv("PYTHON_JULIACALL_PROJECT", str(project))


def message(run: Any) -> str:
    with pytest.raises(JuliaNotAvailable) as raised:
        run()
    assert isinstance(raised.value, EngineNotAvailable)
    assert raised.value.remedy
    return str(raised.value)


def prepared() -> discovery.Candidate:
    return preparation.prepare(discovery.discover())
