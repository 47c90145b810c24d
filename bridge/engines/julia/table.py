"""Julia's table as text: which NumPy operations `rules/*.jl` names, known without starting Julia."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

_ENTRY = re.compile(r"^\s*@(?:numpy|elementwise|same)\s+(?:function\s+)?(\w+(?:\.\w+)+)", re.MULTILINE)
_LOADED = re.compile(r"\bloaded\(\"(\w+)\"\)")
_added: list[Path] = []


def files() -> list[Path]:
    """The files of the table, in the order in which they are read."""
    folders = [Path(folder) for folder in import_module("bridge.rules").__path__]
    return [*sorted(path for folder in folders for path in folder.glob("*.jl")), *_added]


@cache
def entries() -> dict[str, Path]:
    """The names of the operations, and the file that says what each is in Julia."""
    return {name: path for path in files() for name in _ENTRY.findall(path.read_text(encoding="utf-8"))}


@cache
def packages(path: Path) -> tuple[str, ...]:
    """The packages beside those of a session that a file needs: it takes each by `loaded("FFTW")`."""
    return tuple(_LOADED.findall(path.read_text(encoding="utf-8")))


def add(path: Path) -> None:
    """Count a user's file, as it is now, as part of the table."""
    if path not in _added:
        _added.append(path)
    entries.cache_clear()
    packages.cache_clear()
