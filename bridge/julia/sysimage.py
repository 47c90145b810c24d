"""The system image of a Julia: the packages of a session, compiled into one file, if the user had one built.

An image holds the code of one Julia, one project and this package as they were. One that no longer fits is not loaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import platformdirs

from bridge.errors import ArgumentError, JuliaNotAvailable
from bridge.julia.discovery import SET_UP, Candidate, julia_version, juliacall_version, package_folder

BUILD, UNDO = f"{SET_UP} --sysimage", f"{SET_UP} --no-sysimage"
SWITCH, VARIABLE = "bridge-sysimage", "BRIDGE_SYSIMAGE"
LEAVES_OUT = f"python -X {SWITCH}=no, or {VARIABLE}=0, starts without it"

OTHER_CODE = ("sysimage", "home", "check-bounds", "compile", "compiled-modules", "inline", "min-optlevel", "optimize")
"""Options of juliacall that ask for another image, another Julia, or code compiled otherwise than an image has it."""

_PREFERENCES = ("LocalPreferences.toml", "JuliaLocalPreferences.toml")


@dataclass(frozen=True)
class Inputs:
    """What Julia found to have gone into an image, and must be as it was when the image is loaded.

    Attributes
    ----------
    library : Julia's library.
    files : the project's manifest, wherever it lies.
    folders : packages whose sources may change in place: not those that Pkg keeps by their contents.
    environments : project files of the load path, whose preferences hold for the packages, too.
    """

    library: str = ""
    files: list[str] = field(default_factory=list)
    folders: list[str] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Cost:
    """What an image costs and brings: bytes on disk and of memory while it was built (0: not known), seconds."""

    size: int
    memory: int
    seconds: float
    gradient_before: float
    gradient_now: float

    def __str__(self) -> str:
        memory = f" with {self.memory / 1e9:.1f} GB of memory" if self.memory else ""
        return (
            f"{self.size / 1e6:.0f} MB, built in {self.seconds / 60:.1f} minutes{memory}; first gradient of a process "
            f"after {self.gradient_now:.1f} s, before {self.gradient_before:.1f} s"
        )


@dataclass(frozen=True)
class Image:
    """An image that `setup` built, and why it is not loaded (`None`: it is).

    Its text is what `status` shows of it.
    """

    path: Path
    cost: Cost | None
    problem: str | None = None

    def __str__(self) -> str:
        if self.problem is not None:
            return f"not loaded: {self.problem}"
        return f"{self.path}\n{self.cost}\nto undo: {UNDO}; {LEAVES_OUT}"


def folder() -> Path:
    """Return where images are kept, whether or not there are any."""
    return platformdirs.user_cache_path("mutation-bridge") / "julia" / "sysimages"


def image(candidate: Candidate) -> Image | None:
    """Return the image that was built for a candidate, held against what there is now; `None` if none was built."""
    try:
        record = json.loads(_record(candidate).read_text(encoding="utf-8"))
    except OSError:
        return None
    except ValueError:
        return Image(_record(candidate), None, f"{_record(candidate)} cannot be read; build it again: {BUILD}")
    try:
        path, inputs, cost = folder() / record["image"], Inputs(**record["inputs"]), Cost(**record["cost"])
        problem = _unfit(candidate, path, record["stamp"], inputs, record["fingerprint"])
    except (KeyError, TypeError, ValueError) as error:
        return Image(
            _record(candidate), None, f"{_record(candidate)} is incomplete ({error!r}); build it again: {BUILD}"
        )
    return Image(path, cost, problem or _declined())


def remember(candidate: Candidate, path: Path, inputs: Inputs, found: dict[str, str], cost: Cost) -> None:
    """Let sessions of a candidate load an image that was built from what had this fingerprint."""
    record = {"image": path.relative_to(folder()).as_posix(), "stamp": _stamp(path), "fingerprint": found}
    record |= {"inputs": asdict(inputs), "cost": asdict(cost)}
    partial = path.with_name("record.json")
    partial.write_text(json.dumps(record, indent=1), encoding="utf-8")
    partial.replace(_record(candidate))


def remove(beside: Path | None = None) -> None:
    """Remove all images and what was installed to build them, or the candidate's other images than `beside`.

    Raises
    ------
    ArgumentError
        If one cannot be removed.
    """
    if beside is not None:
        # One that a process has loaded cannot be removed on Windows; --no-sysimage does that later.
        for other in folder().glob(f"{beside.parent.name.partition('-')[0]}-*"):
            if other != beside.parent:
                shutil.rmtree(other, ignore_errors=True)
        return
    try:
        # Records first: what is half removed is not loaded.
        for record in folder().glob("*.json"):
            record.unlink()
        if folder().exists():
            shutil.rmtree(folder())
    except OSError as error:
        raise ArgumentError(
            f"the images in {folder()} cannot be removed: {error}",
            remedy=f"end the Python processes that have loaded one, then {UNDO}",
        ) from error


def name_of(candidate: Candidate) -> str:
    """Return what files of a candidate's images begin with."""
    return hashlib.sha256(f"{candidate.exe}\n{candidate.project}".encode()).hexdigest()[:16]


def fingerprint(candidate: Candidate, inputs: Inputs) -> dict[str, str]:
    """Return a digest of each thing that decides whether an image fits, by what a message calls it."""
    assert candidate.project is not None
    environment = [f"{variable}={os.environ.get(variable)}" for variable in ("JULIA_LOAD_PATH", "JULIA_DEPOT_PATH")]
    found = {
        "Julia": _digest(julia_version(candidate), inputs.library, _stamp(Path(inputs.library))),
        "juliacall": juliacall_version(),
        "the processor": _processor(),
        "JULIA_LOAD_PATH or JULIA_DEPOT_PATH": _digest(*environment),
        f"the project {candidate.project}": _contents([*candidate.project.glob("*.toml"), *map(Path, inputs.files)]),
        "preferences of the environments in Julia's load path": _digest(*map(_preferences, inputs.environments)),
    }
    # This package's own sources also where the project has others: which of them is loaded must not matter.
    for package in sorted({*inputs.folders, str(package_folder())}):
        found[f"the sources in {package}"] = _sources(Path(package))
    return found


def changes(before: dict[str, str], now: dict[str, str]) -> str:
    """Name what is another thing in the second fingerprint; empty if nothing is."""
    return " and ".join(name for name in dict.fromkeys([*before, *now]) if before.get(name) != now.get(name))


def _unfit(candidate: Candidate, path: Path, stamp: Any, inputs: Inputs, before: dict[str, str]) -> str | None:
    """Say why an image is not what belongs here now; `None` if it is."""
    if _stamp(path) != stamp:
        return f"{path} is not the file that was built; build it again: {BUILD}"
    try:
        now = fingerprint(candidate, inputs)
    except JuliaNotAvailable as error:
        return error.what
    changed = changes(before, now)
    return f"since it was built, {changed} changed; build it again: {BUILD}" if changed else None


def _declined() -> str | None:
    """Say what this process was told that is against an image; `None` if it was told nothing."""
    if sys._xoptions.get(SWITCH, True) in ("no", "0"):
        return f"-X {SWITCH}=no"
    if os.environ.get(VARIABLE, "1") in ("no", "0"):
        return f"{VARIABLE}={os.environ[VARIABLE]}"
    for option in OTHER_CODE:
        variable = "PYTHON_JULIACALL_" + {"home": "BINDIR"}.get(option, option.upper().replace("-", "_"))
        if f"juliacall-{option}" in sys._xoptions:
            return f"-X juliacall-{option} asks for another one"
        if variable in os.environ:
            return f"{variable} asks for another one"
    return None


def _record(candidate: Candidate) -> Path:
    return folder() / f"{name_of(candidate)}.json"


def _stamp(file: Path) -> list[int] | None:
    """Size and time of a file, which tell another one. Reading an image would take longer than its start."""
    try:
        found = file.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _digest(*parts: Any) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


def _contents(files: Iterable[Path]) -> str:
    """Digest names and contents; a file that cannot be read is none."""
    digest = hashlib.sha256()
    for file in sorted(set(files)):
        try:
            digest.update(f"\n{file}\n".encode() + file.read_bytes())
        except OSError:
            digest.update(f"\n{file} is missing\n".encode())
    return digest.hexdigest()


def _sources(package: Path) -> str:
    """Digest what Julia compiles of a package. In a wheel, the Python package lies in the same folder."""
    inside = [file for part in ("src", "ext") for file in (package / part).rglob("*") if file.is_file()]
    return _contents([*package.glob("*.toml"), *inside])


def _preferences(project: str) -> str:
    """What an environment says of preferences; other packages in it do not matter."""
    file = Path(project)
    try:
        own = tomllib.loads(file.read_text(encoding="utf-8")).get("preferences")
    except (OSError, ValueError):
        own = None
    return _digest(project, own, _contents(file.with_name(name) for name in _PREFERENCES))


def _processor() -> str:
    """What the machine code of an image was made for."""
    told = [platform.machine()]
    try:
        if sys.platform == "win32":
            told.append(platform.processor())
        elif sys.platform == "darwin":
            command = ["/usr/sbin/sysctl", "-n", "machdep.cpu.brand_string"]
            told.append(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
        elif sys.platform == "linux":
            with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
                first = file.read(8192).split("\n\n")[0].splitlines()
            told += [line for line in first if line.split("\t")[0] in ("model name", "flags", "Features", "CPU part")]
    except OSError:
        pass  # Julia looks by itself, and ends the process where an image needs another processor.
    return _digest(*told)
