"""The yardstick finds every kind of difference, and takes nothing else for one."""

from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks.published.modules import load_module
from tests.yardstick.comparing import told
from tests.yardstick.leaves import array_of, leaves
from tests.yardstick.record import Call, LeftOut, Record
from tests.yardstick.running import PARTS, direction, entries, outcome

ROOT = Path(__file__).parents[2]
X = np.array([0.3, 0.4, 0.7])
CORPORA = {"corpus", "as they stand", "constructs", "loops", "random arrays", "random control flow", "random holding"}
Change = Callable[[dict[str, Any]], Any]


def cubed(x: Any) -> Any:
    y = x * x
    y[1:] *= x[1:]
    return np.sum(y * x)


def refused(x: Any) -> Any:
    print("not to be seen")
    raise KeyError(f"at {id(x)}")


def late(x: Any) -> Any:
    time.sleep(60.0)
    return np.sum(x)


def ends_the_process(x: Any) -> Any:
    os.abort()


def reads_the_clock(x: Any) -> Any:
    return np.sum(x) * time.perf_counter_ns()


def draws(x: Any) -> Any:
    return np.sum(x * np.random.rand(3))


def no_program() -> Call:
    raise LeftOut("none")


def record(function: Callable[..., Any]) -> Record:
    return Record(function.__name__, lambda: Call(function, (X.copy(),)))


def of(function: Callable[..., Any], engine: str = "native") -> dict[str, Any]:
    found = {part: outcome(record(function), "native", part) for part in PARTS}
    return {
        "record": function.__name__,
        "engine": engine,
        "seconds": 0.0,
        "varies": False,
        **json.loads(json.dumps(found)),
    }


def compared(tmp_path: Path, before: list[Any], after: list[Any]) -> tuple[list[str], int]:
    paths = tmp_path / "before", tmp_path / "after"
    for path, found in zip(paths, (before, after), strict=True):
        path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
    return told(*paths)


def number(leaf: str, change: Callable[[np.ndarray], Any]) -> Change:
    """A change of the array of a leaf."""

    def apply(entry: dict[str, Any]) -> None:
        part = "hvp" if leaf.startswith("hvp") else "gradient"
        array = array_of(entry[part]["leaves"][leaf]).copy()
        entry[part]["leaves"].update(leaves(change(array), leaf))

    return apply


def last_bit(array: np.ndarray) -> np.ndarray:
    array.view(np.uint64)[-1] ^= 1
    return array


def put(part: str, key: str, value: str) -> Change:
    return lambda entry: entry[part].update({key: value})


@pytest.mark.parametrize(
    ("function", "engine", "change", "expected"),
    [
        (cubed, "native", number("gradient[0]", last_bit), "gradient: cubed [native, gradient]: gradient[0]: "),
        (cubed, "native", number("hvp[0]", last_bit), "hvp: cubed [native, hvp]: hvp[0]: "),
        (cubed, "native", number("value", np.negative), "value: cubed [native, gradient]: value: "),
        (cubed, "native", number("gradient[0]", lambda g: g.astype("f4")), "became ndarray <f4"),
        (cubed, "native", number("gradient[0]", lambda g: g.reshape(3, 1)), "[3] became ndarray <f8[3, 1]"),
        (cubed, "native", number("gradient[0]", lambda g: [g]), "gradient[0][0] is new"),
        (cubed, "xla", number("gradient[0]", last_bit), ""),
        (cubed, "xla", number("gradient[0]", lambda g: g * (1 + 1e-8)), ""),
        (cubed, "xla", number("gradient[0]", lambda g: g + np.array([0.0, 1e-5, 0.0])), "gradient: cubed [xla"),
        (cubed, "xla", number("value", lambda v: v * (1 + 1e-8)), "value: cubed [xla, gradient]: value: "),
        (cubed, "xla", number("hvp[0]", lambda h: h * np.nan), "hvp: cubed [xla, hvp]: hvp[0]: "),
        (cubed, "xla", number("gradient[0]", lambda g: g.astype("f4")), "became ndarray <f4"),
        (refused, "native", put("gradient", "error", "TypeError"), "error class: refused [native, gradient]: 'Key"),
        (refused, "xla", put("hvp", "line", "refused+3: no"), "error line: refused [xla, hvp]: 'refused+2: raise"),
        (refused, "native", put("gradient", "message", "another address"), ""),
    ],
)  # fmt: skip
def test_what_is_a_difference(function: Any, engine: str, change: Change, expected: str, tmp_path: Path) -> None:
    before = of(function, engine)
    after = copy.deepcopy(before)
    change(after)
    lines, code = compared(tmp_path, [before], [after])
    assert code == bool(expected)
    assert expected in "\n".join(lines)
    assert ("no difference" in lines[-1]) == (not expected)


def test_bits_that_are_equal_as_numbers_are_a_difference() -> None:
    found = {}
    for name, value in (("zero", 0.0), ("negative zero", -0.0), ("nan", np.nan), ("negative nan", -np.nan)):
        ((_, found[name]),) = leaves(np.array([value]), "value")
    assert found["zero"] != found["negative zero"] and found["nan"] != found["negative nan"]


def test_answers_errors_and_records_that_come_and_go(tmp_path: Path) -> None:
    answer, error = of(cubed), of(refused) | {"record": "cubed"}
    assert compared(tmp_path, [answer], [error])[0][0].startswith(
        "answer became error: cubed [native, gradient]: KeyError"
    )
    assert compared(tmp_path, [answer], [error])[1] == 1
    lines, code = compared(tmp_path, [error], [answer])
    assert (lines[0].partition(":")[0], code) == ("error became answer", 0)
    assert compared(tmp_path, [answer, of(refused)], [answer])[0][:1] == ["missing: refused [native, gradient]"]
    assert compared(tmp_path, [answer, of(refused)], [answer])[1] == 1
    lines, code = compared(tmp_path, [answer], [answer, of(refused)])
    assert (lines[0], code) == ("new: refused [native, gradient]", 0)
    assert told(tmp_path / "after", tmp_path / "before", "cub")[1] == 0
    left_out = answer | {part: {"left out": "none"} for part in PARTS}
    assert compared(tmp_path, [answer], [left_out])[1] == 1
    assert compared(tmp_path, [left_out], [left_out])[1] == 0


def test_what_varies_is_compared_under_no_engine(tmp_path: Path) -> None:
    before, after = [of(cubed), of(cubed, "xla")], [of(refused) | {"record": "cubed"}, of(cubed, "xla")]
    after[0]["varies"] = True
    lines, code = compared(tmp_path, before, after)
    assert (lines, code) == (["2 entries in both, 2 that vary left out: no difference"], 0)


def test_a_line_is_the_same_where_its_file_has_moved(tmp_path: Path) -> None:
    text = textwrap.dedent("""
        def program(x):
            def inner(y):
                return float(y[0]){}
            z = x * x
            return {}(z)
    """)
    lines = []
    for number, (before, after, name) in enumerate(
        [("", "", "inner"), ("#\n" * 9, "", "inner"), ("", " * 2", "inner"), ("", "", "open")]
    ):
        path = tmp_path / f"program_{number}.py"
        path.write_text(before + text.format(after, name), encoding="utf-8")
        function = load_module(path, f"moved_program_{number}").program
        found = outcome(Record("", partial(Call, function, [X], options={"source": False})), "native", "gradient")
        lines.append(found["line"])
    assert lines[0] == lines[1] == "inner+1: return float(y[0])"
    assert lines[2:] == ["inner+1: return float(y[0]) * 2", "program+4: return open(z)"]


def test_leaves_keep_every_bit() -> None:
    held: dict[Any, Any] = {"a": [np.float32(0.1), 1 + 2j, True], 2: (None, "text", np.zeros((0, 3), "f2"))}
    held["itself"] = held
    found = dict(leaves(held, "value"))
    assert list(found) == [
        *("value", "value['a']", "value['a'][0]", "value['a'][1]", "value['a'][2]"),
        *("value[2]", "value[2][0]", "value[2][1]", "value[2][2]", "value['itself']"),
    ]
    again = json.loads(json.dumps(found))
    assert array_of(again["value['a'][0]"]).tobytes() == np.float32(0.1).tobytes()
    assert array_of(again["value[2][2]"]).shape == (0, 3)
    assert again["value[2][1]"]["text"] == "'text'"
    assert "text" in dict(leaves(np.longdouble(1) / 3, "value"))["value"]


class Pair(NamedTuple):
    u: np.ndarray
    n: float


def test_directions_are_like_the_arguments() -> None:
    assert direction(0.5) == np.cos(1.0) and type(direction(0.5)) is float
    assert direction(np.ones(2, "f4")).dtype == np.float32
    assert direction(np.ones((2, 1), complex)).imag.any()
    along = direction(Pair(np.ones(2), 3.0))
    assert type(along) is Pair and along.u.shape == (2,) and along.n == np.cos(2.0)


def write_wrong_ones(path: Path) -> None:
    """Code for a subprocess: other tests run threads, and forking with threads is unsafe."""
    bad = [record(f) for f in (ends_the_process, late, reads_the_clock, refused, draws, cubed)]
    found = entries([(one, "native") for one in (*bad, Record("no program", no_program))], 3, 4.0)
    path.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")


def in_a_process(*command: Any) -> str:
    done = subprocess.run([sys.executable, *map(str, command)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="records run in forks")
def test_programs_that_hang_crash_print_or_vary_stop_no_other(tmp_path: Path) -> None:
    path = tmp_path / "found"
    code = f"import tests.yardstick.test_yardstick as t; t.write_wrong_ones(t.Path({str(path)!r}))"
    assert in_a_process("-c", code) == ""
    found = {entry["record"]: entry for entry in map(json.loads, path.read_text(encoding="utf-8").splitlines())}
    assert found["ends_the_process"]["hvp"]["error"] == "ProcessEnded"
    assert found["late"]["gradient"]["error"] == "OutOfTime"
    assert found["refused"]["gradient"]["error"] == "KeyError" and found["refused"]["gradient"]["line"].startswith(
        "refused+2"
    )
    assert found["no program"]["gradient"] == {"left out": "none"}
    assert found["cubed"] == of(cubed) | {"seconds": found["cubed"]["seconds"]}
    assert [name for name, entry in found.items() if entry["varies"]] == ["reads_the_clock"]


@pytest.mark.skipif(sys.platform == "win32", reason="records run in forks")
def test_a_run_goes_on_where_it_was_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "found"
    kept = of(cubed) | {"record": "programs/mutation: scale in place"}
    path.write_text(json.dumps(kept) + "\n" + json.dumps(of(refused))[:40], encoding="utf-8")
    command = "-m", "tests.yardstick", "run", path, "--resume", "--seeds", 1, "--engines", "native", "--only"
    printed = in_a_process(
        *command,
        "random .*/0$|corpus/m01|row_missing|loops/jumps: for|stand/habits: a",
    )
    written = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert written[0] == kept
    names = [one["record"] for one in written[1:]]
    assert {name.partition("/")[0] for name in names} >= CORPORA and len(names) == len(set(names))
    assert f"{len(names)} of {len(names)}" in printed and not any(one["varies"] for one in written)
    assert told(path, path) == ([f"{len(written)} entries in both, 0 that vary left out: no difference"], 0)
