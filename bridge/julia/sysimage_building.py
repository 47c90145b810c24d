"""Build the system image of a Julia: what Julia compiles in first calls and its packages, by PackageCompiler."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bridge.errors import JuliaNotAvailable
from bridge.julia import first_calls
from bridge.julia.discovery import Candidate, package_folder
from bridge.julia.preparation import reason, run
from bridge.julia.progress import ProgressLine
from bridge.julia.sysimage import (
    BUILD,
    SWITCH,
    UNDO,
    Cost,
    Inputs,
    changes,
    fingerprint,
    folder,
    name_of,
    remember,
    remove,
)

# In a process of its own, which finds this package where the running one did.
FIRST_CALLS = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from bridge.julia import first_calls
first_calls.main(sys.argv[2] == 'everything')
"""

GO = "go"
"""The file for which Julia waits: what it reads after that was in the fingerprint."""

ROOM = 2_000_000_000
"""Bytes that have to be free on the disk: the image, and as much again while it is linked."""

EXPECTED = "takes 5 to 20 minutes, some 4 GB of memory and 2 GB of disk, of which an image of some 500 MB stays"


def build(candidate: Candidate) -> None:
    """Build an image for a candidate that is prepared, try it, and let sessions load it in place of an older one.

    Raises
    ------
    JuliaNotAvailable
        With what was in the way. Nothing is kept of the attempt; an older image stays.
    """
    if os.name != "nt" and not os.environ.get("JULIA_CC") and not any(map(shutil.which, ("gcc", "clang"))):
        raise _failed("it needs a C compiler, and there is neither gcc nor clang", f"install one of them, then {BUILD}")
    with ProgressLine() as line, _own_folder(candidate) as own:
        line.step(f"building an image {EXPECTED}; Ctrl-C ends it and leaves nothing")
        start = time.monotonic()
        statements = own / "statements.jl"
        before = _first_gradient(candidate)
        _first_gradient(candidate, f"-Xjuliacall-trace-compile={statements}", everything=True)
        path, inputs, found = _compiled(candidate, own, statements, line.step)
        line.step("trying the image")
        # The first process compiles what is not in the image once more, for Julia with this image.
        _first_gradient(candidate, f"-Xjuliacall-sysimage={path}", everything=True)
        now = _first_gradient(candidate, f"-Xjuliacall-sysimage={path}")
        changed = changes(found, fingerprint(candidate, inputs))
        if changed:
            raise _failed(f"meanwhile, {changed} changed", BUILD)
        for file in (statements, own / GO):
            file.unlink(missing_ok=True)
        cost = Cost(path.stat().st_size, _memory(), time.monotonic() - start, before, now)
        remember(candidate, path, inputs, found, cost)
    remove(beside=path)


@contextmanager
def _own_folder(candidate: Candidate) -> Iterator[Path]:
    """Make the folder of a new image, which is removed if the image does not come about."""
    try:
        folder().mkdir(0o700, parents=True, exist_ok=True)
        own = Path(tempfile.mkdtemp(prefix=f"{name_of(candidate)}-", dir=folder()))
        free = shutil.disk_usage(own).free
    except OSError as error:
        raise _failed(
            f"{folder()} cannot be written: {error}", f"set XDG_CACHE_HOME to another folder, then {BUILD}"
        ) from error
    try:
        if free < ROOM:
            raise _failed(
                f"{folder()} has {free / 1e9:.1f} GB left, and it needs {ROOM / 1e9:.0f}", f"make room, then {BUILD}"
            )
        yield own
    except BaseException:
        shutil.rmtree(own, ignore_errors=True)
        raise


def _first_gradient(candidate: Candidate, *options: str, everything: bool = False) -> float:
    """Run `first_calls` in a process of its own, and return after how many seconds its first gradient was there."""
    start = time.monotonic()
    seconds: list[float] = []

    def listen(text: str) -> None:
        if text == first_calls.FIRST:
            seconds.append(time.monotonic() - start)

    chosen = [f"-Xjuliacall-exe={candidate.exe}", f"-Xjuliacall-project={candidate.project}", f"-X{SWITCH}=no"]
    path = json.dumps([entry or os.getcwd() for entry in sys.path])
    status, said = run(
        [sys.executable, *chosen, *options, "-c", FIRST_CALLS, path, "everything" if everything else "first"], listen
    )
    if status or not seconds:
        raise _failed(f"first gradients do not run: {reason(said) or f'exit status {status}'}")
    return seconds[0]


def _compiled(
    candidate: Candidate, own: Path, statements: Path, say: Callable[[str], None]
) -> tuple[Path, Inputs, dict[str, str]]:
    """Run `sysimage.jl`: the image, what goes into it, and the fingerprint before Julia reads that."""
    inputs, path, absent = Inputs(), None, False
    found: dict[str, str] = {}

    def listen(text: str) -> None:
        nonlocal inputs, path, absent, found
        match text.split("\t"):
            case ["bridge", "step", what]:
                say(f"{what} ({EXPECTED})")
            case ["bridge", "library", library]:
                inputs = Inputs(library, inputs.files, inputs.folders, inputs.environments)
            case ["bridge", "file", file]:
                inputs.files.append(file)
            case ["bridge", "folder", package]:
                inputs.folders.append(package)
            case ["bridge", "environment", project]:
                inputs.environments.append(project)
            case ["bridge", "inputs"]:
                found = fingerprint(candidate, inputs)
                (own / GO).touch()
            case ["bridge", "absent", _]:
                absent = True
            case ["bridge", "image", image]:
                path = Path(image)

    script = Path(__file__).with_name("sysimage.jl")
    command = [str(candidate.exe), f"--project={candidate.project}", "--startup-file=no", str(script)]
    command += [str(own), str(statements), str(package_folder()), str(folder() / "compiler")]
    status, said = run(command, listen)
    if absent:
        line = f"{candidate.exe} --project={candidate.project} -e 'using Pkg; Pkg.add(\"PackageCompiler\")'"
        raise _failed(f"PackageCompiler cannot be installed: {reason(said)}", f"{line}, then {BUILD}")
    if status or path is None:
        raise _failed(reason(said) or f"Julia ended with exit status {status}")
    return path, inputs, found


def _memory() -> int:
    """Bytes of the largest process that was waited for; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    import resource

    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return largest if sys.platform == "darwin" else largest * 1024


def _failed(why: str, remedy: str | None = None) -> JuliaNotAvailable:
    return JuliaNotAvailable(
        f"no image of Julia was built: {why}", remedy=remedy or f"{BUILD} tries again; Julia works without ({UNDO})"
    )
