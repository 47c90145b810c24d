"""Setting Julia up and its status, with stand-ins for Julia; the progress line. Needs no Julia."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from bridge import julia
from bridge.cli import commands
from bridge.errors import ArgumentError, JuliaNotAvailable
from bridge.julia import config, discovery, preparation, session
from bridge.julia.progress import ProgressLine
from tests.julia_python.fake_julia import NEEDED, READY, choose, fake_julia, message, nothing_set_up, posix, prepared

__all__ = ["nothing_set_up"]


@posix
def test_what_was_ready_is_not_examined_again_until_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exe, project = fake_julia(tmp_path / "fake", "julia version 1.10.10", READY)
    choose(monkeypatch, exe, project)
    calls = exe.with_name("calls")
    assert not julia.status().ready
    prepared()
    prepared()
    assert calls.read_text() == "called\n"
    assert julia.status().ready
    (project / "Manifest.toml").write_text("# resolved again\n")
    assert not julia.status().ready
    prepared()
    assert calls.read_text() == "called\n" * 2
    assert julia.setup().ready
    assert calls.read_text() == "called\n" * 3


@posix
def test_setup_keeps_a_choice_only_if_it_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    old = fake_julia(tmp_path / "old", "julia version 1.9.0")
    assert commands.main(["julia", "setup", "--exe", str(old[0]), "--project", str(old[1])]) == 1
    assert "is Julia 1.9.0; Julia 1.10.3 to 1.12 is needed (from what was given to setup)" in capsys.readouterr().err
    assert config.read() is None
    exe, project = fake_julia(tmp_path / "new", "julia version 1.11.2", READY)
    monkeypatch.chdir(tmp_path)
    assert commands.main(["julia", "setup", "--exe", "new/julia", "--project", "new/project"]) == 0
    assert config.read() == config.Choice(exe, project)
    printed = capsys.readouterr().out
    assert f"found by        {config.place()}" in printed
    assert commands.main(["julia", "status"]) == 0
    assert capsys.readouterr().out == printed
    assert commands.main(["julia", "setup", "--forget"]) == 0
    assert config.read() is None
    assert commands.main(["julia", "status"]) == 1


def test_setup_wants_both_paths(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ArgumentError, match="exe and project are given together"):
        julia.setup(exe="julia")
    assert commands.main(["julia", "setup", "--project", "p"]) == 1
    assert "python -m bridge julia setup --exe PATH --project PATH" in capsys.readouterr().err


@posix
def test_status_reads_versions_from_the_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exe, project = fake_julia(tmp_path / "fake", "julia version 1.10.10")
    choose(monkeypatch, exe, project)
    wanted = discovery.juliacall_version()
    entries = {name: "2.3.4" for name in NEEDED if name != "Zygote"} | {"PythonCall": wanted}
    manifest = "".join(f'[[deps.{name}]]\nversion = "{version}"\n' for name, version in entries.items())
    (project / "Manifest.toml").write_text('manifest_format = "2.0"\n' + manifest)
    found = julia.status()
    assert (found.found, found.how, found.exe, found.project) == (False, "environment", exe, project)
    assert found.missing == ("Zygote",)
    assert found.versions["ChainRules"] == "2.3.4"
    assert found.line == f"""{exe} --project={project} -e 'using Pkg; Pkg.add(["Zygote"])'"""
    (project / "Manifest.toml").write_text(manifest + '[[deps.Zygote]]\nversion = "0.7.12"\n')
    found = julia.status()
    assert found.found
    assert not found.started
    assert found.line == "python -m bridge julia setup"
    assert "Zygote          0.7.12" in str(found).splitlines()
    assert not exe.with_name("calls").exists(), "status must not start Julia"


def test_status_before_juliapkg_installed_anything(tmp_path: Path) -> None:
    found = julia.status()
    assert (found.found, found.how, found.exe) == (False, "juliapkg", None)
    assert found.problem == "juliapkg has installed no Julia here yet"
    assert found.line == "python -m bridge julia setup"
    assert not (tmp_path / "julia_env").exists(), "status must not write"


@posix
def test_failed_installation_is_told_and_not_tried_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = "import sys; sys.exit('urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>')"
    monkeypatch.setattr(preparation, "RESOLVE", f"open({str(tmp_path / 'tries')!r}, 'a').write('1'); {fails}")
    said = message(session.session)
    assert "juliapkg could not install Julia and its packages: urllib.error.URLError: <urlopen error" in said
    assert "python -m bridge julia setup, or with a Julia of your own" in said
    assert message(session.session) == said
    assert (tmp_path / "tries").read_text() == "1"
    with pytest.raises(JuliaNotAvailable):
        julia.setup()
    assert (tmp_path / "tries").read_text() == "11"


def test_progress_is_silent_when_quick_and_plain_when_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import time

    with ProgressLine() as line:
        line.step("quick")
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("bridge.julia.progress.PATIENCE", 0.05)
    with ProgressLine() as line:
        line.step("compiling [Zygote]")
        time.sleep(0.3)
        line.step("compiling [Zygote]")
        line.step("loading")
    assert capsys.readouterr().err == "[bridge] compiling [Zygote]\n[bridge] loading\n"


def test_progress_on_a_terminal_is_one_line_that_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rich")
    pty = pytest.importorskip("pty")
    monkeypatch.setenv("TERM", "xterm")
    outer, inner = pty.openpty()
    with os.fdopen(inner, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with ProgressLine() as line:
            line.step("compiling [Zygote]")
        shown = b""
        while b"\x1b[?25h" not in shown:  # the cursor comes back last
            shown += os.read(outer, 65536)
    os.close(outer)
    assert b"compiling [Zygote]" in shown
    assert shown.endswith(b"\x1b[2K"), "the line is still there"
