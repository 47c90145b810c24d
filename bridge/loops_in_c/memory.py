"""The available memory of the machine or the container."""

from __future__ import annotations

from pathlib import Path

_RESERVE = 256 << 20
"""Bytes that are left to others."""
_GROUP = Path("/sys/fs/cgroup")


def fits(size: int) -> bool:
    """Whether `size` more bytes fit into the memory of the machine, or of the container; yes if that is not known."""
    left = available()
    return left is None or size + _RESERVE <= left


def available() -> int | None:
    """Bytes that are left, of the machine or of the container; None where nothing says so (not on Linux)."""
    found = [one for one in (_of_the_machine(), _of_the_container()) if one is not None]
    return min(found, default=None)


def _of_the_machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return None


def _of_the_container() -> int | None:
    for most, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        folder = _GROUP if most == "memory.max" else _GROUP / "memory"
        try:
            files = sum(_told(folder / "memory.stat", name) for name in ("active_file", "inactive_file"))
            return int((folder / most).read_text("ascii")) - int((folder / used).read_text("ascii")) + files
        except (OSError, ValueError):
            # There is no such file, or it says "max".
            continue
    return None


def _told(path: Path, name: str) -> int:
    """A number of a file of lines, each a name and a number. What is kept of files counts as used, and can be freed."""
    for line in path.read_text("ascii").splitlines():
        first, _, number = line.partition(" ")
        if first == name:
            return int(number)
    return 0
