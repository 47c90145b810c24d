"""The C compiler, and the cache of compiled libraries.

Libraries are cached in a folder of the user, keyed by the C source, the compiler, its flags and the processor.
Processes share the folder. `BRIDGE_LOOPS_CACHE` names another one; with 0, each process has its own.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import os
import platform
import shlex
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import RLock
from typing import Any

from platformdirs import user_cache_path

from bridge.errors import install_line

FLAGS = (
    "-O2",
    "-ftree-vectorize",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fwrapv",
    "-march=native",
    "-fPIC",
    "-shared",
)
_X86 = ("-mno-avx512f",)
"""With AVX-512, gcc 12 needed almost twice the time for the longest kernels of NPBench, whose code was not faster."""
VARIABLE = "BRIDGE_LOOPS_CACHE"
"""The environment variable that names the cache folder; 0 for one per process."""


class CompilerError(Exception):
    """There is no C compiler, or it has failed."""


@cache
def compiler() -> tuple[str, ...]:
    """The C compiler, as the beginning of a command: what CC names, the machine's, or that of the package `ziglang`."""
    for command in (shlex.split(os.environ.get("CC", "")), ["cc"], ["gcc"], ["clang"]):
        found = shutil.which(command[0]) if command else None
        if found is not None:
            return found, *command[1:]
    if find_spec("ziglang") is not None:
        return sys.executable, "-m", "ziglang", "cc"
    raise CompilerError(f"no C compiler was found: cc, gcc, clang, or the package ziglang ({install_line('c')})")


def _flags() -> tuple[str, ...]:
    return (*FLAGS, *_X86) if platform.machine() in ("x86_64", "AMD64") else FLAGS


@cache
def _identity() -> str:
    """The part of the cache key that is not the C source: the compiler, its flags, and the processor."""
    file = Path(compiler()[0]).resolve()
    state = file.stat()
    return " ".join((*compiler(), str(file), f"{state.st_mtime_ns} {state.st_size}", *_flags(), _processor()))


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    found = [line for line in lines if line.lower().startswith(("flags", "features", "model name", "cpu part"))]
    return " ".join((platform.machine(), platform.processor(), *sorted(set(found))))


@cache
def folder() -> Path:
    """The cache folder. A folder that other users own or may write is not used: they could run code as this user."""
    chosen = os.environ.get(VARIABLE, "")
    if chosen == "0":
        return _of_this_process()
    path = Path(chosen) if chosen else user_cache_path("mutation-bridge") / "loops"
    try:
        path.mkdir(0o700, parents=True, exist_ok=True)
        return path if _is_private(path) and os.access(path, os.W_OK) else _of_this_process()
    except OSError:
        return _of_this_process()


def _is_private(path: Path) -> bool:
    """Whether the user owns a folder, and no other user may write into it."""
    state = path.stat()
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & 0o022)


def _of_this_process() -> Path:
    """A new folder, which is removed when this process ends."""
    path, owner = Path(tempfile.mkdtemp(prefix="bridge-loops-")), os.getpid()

    def remove() -> None:
        if os.getpid() == owner:
            shutil.rmtree(path, ignore_errors=True)

    atexit.register(remove)
    return path


class ForkSafeLock:
    """A re-entrant lock. In a child process it is free, whichever thread of the parent held it."""

    def __init__(self) -> None:
        self._renew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._renew)

    def _renew(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        self._lock.release()


class Job:
    """One compilation, in another process."""

    def __init__(self, text: str) -> None:
        name = hashlib.sha256(f"{text}\n{_identity()}".encode()).hexdigest()[:32]
        self._path = folder() / f"{name}.so"
        self._process: subprocess.Popen[str] | None = None
        self.owner = os.getpid()
        self._library: Any = None
        self._text = text
        if not self._path.exists():
            self._begin()

    def _begin(self) -> None:
        # Jobs that make the same library at the same time do not meet.
        stem = f"{self._path.stem}.{os.getpid()}.{next(_numbers)}"
        self._source, self._made = self._path.with_name(f"{stem}.c"), self._path.with_name(f"{stem}.tmp")
        self._errors = self._path.with_name(f"{stem}.txt")
        self._source.write_text(self._text, encoding="utf-8")
        command = [*compiler(), *_flags(), "-o", str(self._made), str(self._source), "-lm"]
        with self._errors.open("w", encoding="utf-8") as errors:
            self._process = subprocess.Popen(command, stdout=errors, stderr=errors, stdin=subprocess.DEVNULL, text=True)
        _jobs.append(self)

    def is_ready(self) -> bool:
        """Whether the compiler has finished."""
        # Another thread may finish it meanwhile.
        process = self._process
        if process is None:
            return True
        if self.owner != os.getpid():
            # A fork: the compiler belongs to the parent.
            self.owner = os.getpid()
            self._begin()
            return False
        return process.poll() is not None

    def library(self) -> Any:
        """The library; it waits for the compiler.

        Raises
        ------
        CompilerError : the compiler has failed.
        """
        with _lock:
            return self._loaded()

    def _loaded(self) -> Any:
        if self._library is None:
            self.is_ready()
            if self._process is not None:
                self._finish(self._process)
            # Other threads of Python wait while a loop runs: they would see arrays half-written.
            try:
                self._library = ctypes.PyDLL(str(self._path))
            except OSError:
                # The cached file is damaged, or gone.
                self._begin()
                assert self._process is not None
                self._finish(self._process)
                self._library = ctypes.PyDLL(str(self._path))
        return self._library

    def _finish(self, process: subprocess.Popen[str]) -> None:
        status = process.wait()
        _jobs.remove(self)
        self._process = None
        messages = self._errors.read_text(encoding="utf-8", errors="replace")
        if status == 0:
            self._made.replace(self._path)
        for path in (self._source, self._errors, self._made):
            path.unlink(missing_ok=True)
        if status:
            raise CompilerError(messages[:4000])


_jobs: list[Job] = []
_numbers = count()
_lock = ForkSafeLock()


def running() -> int:
    """How many compilers run."""
    return sum(job.owner == os.getpid() and not job.is_ready() for job in [*_jobs])


@atexit.register
def _stop() -> None:
    for job in [one for one in _jobs if one.owner == os.getpid()]:
        if job._process is not None:
            job._process.kill()
            job._process.wait()
            for path in (job._source, job._errors, job._made):
                path.unlink(missing_ok=True)


def state() -> str:
    """The compiler and the cache folder, as text."""
    try:
        command = " ".join(compiler())
    except CompilerError as error:
        return f"not in use: {error}"
    wanted = os.environ.get(VARIABLE) or user_cache_path("mutation-bridge") / "loops"
    where = "not cached" if folder() != Path(wanted) else f"cached in {folder()}"
    return f"by {command}, {where}"


def cached() -> list[Path]:
    """The cached libraries."""
    return sorted(folder().glob("*.so"))


def clear() -> int:
    """Empty the cache; returns its size in bytes. Running programs are not affected."""
    size = 0
    for path in folder().iterdir():
        if path.suffix in (".so", ".c", ".tmp", ".txt"):
            size += path.stat().st_size
            path.unlink(missing_ok=True)
    return size
