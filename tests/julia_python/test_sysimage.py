"""System images: loaded where they fit and nowhere else, said, removed; with stand-ins for Julia."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bridge import julia
from bridge.cli import commands
from bridge.errors import ArgumentError
from bridge.julia import discovery, sysimage
from tests.julia_python.fake_image import Fake, built, fake, loaded
from tests.julia_python.fake_julia import READY, fake_julia, nothing_set_up, posix

__all__ = ["built", "fake", "nothing_set_up"]

pytestmark = posix


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
