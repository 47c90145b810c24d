"""A stand-in for a Julia that builds images, and what juliacall is told about them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from bridge import julia
from bridge.julia import discovery, first_calls, session, sysimage, sysimage_building
from tests.julia_python.fake_julia import READY, choose, fake_julia

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
