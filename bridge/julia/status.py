"""What Julia there is: found where, which versions, what is missing, the line to type; and how one is set up.

Julia is not started for it, except by `setup`, in processes of its own.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bridge.errors import ArgumentError, JuliaNotAvailable
from bridge.julia import config
from bridge.julia import sysimage as images
from bridge.julia.choosing import AUTOMATIC, INTERFACE, PACKAGES, choices
from bridge.julia.discovery import (
    CHOOSE,
    PACKAGE,
    SET_UP,
    Candidate,
    discover,
    existing,
    julia_version,
    juliacall_version,
    package_requirements,
    unusable,
)
from bridge.julia.preparation import add_line, prepare, versions_when_ready
from bridge.julia.session import forget_failure, started
from bridge.julia.sysimage_building import build

SHOWN = ("Julia", "juliacall", "PythonCall", "Zygote", "ChainRules", "ForwardDiff", PACKAGE)


@dataclass(frozen=True)
class Status:
    """What `bridge.julia.status()` found; `print` it.

    Attributes
    ----------
    found : whether there is a Julia with everything that is needed.
    how, source : who says so: "configuration", "environment", "juliapkg" or "running", and where.
    exe, project : Julia's executable, the folder of the project.
    versions : of `SHOWN`, as far as they are known.
    ready : whether everything was seen compiled, so that a session starts within seconds.
    started : whether this process has started Julia.
    image : the system image that `setup` built: where it is, what it cost and how to undo it, or why it is not loaded.
    missing : packages that the project does not have.
    engines : the versions of the engines of `julia.function(ad=...)` that the project has, and of the package by which
        all but Zygote are called.
    chosen : what `ad="auto"` chose in this process, and why, where it was not Zygote.
    problem : what is wrong, if anything is.
    line : what to type next; `None` if nothing is needed.
    """

    found: bool
    how: str | None = None
    source: str | None = None
    exe: Path | None = None
    project: Path | None = None
    versions: dict[str, str] = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    image: str | None = None
    missing: tuple[str, ...] = ()
    engines: dict[str, str] = field(default_factory=dict)
    chosen: tuple[str, ...] = ()
    problem: str | None = None
    line: str | None = None

    def __str__(self) -> str:
        lines = []
        if self.source:
            lines += [f"{'found by':<16}{self.source}", f"{'executable':<16}{self.exe or 'none yet'}"]
            lines += [f"{'project':<16}{self.project}"]
        lines += [f"{name:<16}{self.versions.get(name, 'missing')}" for name in SHOWN if self.found or self.versions]
        if self.missing:
            lines.append(f"{'missing':<16}{', '.join(self.missing)}")
        if self.engines:
            engines = ", ".join(f"{name} {version}" for name, version in self.engines.items())
            lines += [f"{'engines':<16}{engines}", f"{'ad=auto':<16}{_automatic(self.engines)}"]
        lines += [f"{'':<16}{one}" for one in self.chosen]
        if self.problem:
            lines.append(self.problem)
        if self.found:
            state = "ready" if self.ready else "compiles at first use, or with the line below"
            lines.append(f"{'state':<16}{'started' if self.started else state}")
        if self.image:
            lines += [f"{'' if k else 'image':<16}{one}" for k, one in enumerate(self.image.splitlines())]
        if self.line:
            lines.append(f"{'to type':<16}{self.line}")
        return "\n".join(lines)


def status() -> Status:
    """Say which Julia a session has or would have, from files and `julia --version`; starts and writes nothing."""
    running = started()
    try:
        candidate = running.candidate if running is not None else discover()
    except JuliaNotAvailable as error:
        return Status(found=False, problem=error.what, line=_line(error))
    known: dict[str, Any] = {"how": candidate.how, "source": candidate.source, "project": candidate.project}
    known |= {"exe": candidate.exe, "started": running is not None}
    if candidate.exe is None or candidate.project is None:
        return Status(False, **known, problem="juliapkg has installed no Julia here yet", line=SET_UP)
    try:
        versions = {"Julia": julia_version(candidate), "juliacall": juliacall_version()}
    except JuliaNotAvailable as error:
        return Status(False, **known, problem=error.what, line=_line(error))
    built = None if candidate.how == "running" else images.image(candidate)
    known["image"] = None if built is None else str(built)
    seen = versions_when_ready(candidate)
    versions |= seen if seen is not None else _recorded_versions(candidate.project)
    missing = _missing(candidate, versions)
    versions.setdefault(PACKAGE, package_requirements()[0])
    shown = {name: versions[name] for name in SHOWN if name in versions}
    recorded = _recorded_versions(candidate.project) | versions
    engines = {name: recorded[name] for name in (*PACKAGES.values(), INTERFACE) if name in recorded}
    known |= {"engines": engines, "chosen": choices()}
    known |= {"versions": shown, "ready": seen is not None, "missing": missing}
    if missing:
        return Status(False, **known, line=add_line(candidate, list(missing)) or SET_UP)
    if versions["PythonCall"] != versions["juliacall"]:
        pair = f"PythonCall is {versions['PythonCall']} and juliacall is {versions['juliacall']}"
        unequal = unusable(candidate, f"{pair}; they must be of the same version", add_line(candidate, ["PythonCall"]))
        return Status(False, **known, problem=unequal.what, line=_line(unequal))
    return Status(True, **known, line=None if seen is not None or running is not None else SET_UP)


def setup(
    exe: str | os.PathLike[str] | None = None,
    project: str | os.PathLike[str] | None = None,
    *,
    forget: bool = False,
    sysimage: bool | None = None,
) -> Status:
    """Get Julia ready, and return what `status` says then.

    Parameters
    ----------
    exe, project : a Julia of your own and the folder of its project, which has PythonCall, Zygote, ChainRules,
        ChainRulesCore and ForwardDiff (MutationBridge comes with this package). They are tried, and then kept in the
        user's configuration, which comes before everything else. Without them, the Julia that would be used is
        prepared: the configuration's, the one of PYTHON_JULIACALL_EXE and _PROJECT, or what juliapkg installs.
    forget : remove the configuration instead; nothing is prepared.
    sysimage : whether to build a system image for it besides, with which a process has its first gradient in a fraction
        of the time. That takes minutes, once for each version of Julia, of the project and of this package: an image of
        others is not loaded. With False, all images are removed, and nothing is prepared unless `exe` is given.

    Raises
    ------
    JuliaNotAvailable
        With what is wrong with it; the configuration stays as it was. Or with what was in the way of an image.
    ArgumentError
        If only one of `exe` and `project` is given, one together with `forget`, or `sysimage=True` with `forget`; if
        images cannot be removed.
    """
    if (exe is None) != (project is None) or (forget and (exe is not None or sysimage)):
        raise ArgumentError("exe and project are given together, and without forget", remedy=CHOOSE)
    if sysimage is False:
        images.remove()
    if forget:
        config.forget()
    elif exe is not None and project is not None:
        chosen = existing(Candidate("choice", "what was given to setup", Path(exe), Path(project)))
        chosen = prepare(chosen, again=True)
        assert chosen.exe is not None and chosen.project is not None
        config.write(config.Choice(chosen.exe, chosen.project))
        if sysimage:
            build(chosen)
    elif sysimage is not False:
        chosen = prepare(discover(), again=True)
        if sysimage:
            build(chosen)
    forget_failure()
    return status()


def _automatic(engines: dict[str, str]) -> str:
    """What `ad="auto"` takes, of the engines that are there."""
    names = [PACKAGES[name] for name in AUTOMATIC]
    there = [name for name in names if name in engines and (name == names[0] or INTERFACE in engines)]
    absent = [name for name in (INTERFACE, *names) if name not in engines]
    return f"{', then '.join(there)}" + (f" (not in the project: {', '.join(absent)})" if absent else "")


def _line(error: JuliaNotAvailable) -> str | None:
    return error.remedy.splitlines()[0] if error.remedy else None


def _missing(candidate: Candidate, versions: dict[str, str]) -> tuple[str, ...]:
    """Name the packages that neither a look by Julia nor the project's manifest has."""
    return tuple(name for name in ("PythonCall", *package_requirements()[1]) if name not in versions)


def _recorded_versions(project: Path) -> dict[str, str]:
    """Return the versions that the project's manifest holds; the standard library's may have none."""
    manifests = [*sorted(project.glob("*Manifest-v*.toml")), *sorted(project.glob("*Manifest.toml"))]
    for manifest in manifests:
        try:
            content = tomllib.loads(manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        entries = content.get("deps", content)
        return {
            name: entry[0].get("version", "with Julia") for name, entry in entries.items() if isinstance(entry, list)
        }
    return {}
