"""The shell commands say what they do, and fail with an exit status and a line to type."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bridge
from bridge import demo
from bridge.cli import commands, doctor
from bridge.julia.status import Status

ROOT = Path(__file__).parents[2]


def test_module_runs_as_a_command() -> None:
    command = [sys.executable, "-m", "bridge", "--version"]
    completed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == f"mutation-bridge {bridge.__version__}"


def test_no_command_shows_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        commands.main([])
    assert stopped.value.code == 2
    assert "usage: python -m bridge" in capsys.readouterr().err


def test_doctor_finds_this_installation_healthy(capsys: pytest.CaptureFixture[str]) -> None:
    assert commands.main(["doctor"]) == 0
    assert "gradient of an in-place program: right" in capsys.readouterr().out


def test_doctor_reads_requirements_from_metadata() -> None:
    declared = ["numpy>=2.0", "no-such-thing[x]>=1; extra == 'demo'", "mutation-bridge[demo]; extra == 'demo'"]
    (needed,) = doctor.requirements(declared, "")
    assert (needed.name, needed.wanted) == ("numpy", ">=2.0")
    assert needed.found
    assert doctor.requirements(declared, "demo") == [("no-such-thing", ">=1", None)]


@pytest.mark.ci
def test_doctor_names_the_line_that_installs_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["no-such-thing>=1; extra == 'demo'"])
    lines, healthy = doctor.examine()
    assert healthy
    assert f"  to get what is missing: {doctor.install_line('demo')}" in lines
    monkeypatch.setattr(doctor.metadata, "requires", lambda name: ["no-such-thing>=1"])
    assert not doctor.examine()[1]


def test_doctor_says_what_jax_runs_on() -> None:
    pytest.importorskip("jax")
    lines, healthy = doctor.examine()
    assert healthy
    version, gradient = lines[lines.index("JAX") + 1 :][:2]
    assert "cpu" in version or "gpu" in version
    assert gradient == "  compiled gradient of an in-place program: right"


def test_a_jax_that_does_not_work_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax")

    def fail() -> None:
        raise RuntimeError("no backend today")

    monkeypatch.setattr(jax, "devices", fail)
    lines, healthy = doctor.examine()
    assert not healthy
    assert any("does not work: RuntimeError: no backend today" in line for line in lines)


def test_without_jax_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.engines.jax.engine.find_spec", lambda name: None)
    lines, healthy = doctor.examine()
    assert healthy, "JAX is an extra"
    assert lines[lines.index("JAX") + 1].startswith("  not installed: engine='jax'")


def test_doctor_says_which_julia_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Status(found=False, problem="no Julia today", line="the line to type")
    monkeypatch.setattr("bridge.engines.julia.engine.status", lambda: found)
    lines, healthy = doctor.examine()
    assert healthy, "Julia is an extra"
    assert lines[lines.index("Julia") + 1 :][:2] == ["  no Julia today", "  to type         the line to type"]


def test_demo_hands_on_its_options_and_its_exit_status(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    calls = []
    monkeypatch.setattr(demo, "run", lambda output, quick: calls.append((output, quick)) or 7)
    assert commands.main(["demo", "--quick", "--output", str(tmp_path)]) == 7
    assert commands.main(["demo"]) == 7
    assert calls == [(tmp_path, True), (Path("bridge-demo"), False)]


def test_coverage_is_printed_written_and_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    page = tmp_path / "coverage.md"
    assert commands.main(["coverage", "--check", str(page)]) == 1
    assert f"{page} is out of date" in capsys.readouterr().err
    assert commands.main(["coverage", "--write", str(page)]) == 0
    assert commands.main(["coverage", "--check", str(page)]) == 0
    assert commands.main(["coverage"]) == 0
    assert capsys.readouterr().out == page.read_text(encoding="utf-8")


@pytest.mark.ci
def test_doctor_names_another_distribution_with_a_package_of_that_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert doctor.others() == []
    both = {"bridge": ["bridge-ds", doctor.DISTRIBUTION], "numpy": ["numpy"]}
    monkeypatch.setattr(doctor.metadata, "packages_distributions", lambda: both)
    lines, healthy = doctor.examine()
    assert not healthy
    said = "\n".join(lines)
    assert "bridge-ds installs a package named bridge, too" in said and "pip uninstall bridge-ds" in said


def test_the_command_names_a_package_that_was_installed_over_this_one(tmp_path: Path) -> None:
    """What is left of this package beside the other's `__init__` are its files."""
    (tmp_path / "bridge").mkdir()
    (tmp_path / "bridge" / "__init__.py").write_text("version = 'of another distribution'")
    shutil.copytree(Path(bridge.__file__).parent / "cli", tmp_path / "bridge" / "cli")
    command = [sys.executable, "-c", "from bridge.cli import main"]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not mutation-bridge's: another distribution, like bridge-ds" in done.stderr
    assert "remedy" in done.stderr and "Traceback" not in done.stderr
