"""System images are built, or what was in the way is named and nothing stays; with stand-ins for Julia, one real."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bridge import julia
from bridge.julia import sysimage, sysimage_building
from tests.helpers.julia_process import answer, environment
from tests.julia_python.fake_image import ANSWERS, Fake, building, built, fake
from tests.julia_python.fake_julia import READY, fake_julia, message, nothing_set_up, posix

__all__ = ["built", "fake", "nothing_set_up"]

pytestmark = posix


def test_a_new_image_takes_the_place_of_the_old_one(built: Fake) -> None:
    old = built.image().path
    (built.project / "Manifest.toml").write_text("# resolved again\n")
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
