"""The folder of compiled programs: damaged entries, a full disk, a folder that cannot be written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
if "full" in sys.argv[2:]:
    # What a full disk does: every write of the process to a file fails.
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
import numpy as np, bridge
def f(x):
    y = x.copy()
    y[1:] *= np.sin(x[:-1])
    return np.sum(y * y)
x = np.linspace(0.1, 1.0, 5)
f_and_g = bridge.xla(bridge.value_and_grad(f), cache=sys.argv[1])
try:
    value, gradient = f_and_g(x)
except bridge.errors.BridgeError as error:
    print(f"{type(error).__name__}: {error}")
else:
    print(np.allclose(gradient, bridge.grad(f)(x), rtol=1e-13), np.allclose(value, f(x), rtol=1e-13))
"""


def run(folder: Path, *how: str) -> str:
    command = [sys.executable, "-c", PROGRAM, str(folder), *how]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def emptied(data: bytes) -> bytes:
    return b""


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes(255 - byte for byte in data[middle : middle + 64]) + data[middle + 64 :]


def replaced(data: bytes) -> bytes:
    return b"no program at all" * 20


@pytest.mark.ci
@pytest.mark.parametrize("damage", (cut, flipped, emptied, replaced))
def test_a_damaged_entry_is_compiled_again(damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert run(folder) == "True True"
    if sys.platform != "win32":
        assert folder.stat().st_mode & 0o077 == 0, "the folder that was made is not the user's alone"
    entries = [one for one in folder.rglob("*") if one.is_file() and one.stat().st_size > 100]
    assert entries
    for one in entries:
        one.write_bytes(damage(one.read_bytes()))
    assert run(folder) == "True True"


@pytest.mark.skipif(sys.platform == "win32", reason="no limit of a file's size here")
@pytest.mark.ci
def test_a_full_disk(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    assert run(folder, "full") == "True True"
    assert run(folder) == "True True"


@pytest.mark.ci
def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("a file", encoding="utf-8")
    said = run(file / "cache")
    assert said.startswith(f"ArgumentError: compiled programs cannot be kept in {file / 'cache'}: Not a directory")
    assert "remedy: name a folder that can be written (cache=, or BRIDGE_XLA_CACHE), or leave it out" in said
