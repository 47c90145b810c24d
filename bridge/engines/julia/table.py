"""Julia's table as text: which NumPy operations `rules/*.jl` names, known without starting Julia."""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path

_ENTRY = re.compile(r"^\s*@(?:numpy|elementwise|same)\s+(?:function\s+)?(\w+(?:\.\w+)+)", re.MULTILINE)
_LOADED = re.compile(r"\bloaded\(\"(\w+)\"\)")
# A user's files, with what they said when they were read: they may be gone by now.
_added: dict[Path, str] = {}


def files() -> list[Path]:
    """The files of the table, in the order in which they are read."""
    folders = [Path(folder) for folder in import_module("bridge.rules").__path__]
    return [*sorted(path for folder in folders for path in folder.glob("*.jl")), *_added]


@cache
def entries() -> dict[str, Path]:
    """The names of the operations, and the file that says what each is in Julia."""
    return {name: path for path in files() for name in _ENTRY.findall(_text(path))}


@cache
def packages(path: Path) -> tuple[str, ...]:
    """The packages beside those of a session that a file needs: it takes each by `loaded("FFTW")`."""
    return tuple(_LOADED.findall(_text(path)))


def _text(path: Path) -> str:
    return _added[path] if path in _added else path.read_text(encoding="utf-8")


def add(path: Path) -> None:
    """Count a user's file, as it is now, as part of the table."""
    _added[path] = path.read_text(encoding="utf-8")
    entries.cache_clear()
    packages.cache_clear()
