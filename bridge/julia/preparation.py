"""Get a Julia ready for a session: resolve, check and compile in processes of their own, and remember that."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs

from bridge.julia.discovery import (
    INSTALL,
    PACKAGE,
    Candidate,
    julia_version,
    juliacall_version,
    package_folder,
    package_requirements,
    unusable,
)
from bridge.julia.progress import ProgressLine

# The sockets' timeout: a network that swallows packets is no reason to wait for minutes.
RESOLVE = """
import json, socket, sys
sys.path[:] = json.loads(sys.argv[1])
socket.setdefaulttimeout(20)
import juliapkg
juliapkg.resolve()
"""


def prepare(candidate: Candidate, again: bool = False) -> Candidate:
    """Return the candidate, resolved, with everything that a session needs installed and compiled.

    What was found ready once is not examined again (unless `again`) until the executable, the project, this
    package or juliacall change.

    Raises
    ------
    JuliaNotAvailable
        With what is missing or wrong, and the line to type.
    """
    with ProgressLine() as line:
        if candidate.how == "juliapkg":
            candidate = _resolved(candidate, line)
        julia_version(candidate)
        if again or versions_when_ready(candidate) is None:
            line.step(f"starting Julia for a look at {candidate.project}")
            versions = _examined(candidate, line.step)
            _remember(candidate, versions)
    return candidate


def versions_when_ready(candidate: Candidate) -> dict[str, str] | None:
    """Return the versions that were seen when this candidate was found ready, `None` if that no longer holds."""
    try:
        record = json.loads(_record(candidate).read_text(encoding="utf-8"))
        if record["fingerprint"] == _fingerprint(candidate):
            return dict(record["versions"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _resolved(candidate: Candidate, line: ProgressLine) -> Candidate:
    """Let juliapkg install what `juliapkg.json` asks for, unless it did."""
    import juliapkg

    if not juliapkg.resolve(dry_run=True):
        line.step("juliapkg: looking for Julia")
        # In a process of its own, so that what juliapkg and Pkg print becomes the progress line.
        path = json.dumps([entry or os.getcwd() for entry in sys.path])
        options = [f"-X{name}={value}" for name, value in sys._xoptions.items() if name.startswith("juliapkg-")]
        command = [sys.executable, *options, "-u", "-c", RESOLVE, path]
        status, said = run(command, lambda text: line.step(text.replace("[juliapkg]", "juliapkg:")), together=True)
        if status or not juliapkg.resolve(dry_run=True):
            why = reason(said) or f"exit status {status}"
            raise unusable(candidate, f"juliapkg could not install Julia and its packages: {why}")
    return candidate._replace(exe=Path(juliapkg.executable()), project=Path(juliapkg.project()))


def _examined(candidate: Candidate, say: Callable[[str], None]) -> dict[str, str]:
    """Run `preparation.jl` under the candidate and return the versions of its packages."""
    versions: dict[str, str] = {}
    missing: list[str] = []
    ready = False

    def listen(text: str) -> None:
        nonlocal ready
        match text.split("\t"):
            case ["bridge", "step", what]:
                say(f"Julia {versions.get('Julia', '')}: {what}")
            case ["bridge", "version", name, version]:
                versions[name] = version
            case ["bridge", "missing", name]:
                missing.append(name)
            case ["bridge", "ready"]:
                ready = True

    script, project = Path(__file__).with_name("preparation.jl"), f"--project={candidate.project}"
    command = [str(candidate.exe), project, "--startup-file=no", str(script), str(package_folder())]
    status, said = run(command, listen)
    if missing:
        raise unusable(candidate, _absent(candidate, missing), add_line(candidate, missing))
    if not versions:
        raise unusable(candidate, f"{candidate.exe} does not run: {reason(said) or f'exit status {status}'}")
    _check_pairs(candidate, versions)
    if not ready:
        raise unusable(candidate, f"its packages do not load: {reason(said) or f'exit status {status}'}")
    return versions


def _absent(candidate: Candidate, missing: list[str]) -> str:
    return f"the project {candidate.project} does not have {', '.join(missing)}"


def add_line(candidate: Candidate, names: list[str]) -> str | None:
    """Return the line that adds packages to a project of the user's own (`None`: juliapkg looks after the project)."""
    if candidate.how == "juliapkg":
        return None
    steps = []
    if "PythonCall" in names:
        steps.append(f'Pkg.add(name="PythonCall", version="{juliacall_version()}")')
    others = ", ".join(f'"{name}"' for name in names if name != "PythonCall")
    if others:
        steps.append(f"Pkg.add([{others}])")
    return f"{candidate.exe} --project={candidate.project} -e 'using Pkg; {'; '.join(steps)}'"


def _check_pairs(candidate: Candidate, versions: dict[str, str]) -> None:
    """Hold the two pairs that must be of one version: PythonCall and juliacall, and this package's two halves."""
    wanted = juliacall_version()
    if versions["PythonCall"] != wanted:
        raise unusable(
            candidate,
            f"PythonCall is {versions['PythonCall']} and juliacall is {wanted}; they must be of the same version",
            add_line(candidate, ["PythonCall"]) or INSTALL,
        )
    wanted = package_requirements()[0]
    if versions[PACKAGE] != wanted:
        raise unusable(
            candidate,
            f"the project has {PACKAGE} {versions[PACKAGE]}, and this Python package comes with {wanted}",
            f"{candidate.exe} --project={candidate.project} -e 'using Pkg; Pkg.develop(path=\"{package_folder()}\")'",
        )


def run(command: list[str], listen: Callable[[str], None], together: bool = False) -> tuple[int, list[str]]:
    """Run a command, hand on its output line by line as it comes, and return its status and what it said of errors.

    With `together`, error output is handed on as well.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if together else errors,
            encoding="utf-8",
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        said = []
        try:
            for text in process.stdout:
                said.append(text)
                listen(text.strip("\n"))
        except BaseException:
            process.kill()
            raise
        status = process.wait()
        errors.seek(0)
        return status, said if together else errors.read().splitlines()


def reason(said: list[str]) -> str:
    """Return the lines that tell most: Julia's first error, or the last line of a Python traceback."""
    lines = [text.strip() for text in said if text.strip()]
    for number, text in enumerate(lines):
        if text.startswith("ERROR:"):
            end = next((k for k in range(number, len(lines)) if lines[k].startswith("Stacktrace")), number + 3)
            return "\n    ".join(lines[number : min(end, number + 6)])
    return lines[-1] if lines else ""


def _record(candidate: Candidate) -> Path:
    name = hashlib.sha256(f"{candidate.exe}\n{candidate.project}".encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("mutation-bridge") / "julia" / f"{name}.json"


def _remember(candidate: Candidate, versions: dict[str, str]) -> None:
    record = {"fingerprint": _fingerprint(candidate), "versions": versions}
    try:
        _record(candidate).parent.mkdir(parents=True, exist_ok=True)
        _record(candidate).write_text(json.dumps(record, indent=1), encoding="utf-8")
    except OSError:
        pass  # A cache that cannot be written costs a look at each start, nothing else.


def _fingerprint(candidate: Candidate) -> str:
    """Return a digest of what decides whether the candidate is ready."""
    digest = hashlib.sha256(f"{package_requirements()[0]} {juliacall_version()}".encode())
    for variable in ("JULIA_LOAD_PATH", "JULIA_DEPOT_PATH"):
        digest.update(f"\n{variable}={os.environ.get(variable)}".encode())
    files = [package_folder() / "Project.toml"]
    if candidate.exe is not None and candidate.project is not None:
        digest.update(f"\n{candidate.exe.stat().st_mtime_ns}".encode())
        files += sorted(candidate.project.glob("*.toml"))
    for file in files:
        digest.update(f"\n{file}\n".encode() + file.read_bytes())
    return digest.hexdigest()
