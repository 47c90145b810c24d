"""The user's choice of a Julia: one small TOML file in the user's configuration folder."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import NamedTuple

import platformdirs

from bridge.errors import JuliaNotAvailable

KEYS = ("exe", "project")


class Choice(NamedTuple):
    """A Julia executable, and the folder of the project that it runs with."""

    exe: Path
    project: Path


def place() -> Path:
    """Return where the choice is kept, whether or not there is one."""
    return platformdirs.user_config_path("mutation-bridge") / "julia.toml"


def read() -> Choice | None:
    """Return the user's choice, or `None` if none was made.

    Raises
    ------
    JuliaNotAvailable
        If the file cannot be read, or does not hold exactly the two paths.
    """
    file = place()
    try:
        text = file.read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _malformed(file, str(error)) from error
    for key in KEYS:
        if not isinstance(found.get(key), str) or not found[key]:
            raise _malformed(file, f"{key!r} should be a path, and is {found.get(key, 'missing')!r}")
    unknown = sorted(set(found) - set(KEYS))
    if unknown:
        raise _malformed(file, f"unknown keys {', '.join(unknown)}")
    return Choice(Path(found["exe"]), Path(found["project"]))


def write(choice: Choice) -> Path:
    """Keep the choice, and return where."""
    file = place()
    file.parent.mkdir(parents=True, exist_ok=True)
    # A JSON string is also a basic string of TOML.
    lines = [f"{key} = {json.dumps(str(path), ensure_ascii=False)}\n" for key, path in choice._asdict().items()]
    file.write_text("".join(lines), encoding="utf-8")
    return file


def forget() -> Path | None:
    """Remove the choice, and return where it was (`None` if there was none)."""
    file = place()
    if not file.exists():
        return None
    file.unlink()
    return file


def _malformed(file: Path, why: str) -> JuliaNotAvailable:
    return JuliaNotAvailable(
        f"the configuration {file} cannot be used: {why}",
        remedy="python -m bridge julia setup --exe PATH --project PATH  (or --forget to go without)",
    )
