"""`python -m bridge check`: the exit status, what is written, and what is said of bad usage."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bridge.cli import check as cli_check
from bridge.cli import commands as cli
from bridge.proof.report.json_form import from_json
from tests.helpers.accessibility import complaints

ROOT = Path(__file__).parents[2]

RIGHT = """
import numpy as np

def smooth(x, scale=1.0):
    y = np.zeros_like(x)
    y[1:] = np.sin(x[:-1]) * scale
    return np.sum(y**2)

class Group:
    @staticmethod
    def inner(p):
        return np.sum(p["w"] * p["b"][0])

NUMBER = 3

def raises(x):
    raise RuntimeError("the program's own trouble")
"""

WRONG = """
import numpy as np
from bridge.extend import rule

def twice(x):
    return np.asarray(x) * 2.0

@rule(twice)
def pull(ct, out, x):
    return ct * 3.0

def wrong(x):
    y = x.copy()
    y[1:] = bridge_twice(x[1:])
    return np.sum(y)

bridge_twice = pull
"""


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with three modules, in which the test runs, in a wide terminal."""
    monkeypatch.setenv("COLUMNS", "160")
    (tmp_path / "right_programs.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "wrong_programs.py").write_text(WRONG, encoding="utf-8")
    (tmp_path / "broken_program.py").write_text("import no_such_module_here\n", encoding="utf-8")
    np.save(tmp_path / "x.npy", np.linspace(0.1, 1.0, 5))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("right_programs", "wrong_programs", "broken_program"):
        sys.modules.pop(name, None)


def check(*arguments: str) -> int:
    return cli.main(["check", *arguments, "--engines", "native"])


RATES = """
import numpy as np
from bridge.extend import rule

def scaled(x, rate):
    return np.asarray(x) * rate

@rule(scaled)
def bridge_scaled(ct, out, x, rate):
    return ct * rate, np.sum(ct * x) * 3  # wrong: it is np.sum(ct * x)

def decay(x, rate):
    return np.sum(bridge_scaled(x, rate))
"""


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        ((), 0, "agree; not differentiated: rate"),
        (("--argnums", "0,1"), 1, "gradient of rate differs"),
        (("--argnums", "1", "--seed", "3", "--rtol", "1e-3"), 1, "gradient of rate differs"),
        (("--argnums", "0,0"), 0, "agree; not differentiated: rate"),
        (("--argnums", "1", "--rtol", "10"), 0, "differentiated: rate"),
        (("--argnums", "7"), 2, "argnums=(7,)"),
    ],
)
def test_a_wrong_rate_beside_arrays(
    programs: Path, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], status: int, said: str
) -> None:
    (programs / "wrong_rates.py").write_text(RATES, encoding="utf-8")
    assert check("wrong_rates.py:decay", "--arg", "[1.0, 2.0]", "--arg", "0.1", *options) == status
    found = capsys.readouterr()
    assert said in found.out + found.err


def test_positions_that_are_none_are_named(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check("right_programs:smooth", "--argnums", "1.5")
    assert "'1.5' is no list of arguments: write 0,1 or their names" in capsys.readouterr().err


def test_programs_that_agree_end_with_0(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = ["--html", "out.html", "--json", "out.json"]
    assert check("right_programs:smooth", "--arg", "x.npy", "--arg", "2.0", *written) == 0
    assert "agree" in capsys.readouterr().out
    assert complaints((programs / "out.html").read_text(encoding="utf-8")) == []
    report = from_json((programs / "out.json").read_text(encoding="utf-8"))
    assert report.ok
    assert json.loads((programs / "out.json").read_text(encoding="utf-8"))["ok"] is True


@pytest.mark.ci
def test_programs_that_do_not_agree_end_with_1(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check("wrong_programs:wrong", "--arg", "[0.5, 1.0, 2.0]", "--json", "out.json") == 1
    said = capsys.readouterr().out
    assert "engines part in" in said
    assert "wrong_programs.py:14" in said
    assert not from_json((programs / "out.json").read_text(encoding="utf-8")).ok


def test_path_of_a_file_and_a_function_inside_of_a_class(programs: Path) -> None:
    where = str(programs / "right_programs.py")
    assert check(f"{where}:Group.inner", "--arg", "{'w': [1.0, 2.0], 'b': ([3.0],)}") == 0


BAD_USAGE = {
    "right_programs": "names no function",
    "no_such_module:f": "there is no module 'no_such_module'",
    "right_programs.inner:f": "there is no module 'right_programs.inner'",
    "no_such_file.py:f": "there is no file no_such_file.py",
    "broken_program:f": "raised ModuleNotFoundError when it was imported: No module named 'no_such_module_here'",
    "right_programs:smoth": "has no 'smoth'\n  remedy: did you mean 'smooth'? it has 'Group', 'raises', 'smooth'",
    "right_programs:NUMBER": "is no function but an int",
    "right_programs:raises --arg [1.0]": "raises raised RuntimeError: the program's own trouble",
    "right_programs:smooth": "crosscheck of a program without a float or complex argument",
    "right_programs:smooth --arg 1.0": "smooth raised TypeError",
    "right_programs:smooth --arg y.npy": "there is no file y.npy",
    "right_programs:smooth --arg right_programs.py.npy": "there is no file",
    "right_programs:smooth --arg bad.npy": "cannot be read as an array",
    "right_programs:smooth --arg __import__('os')": "neither a .npy file nor a Python literal",
    "right_programs:smooth --arg x": "neither a .npy file nor a Python literal",
    "right_programs:smooth --arg x.npy --html no/such/folder.html": "there is no folder no/such",
    "right_programs:smooth --arg x.npy --engines nativ": "nativ",
}


@pytest.mark.parametrize("command", BAD_USAGE)
def test_bad_usage_ends_with_2_and_says_what_to_do(
    programs: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (programs / "bad.npy").write_bytes(b"not an array")
    engines = [] if "--engines" in command else ["--engines", "native"]
    assert cli.main(["check", *command.split(), *engines]) == 2
    said = capsys.readouterr().err
    assert BAD_USAGE[command].replace("/", str(Path("/"))) in said
    assert "remedy: " in said
    assert "Traceback" not in said


def test_files_with_objects_are_refused(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(programs / "objects.npy", np.array([{}], object), allow_pickle=True)
    assert check("right_programs:smooth", "--arg", "objects.npy") == 2
    assert "objects.npy cannot be read as an array" in capsys.readouterr().err


LITERALS: list[tuple[str, Any]] = [
    ("3", 3), ("2.5", 2.5), ("1+2j", 1 + 2j), ("None", None), ("'clip'", "clip"), ("True", True),
    ("[1.0, 2.0]", np.array([1.0, 2.0])), ("((1, 2), (3, 4))", np.array([[1, 2], [3, 4]])), ("[]", np.array([])),
    ("[[1.0], [2.0, 3.0]]", [np.array([1.0]), np.array([2.0, 3.0])]), ("{'w': [1.0]}", {"w": np.array([1.0])}),
    ("('a', [1.0])", ("a", np.array([1.0]))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), LITERALS, ids=[text for text, _ in LITERALS])
def test_literals(text: str, expected: Any) -> None:
    found = cli_check.argument(text)
    assert repr(found) == repr(expected)


@pytest.mark.ci
def test_from_a_shell(programs: Path) -> None:
    command = [sys.executable, "-m", "bridge", "check", "wrong_programs:wrong", "--arg", "x.npy", "--engines", "native"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert done.returncode == 1, done.stderr
    assert "twice" in done.stdout
    usage = subprocess.run(command[:4], capture_output=True, text=True, check=False, env={"PYTHONPATH": str(ROOT)})
    assert usage.returncode == 2
    assert "MODULE:FUNCTION" in usage.stderr


def test_a_trace_is_printed_and_written(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page, data = programs / "trace.html", programs / "trace.json"
    command = ["trace", "right_programs.py:smooth", "--arg", "[1.0, 2.0]", "--html", str(page), "--json", str(data)]
    assert cli.main(command) == cli_check.OK
    assert "overwrites" in capsys.readouterr().out
    assert "np.sin" in page.read_text()
    assert json.loads(data.read_text())


def test_what_cannot_be_traced_is_said(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["trace", "right_programs.py:raises", "--arg", "[1.0]"]) == cli_check.UNUSABLE
    assert "raises raised RuntimeError: the program's own trouble" in capsys.readouterr().err


def test_engines_are_left_out_when_the_time_is_over(programs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = programs / "report.json"
    command = ["check", "right_programs.py:smooth", "--arg", "[1.0, 2.0]", "--seconds", "0", "--json", str(data)]
    assert cli.main(command) == cli_check.OK
    runs = {run.engine: run for run in from_json(data.read_text()).runs}
    assert runs["native"].status == "ran"
    assert {runs[name].why for name in ("jax", "xla")} == {"left out: the time that was given is over"}
