"""Which Julia: the command line's, the user's configuration, juliacall's variables, then what juliapkg installs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from bridge.errors import JuliaNotAvailable
from bridge.julia import config

OLDEST, NEWEST = (1, 10, 3), (1, 12)
WANTED = "1.10.3 to 1.12"
PACKAGE = "MutationBridge"

SET_UP = "python -m bridge julia setup"
CHOOSE = f"{SET_UP} --exe PATH --project PATH"
INSTALL = 'python -m pip install "mutation-bridge[julia]"'
WITHOUT = "without Julia everything works except bridge.julia and engine='julia'"


class Candidate(NamedTuple):
    """A Julia that a session could start.

    how : "configuration", "environment", "juliapkg" or "running" (the program itself started juliacall before).
    source : where that was said, for messages.
    exe, project : `None` as long as juliapkg has not resolved them.
    """

    how: str
    source: str
    exe: Path | None
    project: Path | None


def discover() -> Candidate:
    """Return the Julia to use; nothing is started, downloaded or written.

    Raises
    ------
    JuliaNotAvailable
        If juliacall is missing, or what the user asked for is not there.
    """
    juliacall_version()
    choice = config.read()
    running = sys.modules.get("juliacall")
    if running is not None and running.CONFIG.get("inited"):
        exe, project = running.CONFIG.get("exepath"), running.CONFIG.get("project")
        return Candidate("running", "juliacall, started by the program", _path(exe), _path(project))
    commanded = any(f"juliacall-{key}" in sys._xoptions for key in config.KEYS)
    if choice is not None and not commanded:
        return existing(Candidate("configuration", str(config.place()), *choice))
    options = _juliacall_options()
    if options is not None:
        return existing(options)
    return _juliapkg_candidate()


def existing(candidate: Candidate) -> Candidate:
    """Return the candidate with absolute paths, or raise `JuliaNotAvailable` if one of them is not there."""
    exe, project = candidate.exe, candidate.project
    found = None if exe is None else shutil.which(exe)
    if found is None:
        raise unusable(candidate, f"there is no executable file {exe}")
    if project is None or not project.is_dir():
        raise unusable(candidate, f"there is no project folder {project}")
    return candidate._replace(exe=Path(os.path.abspath(found)), project=Path(os.path.abspath(project)))


def unusable(candidate: Candidate, why: str, line: str | None = None) -> JuliaNotAvailable:
    """Return the error that says why `candidate` cannot be used, and what to type."""
    remedies = {
        "configuration": f"{CHOOSE}  (or {SET_UP} --forget)",
        "environment": f"set PYTHON_JULIACALL_EXE and PYTHON_JULIACALL_PROJECT to others, unset both, or {CHOOSE}",
        "juliapkg": f"{SET_UP}, or with a Julia of your own: {CHOOSE}",
        "running": f"let bridge start Julia: call bridge.julia before juliacall is imported; see {SET_UP}",
    }
    remedy = line or remedies.get(candidate.how, CHOOSE)
    return JuliaNotAvailable(f"Julia cannot be used: {why} (from {candidate.source})", remedy=f"{remedy}\n  {WITHOUT}")


def juliacall_version() -> str:
    """Return the version of juliacall that is installed; `JuliaNotAvailable` if none is."""
    try:
        if sys.modules.get("juliacall", sys) is None:
            raise metadata.PackageNotFoundError("juliacall")
        return metadata.version("juliacall")
    except metadata.PackageNotFoundError as error:
        raise JuliaNotAvailable(
            "Julia cannot be used: juliacall is not installed", remedy=f"{INSTALL}; {SET_UP}\n  {WITHOUT}"
        ) from error


def julia_version(candidate: Candidate) -> str:
    """Ask the executable for its version; `JuliaNotAvailable` if it does not answer as Julia, or is out of range."""
    try:
        answer = subprocess.run(
            [str(candidate.exe), "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise unusable(candidate, f"{candidate.exe} --version failed: {error}") from error
    said = answer.stdout.strip()
    parts = re.match(r"julia version ((\d+)\.(\d+)\.(\d+)\S*)", said)
    if answer.returncode or parts is None:
        shown = (said or answer.stderr.strip()).splitlines()[:1] or ["nothing"]
        raise unusable(
            candidate, f"{candidate.exe} --version says {shown[0]!r} (exit status {answer.returncode}); it is no Julia"
        )
    number = tuple(int(part) for part in parts.groups()[1:])
    if number < OLDEST or number[:2] > NEWEST:
        raise unusable(candidate, f"{candidate.exe} is Julia {parts[1]}; Julia {WANTED} is needed")
    return parts[1]


def package_folder() -> Path:
    """Return the folder of the Julia package: beside the Python code in a wheel, beside `bridge` in a checkout."""
    here = Path(__file__).resolve().parent
    folders = (here, here.parents[1] / "julia")
    return next(folder for folder in folders if (folder / "Project.toml").is_file())


def package_requirements() -> tuple[str, dict[str, str]]:
    """Return the version of the Julia package that belongs to this Python package, and its dependencies' uuids."""
    project = tomllib.loads((package_folder() / "Project.toml").read_text(encoding="utf-8"))
    return project["version"], project["deps"]


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _juliacall_options() -> Candidate | None:
    """Return what `-X juliacall-exe=...` or the variables of juliacall say, which it wants both or neither."""
    found: dict[str, tuple[str, str]] = {}
    for key in config.KEYS:
        name, variable = f"juliacall-{key}", f"PYTHON_JULIACALL_{key.upper()}"
        if name in sys._xoptions:
            found[key] = (f"-X {name}", str(sys._xoptions[name]))
        elif variable in os.environ:
            found[key] = (variable, os.environ[variable])
    if not found:
        return None
    source = " and ".join(name for name, _ in found.values())
    paths = {key: Path(value) if value else None for key, (_, value) in found.items()}
    candidate = Candidate("environment", source, paths.get("exe"), paths.get("project"))
    if len(found) < len(config.KEYS):
        raise unusable(candidate, "PYTHON_JULIACALL_EXE and PYTHON_JULIACALL_PROJECT belong together; one is not set")
    return candidate


def _juliapkg_candidate() -> Candidate:
    """Return what juliapkg resolved last, read from its own record; it decides itself whether that still holds."""
    from juliapkg.state import STATE

    try:
        resolved = Path(json.loads(Path(STATE["meta"]).read_text(encoding="utf-8"))["executable"])
    except (OSError, ValueError, KeyError):
        resolved = None
    return Candidate("juliapkg", f"juliapkg, project {STATE['project']}", resolved, Path(STATE["project"]))
