"""System images: built, loaded where they fit and nowhere else, removed; with stand-ins for Julia, and a real one."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bridge import julia
from bridge.cli import commands
from bridge.errors import ArgumentError
from bridge.julia import discovery, first_calls, session, sysimage, sysimage_building
from tests.helpers.julia_process import answer, environment
from tests.julia_python.fake_julia import READY, choose, fake_julia, message, nothing_set_up, posix

__all__ = ["nothing_set_up"]

pytestmark = posix

ANSWERS = f"print({first_calls.FIRST!r})"


class Fake(NamedTuple):
    """A stand-in for Julia, with what it says went into an image."""

    exe: Path
    project: Path
    library: Path
    package: Path
    environment: Path

    @property
    def candidate(self) -> discovery.Candidate:
        return discovery.discover()

    def image(self) -> sysimage.Image:
        found = sysimage.image(self.candidate)
        assert found is not None
        return found


def building(fake: Fake, *more: str) -> tuple[str, ...]:
    """The shell's lines that make an image, and say what went into it."""
    inputs = (("library", fake.library), ("folder", fake.package), ("environment", fake.environment / "Project.toml"))
    said = [f"printf 'bridge\\t{kind}\\t{path}\\n'" for kind, path in inputs]
    said.append("printf 'bridge\\tinputs\\n'; while [ ! -e \"$4/go\" ]; do sleep 0.02; done")
    return (*said, *more, 'echo "machine code" > "$4/image.so"', "printf 'bridge\\timage\\t%s\\n' \"$4/image.so\"")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """The chosen Julia, whose image was not built yet."""
    home = tmp_path / "fake"
    made = Fake(home / "julia", home / "project", home / "libjulia.so", home / "Package", home / "environment")
    fake_julia(home, says=READY, builds=building(made))
    made.library.write_text("a library")
    for folder in (made.package / "src", made.environment):
        folder.mkdir(parents=True)
    (made.package / "src" / "Package.jl").write_text("module Package end\n")
    choose(monkeypatch, made.exe, made.project)
    monkeypatch.setenv("JULIA_CC", "cc")
    monkeypatch.delenv(sysimage.VARIABLE, raising=False)
    monkeypatch.setattr(sysimage_building, "FIRST_CALLS", ANSWERS)
    monkeypatch.setattr(sysimage_building, "ROOM", 0)
    return made


@pytest.fixture
def built(fake: Fake) -> Fake:
    julia.setup(sysimage=True)
    return fake


def loaded(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """The image that juliacall is told to start with."""
    folder = tmp_path / "path"
    folder.mkdir(exist_ok=True)
    (folder / "juliacall.py").write_text("import os\nSYSIMAGE = os.environ.get('PYTHON_JULIACALL_SYSIMAGE')\n")
    monkeypatch.syspath_prepend(str(folder))
    importlib.invalidate_caches()
    monkeypatch.delitem(sys.modules, "juliacall", raising=False)
    told: str | None = session._juliacall(fake.candidate, sysimage.image(fake.candidate)).SYSIMAGE
    del sys.modules["juliacall"]
    return told


def test_an_image_is_built_said_loaded_and_removed(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sysimage.image(fake.candidate) is None
    assert julia.status().image is None
    assert loaded(fake, tmp_path, monkeypatch) is None
    assert commands.main(["julia", "setup", "--sysimage"]) == 0
    printed = capsys.readouterr().out
    image = fake.image()
    assert image.path.read_text() == "machine code\n"
    told = (
        rf"image +{re.escape(str(image.path))}",
        r" +0 MB, built in 0\.\d minutes.*; first gradient of a process after [\d.]+ s, before [\d.]+ s",
        r" +to undo: python -m bridge julia setup --no-sysimage; python -X bridge-sysimage=no, or BRIDGE_SYSIMAGE=0, ",
    )
    assert re.search("\n".join(told), printed)
    assert loaded(fake, tmp_path, monkeypatch) == str(image.path)
    assert sorted(path.name for path in image.path.parent.iterdir()) == ["image.so"]
    assert commands.main(["julia", "status"]) == 0
    assert capsys.readouterr().out == printed
    assert commands.main(["julia", "setup", "--no-sysimage"]) == 0
    assert not re.search("^image ", capsys.readouterr().out, re.MULTILINE)
    assert not sysimage.folder().exists()
    assert loaded(fake, tmp_path, monkeypatch) is None
    assert commands.main(["julia", "setup", "--no-sysimage"]) == 0, "there is none, which is what was asked for"


def changed_manifest(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    (fake.project / "Manifest.toml").write_text("# resolved again\n")
    return f"the project {fake.project}"


def changed_sources(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    (fake.package / "src" / "Package.jl").write_text("module Package f() = 2 end\n")
    return f"the sources in {fake.package}"


def new_file(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    (fake.package / "src" / "more.jl").write_text("")
    return f"the sources in {fake.package}"


def other_package(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    copy = fake.exe.parent / "other"
    shutil.copytree(discovery.package_folder(), copy, ignore=shutil.ignore_patterns("*.py", "test"))
    monkeypatch.setattr(sysimage, "package_folder", lambda: copy)
    return f"the sources in {discovery.package_folder()} and the sources in {copy}"


def other_version(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    fake_julia(fake.exe.parent, "julia version 1.10.9", READY)
    return "Julia"


def other_library(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    fake.library.write_text("a library of the same version, built again")
    return "Julia"


def other_juliacall(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sysimage, "juliacall_version", lambda: "0.9.99")
    return "juliacall"


def other_depot(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("JULIA_DEPOT_PATH", "/elsewhere")
    return "JULIA_LOAD_PATH or JULIA_DEPOT_PATH"


def other_preferences(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    (fake.environment / "LocalPreferences.toml").write_text("[ForwardDiff]\nnansafe_mode = true\n")
    return "preferences of the environments in Julia's load path"


def preferences_in_a_project(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    (fake.environment / "Project.toml").write_text("[preferences.ForwardDiff]\nnansafe_mode = true\n")
    return "preferences of the environments in Julia's load path"


def other_processor(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(sysimage.platform, "machine", lambda: "sparc")
    return "the processor"


CHANGES = (
    changed_manifest, changed_sources, new_file, other_package, other_version, other_library, other_juliacall,
    other_depot, other_preferences, preferences_in_a_project, other_processor,
)  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_an_image_of_something_else_is_not_loaded_and_named(
    built: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Fake, pytest.MonkeyPatch], str]
) -> None:
    what = change(built, monkeypatch)
    assert built.image().problem == f"since it was built, {what} changed; build it again: {sysimage.BUILD}"
    assert f"not loaded: since it was built, {what} changed" in str(julia.status())
    assert loaded(built, tmp_path, monkeypatch) is None


def test_other_packages_of_other_environments_do_not_matter(built: Fake) -> None:
    (built.environment / "Project.toml").write_text('[deps]\nExample = "7876af07-990d-54b4-ab0e-23690620f79a"\n')
    (built.package / "test").mkdir()
    (built.package / "test" / "runtests.jl").write_text("")
    assert built.image().problem is None


def cut(fake: Fake) -> str:
    fake.image().path.write_bytes(b"mach")
    return "is not the file that was built; build it again"


def replaced(fake: Fake) -> str:
    path = fake.image().path
    path.write_text("no machine!!\n")
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 10**9))
    return "is not the file that was built"


def gone(fake: Fake) -> str:
    fake.image().path.unlink()
    return "is not the file that was built"


def unreadable_record(fake: Fake) -> str:
    next(sysimage.folder().glob("*.json")).write_text("{")
    return "cannot be read; build it again: python -m bridge julia setup --sysimage"


def incomplete_record(fake: Fake) -> str:
    next(sysimage.folder().glob("*.json")).write_text(json.dumps({"image": "image.so"}))
    return "is incomplete"


def no_record(fake: Fake) -> str:
    next(sysimage.folder().glob("*.json")).write_text("[]")
    return "is incomplete"


@pytest.mark.parametrize("damage", [cut, replaced, gone, unreadable_record, incomplete_record, no_record])
def test_a_damaged_image_does_not_break_the_start(
    built: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: Callable[[Fake], str]
) -> None:
    why = damage(built)
    assert why in str(julia.status())
    assert loaded(built, tmp_path, monkeypatch) is None
    assert julia.setup(sysimage=True).image == str(built.image())
    assert built.image().problem is None, "building it again mends it"


@pytest.mark.parametrize(
    ("option", "variable", "why"),
    [
        (("bridge-sysimage", "no"), None, "-X bridge-sysimage=no"),
        (None, ("BRIDGE_SYSIMAGE", "0"), "BRIDGE_SYSIMAGE=0"),
        (("juliacall-check-bounds", "yes"), None, "-X juliacall-check-bounds asks for another one"),
        (None, ("PYTHON_JULIACALL_BINDIR", "/"), "PYTHON_JULIACALL_BINDIR asks for another one"),
        (None, ("PYTHON_JULIACALL_COMPILED_MODULES", "no"), "PYTHON_JULIACALL_COMPILED_MODULES asks for another one"),
    ],
)
def test_a_process_can_go_without(
    built: Fake,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    option: tuple[str, str] | None,
    variable: tuple[str, str] | None,
    why: str,
) -> None:
    if option is not None:
        monkeypatch.setitem(sys._xoptions, *option)
    if variable is not None:
        monkeypatch.setenv(*variable)
    assert str(built.image()) == f"not loaded: {why}"
    assert loaded(built, tmp_path, monkeypatch) is None


def test_an_image_of_the_users_own_comes_first(built: Fake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHON_JULIACALL_SYSIMAGE", "/an/image.so")
    assert loaded(built, tmp_path, monkeypatch) == "/an/image.so"


def test_a_new_image_takes_the_place_of_the_old_one(built: Fake) -> None:
    old = built.image().path
    changed_manifest(built, pytest.MonkeyPatch())
    julia.setup(sysimage=True)
    assert built.image().path != old
    assert built.image().problem is None
    assert not old.exists()
    assert len(list(sysimage.folder().iterdir())) == 2, "an image and its record"


def fails(fake: Fake, *lines: str) -> str:
    fake_julia(fake.exe.parent, says=READY, builds=lines)
    return message(lambda: julia.setup(sysimage=True))


def test_what_was_in_the_way_is_named_and_nothing_stays(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    said = fails(fake, "echo 'ERROR: LoadError: linking took 9 lives' >&2", "exit 1")
    assert said.startswith("no image of Julia was built: ERROR: LoadError: linking took 9 lives")
    assert f"remedy: {sysimage.BUILD} tries again; Julia works without" in said
    said = fails(fake, "printf 'bridge\\tabsent\\tPackageCompiler\\n'", "echo 'ERROR: no network' >&2", "exit 1")
    assert "PackageCompiler cannot be installed: ERROR: no network" in said
    assert f"{fake.exe} --project={fake.project} -e 'using Pkg; Pkg.add(\"PackageCompiler\")'" in said
    assert "Julia ended with exit status 0" in fails(fake)
    monkeypatch.setattr(sysimage_building, "FIRST_CALLS", "raise RuntimeError('it does not differentiate')")
    assert "first gradients do not run: RuntimeError: it does not differentiate" in fails(fake, *building(fake))
    assert list(sysimage.folder().iterdir()) == []


def test_an_image_that_does_not_start_is_not_kept(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    crashes = "import sys; assert 'juliacall-sysimage' not in sys._xoptions, 'a bad image'"
    monkeypatch.setattr(sysimage_building, "FIRST_CALLS", f"{crashes}; {ANSWERS}")
    assert "first gradients do not run: AssertionError: a bad image" in fails(fake, *building(fake))
    assert sysimage.image(fake.candidate) is None


def test_what_changed_while_it_was_built_is_not_what_it_holds(fake: Fake) -> None:
    said = fails(fake, *building(fake, f'echo "# another" >> "{fake.package}/src/Package.jl"'))
    assert said.startswith(f"no image of Julia was built: meanwhile, the sources in {fake.package} changed")
    assert sysimage.image(fake.candidate) is None


def test_what_it_needs_is_asked_for_first(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    candidate = fake.candidate
    monkeypatch.setattr(sysimage_building, "ROOM", 10**18)
    assert "GB left, and it needs 1000000000" in message(lambda: sysimage_building.build(candidate))
    monkeypatch.delenv("JULIA_CC")
    monkeypatch.setattr(sysimage_building.shutil, "which", lambda name: None)
    assert "neither gcc nor clang" in message(lambda: sysimage_building.build(candidate))


def test_an_image_that_cannot_be_removed_is_an_error_and_not_loaded(
    built: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(path: Path) -> None:
        raise PermissionError(f"{path} is in use")

    monkeypatch.setattr(sysimage.shutil, "rmtree", held)
    with pytest.raises(ArgumentError, match="end the Python processes that have loaded one"):
        julia.setup(sysimage=False)
    assert sysimage.image(built.candidate) is None


def test_forgetting_a_choice_builds_nothing(fake: Fake) -> None:
    with pytest.raises(ArgumentError, match="without forget"):
        julia.setup(forget=True, sysimage=True)


@pytest.mark.julia
@pytest.mark.nightly
def test_a_real_image_gives_the_same_gradients(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    project = tmp_path / "project"
    shutil.copytree(variables["PYTHON_JULIACALL_PROJECT"], project)
    variables["PYTHON_JULIACALL_PROJECT"] = str(project)
    command = [sys.executable, "-m", "bridge", "julia", "setup", "--sysimage"]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    code = """
import numpy as np, bridge
f = bridge.julia.function("x -> (b = MutationBridge.Buffer(x); b[1] = 2 * b[2]; sum(abs2, b .* x))")
bridge.julia.eval("import MutationBridge")
print(bridge.grad(f)(np.array([1.0, 2.0, 3.0])), bridge.julia.eval("unsafe_string(Base.JLOptions().image_file)"))
"""
    gradient, image = answer(code, variables).rsplit(" ", 1)
    assert Path(image.strip()).parts[-3] == "sysimages"
    without, other = answer(code, variables, "-X", "bridge-sysimage=no").rsplit(" ", 1)
    assert gradient == without
    assert "sysimages" not in other
    with (project / "Manifest.toml").open("a") as file:
        file.write("\n# resolved again\n")
    gradient, other = answer(code, variables).rsplit(" ", 1)
    assert gradient == without
    assert "sysimages" not in other
