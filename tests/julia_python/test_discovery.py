"""Finding a Julia: order, and a clear message with the remedy for each thing that can be wrong. Needs no Julia."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bridge import julia
from bridge.julia import config, discovery
from tests.julia_python.fake_julia import READY, choose, fake_julia, message, nothing_set_up, posix, prepared, versions

ROOT = Path(__file__).parents[2]
__all__ = ["nothing_set_up"]


@posix
def test_order_is_configuration_then_variables_then_juliapkg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert discovery.discover().how == "juliapkg"
    exe, project = fake_julia(tmp_path / "variables")
    choose(monkeypatch, exe, project)
    found = discovery.discover()
    assert (found.how, found.exe, found.project) == ("environment", exe, project)
    assert found.source == "PYTHON_JULIACALL_EXE and PYTHON_JULIACALL_PROJECT"
    chosen = config.Choice(*fake_julia(tmp_path / "chosen"))
    assert config.write(chosen) == config.place()
    found = discovery.discover()
    assert (found.how, found.exe, found.project) == ("configuration", *chosen)
    assert config.forget() == config.place()
    assert config.forget() is None
    assert discovery.discover().how == "environment"


@posix
def test_options_of_the_interpreter_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, "nowhere", "nowhere")
    config.write(config.Choice(Path("nowhere"), Path("nowhere")))
    exe, project = fake_julia(tmp_path / "options")
    monkeypatch.setattr(sys, "_xoptions", {"juliacall-exe": str(exe), "juliacall-project": str(project)})
    assert discovery.discover()[1:] == ("-X juliacall-exe and -X juliacall-project", exe, project)


@pytest.mark.parametrize("name", ['a "quoted" one', "back\\slash", "ünïcode ∂", "line\nbreak"])
def test_configuration_holds_any_path(tmp_path: Path, name: str) -> None:
    chosen = config.Choice(tmp_path / name, tmp_path / name / "project")
    config.write(chosen)
    assert config.read() == chosen


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("exe = ", "Invalid value"),
        ('exe = "/julia"', "'project' should be a path, and is 'missing'"),
        ('exe = 3\nproject = "/p"', "'exe' should be a path, and is 3"),
        ('exe = ""\nproject = "/p"', "'exe' should be a path, and is ''"),
        ('exe = "/julia"\nproject = "/p"\nthreads = 2', "unknown keys threads"),
    ],
)
def test_malformed_configuration_is_named(text: str, why: str) -> None:
    config.place().parent.mkdir(parents=True)
    config.place().write_text(text)
    said = message(discovery.discover)
    assert said.startswith(f"the configuration {config.place()} cannot be used: ")
    assert why in said
    assert "python -m bridge julia setup --exe PATH --project PATH  (or --forget to go without)" in said


@posix
def test_configuration_of_files_that_are_gone(tmp_path: Path) -> None:
    exe, project = fake_julia(tmp_path / "gone")
    config.write(config.Choice(exe, project))
    (project / "Project.toml").unlink()
    project.rmdir()
    said = message(discovery.discover)
    assert f"there is no project folder {project} (from {config.place()})" in said
    exe.unlink()
    said = message(discovery.discover)
    assert f"there is no executable file {exe} (from {config.place()})" in said
    assert "setup --forget" in said
    assert "without Julia everything works except bridge.julia and engine='julia'" in said


@posix
def test_configuration_holds_whatever_the_variables_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_JULIACALL_EXE", "nowhere")
    config.write(config.Choice(*fake_julia(tmp_path / "chosen")))
    assert discovery.discover().how == "configuration"


def test_one_variable_without_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_JULIACALL_PROJECT", str(tmp_path))
    said = message(discovery.discover)
    assert "PYTHON_JULIACALL_EXE and PYTHON_JULIACALL_PROJECT belong together; one is not set" in said
    assert "(from PYTHON_JULIACALL_PROJECT)" in said


def test_no_juliacall(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "juliacall", None)
    said = message(discovery.discover)
    assert "juliacall is not installed" in said
    assert 'python -m pip install "mutation-bridge[julia]"; python -m bridge julia setup' in said
    found = julia.status()
    assert not found.found
    assert found.problem in said
    assert found.line == 'python -m pip install "mutation-bridge[julia]"; python -m bridge julia setup'


@posix
@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("julia version 1.9.4", "is Julia 1.9.4; Julia 1.10.3 to 1.12 is needed"),
        ("julia version 1.10.2", "is Julia 1.10.2; Julia 1.10.3 to 1.12 is needed"),
        ("julia version 1.13.0-beta1", "is Julia 1.13.0-beta1; Julia 1.10.3 to 1.12 is needed"),
        ("Python 3.12.1", "--version says 'Python 3.12.1' (exit status 0); it is no Julia"),
        ("", "--version says 'nothing' (exit status 0); it is no Julia"),
    ],
)
def test_wrong_version(version: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exe, project = fake_julia(tmp_path / "fake", version)
    choose(monkeypatch, exe, project)
    said = message(prepared)
    assert f"{exe} {why}" in said
    assert "set PYTHON_JULIACALL_EXE and PYTHON_JULIACALL_PROJECT to others" in said
    assert julia.status().problem in said


@posix
@pytest.mark.parametrize("version", ["1.10.3", "1.10.10", "1.11.5", "1.12.0", "1.12.1+0.x64.linux.gnu"])
def test_versions_that_are_right(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choose(monkeypatch, *fake_julia(tmp_path / "fake", f"julia version {version}", READY))
    assert discovery.julia_version(prepared()) == version


@posix
def test_executable_that_cannot_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exe, project = fake_julia(tmp_path / "fake")
    exe.write_bytes(b"\x7fELF broken")
    choose(monkeypatch, exe, project)
    assert f"{exe} --version failed: [Errno" in message(prepared)


@posix
def test_executable_that_fails_after_its_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exe, project = fake_julia(tmp_path / "fake", "julia version 1.10.10", fails="ERROR: system image not found")
    choose(monkeypatch, exe, project)
    assert f"{exe} does not run: ERROR: system image not found" in message(prepared)


@posix
def test_missing_packages_and_the_line_that_adds_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    absent = ("PythonCall", "Zygote", "ChainRules")
    says = (*versions()[:1], *(f"bridge\\tmissing\\t{name}" for name in absent))
    exe, project = fake_julia(tmp_path / "fake", "julia version 1.10.10", says)
    choose(monkeypatch, exe, project)
    said = message(prepared)
    assert f"the project {project} does not have PythonCall, Zygote, ChainRules" in said
    wanted = discovery.juliacall_version()
    assert f"""{exe} --project={project} -e 'using Pkg; Pkg.add(name="PythonCall", version="{wanted}"); """ in said
    assert """Pkg.add(["Zygote", "ChainRules"])'""" in said


@posix
def test_pairs_of_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = discovery.juliacall_version()
    says = (*versions(PythonCall="0.9.1"), "bridge\\tready")
    choose(monkeypatch, *fake_julia(tmp_path / "one", "julia version 1.10.10", says))
    said = message(prepared)
    assert f"PythonCall is 0.9.1 and juliacall is {wanted}; they must be of the same version" in said
    assert f'Pkg.add(name="PythonCall", version="{wanted}")' in said
    says = (*versions(MutationBridge="0.0.7"), "bridge\\tready")
    choose(monkeypatch, *fake_julia(tmp_path / "two", "julia version 1.10.10", says))
    said = message(prepared)
    assert "the project has MutationBridge 0.0.7, and this Python package comes with" in said
    assert f'Pkg.develop(path="{discovery.package_folder()}")' in said


@posix
def test_packages_that_do_not_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails = "noise\nERROR: LoadError: UndefVarError: x not defined\nStacktrace:\n [1] top-level scope"
    choose(monkeypatch, *fake_julia(tmp_path / "fake", "julia version 1.10.10", versions(), fails))
    said = message(prepared)
    assert "its packages do not load: ERROR: LoadError: UndefVarError: x not defined (from" in said
    assert "Stacktrace" not in said


def test_import_starts_and_loads_nothing() -> None:
    code = "import bridge, json, sys; f = bridge.julia; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True).stdout)
    assert "bridge.julia" in loaded
    assert not {"juliacall", "juliapkg", "bridge.julia.session", "bridge.julia.function", "platformdirs"} & set(loaded)


def test_public_names_are_not_hidden_by_modules_of_the_same_name() -> None:
    import bridge.julia.function
    import bridge.julia.status  # noqa: F401

    assert callable(julia.function)
    assert callable(julia.setup)
    assert callable(julia.status)
    assert {"eval", "function", "setup", "status", "to_jax", "using", "JuliaFunction"} <= set(dir(julia))
    with pytest.raises(AttributeError, match=r"module 'bridge\.julia' has no attribute 'nothing'"):
        _ = julia.nothing  # type: ignore[attr-defined]


def test_juliapkg_finds_the_julia_package_in_a_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    deps = pytest.importorskip("juliapkg.deps")
    monkeypatch.syspath_prepend(str(ROOT))
    found = {package.name: package for package in deps.find_requirements()[1]}
    assert found["MutationBridge"].dev
    assert Path(found["MutationBridge"].path) == discovery.package_folder() == ROOT / "julia"
    uuids = discovery.package_requirements()[1]
    for name in ("Zygote", "ChainRules", "ChainRulesCore", "ForwardDiff"):
        assert found[name].uuid == uuids[name]
