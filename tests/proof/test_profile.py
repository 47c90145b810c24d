"""`bridge.profile`: lines, operations, bytes and reasons are exact; times add up; nothing about a run is changed."""

from __future__ import annotations

import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, CotangentError, RefusedError
from bridge.in_c import pure
from bridge.loops_in_c import tiers
from bridge.loops_in_c.functions import DERIVED
from bridge.proof.report.profile import Line, Profile
from bridge.rewind.bounded_log import ENTRY
from bridge.rewind.context import OBSERVER
from bridge.rulebook import book

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang"
)


@pytest.fixture(autouse=True)
def without_rules_of_other_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules that other tests register would leave loops to Python."""
    monkeypatch.setattr(book, "OF_USERS", book.OF_USERS - DERIVED)


def at(report: Profile, source: str) -> Line:
    (line,) = [one for one in report.lines if one.source.startswith(source)]
    return line


def check_sums(report: Profile) -> None:
    everything = (*report.lines, report.outside)
    assert report.forward == pytest.approx(sum(one.forward for one in everything))
    assert report.backward == pytest.approx(sum(one.backward for one in everything))
    assert sum(report.stacks.values()) == pytest.approx(report.seconds)
    assert report.log_bytes == sum(one.log_bytes for one in report.lines)


def slow_python(x: Any) -> Any:
    y = np.exp(x)
    time.sleep(0.05)
    return np.sum(y)


def test_value_gradient_and_the_heaviest_line() -> None:
    x = np.linspace(0.0, 1.0, 5)
    report = bridge.profile(slow_python, warmup=0)(x)
    value, gradient = bridge.value_and_grad(slow_python)(x)
    assert report.value == value
    np.testing.assert_array_equal(report.gradient, gradient)
    assert report.program == "slow_python"
    first = report.heaviest[0]
    assert first.source == "time.sleep(0.05)"
    assert (first.file, first.operations, first.log_bytes, first.backward) == (__file__, 0, 0, 0.0)
    assert first.forward > 0.01
    check_sums(report)


def test_operations_and_bytes_of_each_line() -> None:
    def program(x: Any) -> Any:
        y = np.exp(x)
        z = np.zeros(4)
        z[1:3] = y[:2]
        w = y * x
        return np.sum(w) + np.sum(z)

    report = bridge.profile(program, warmup=0)(np.ones(4))
    lines = [(one.source, one.operations, one.log_bytes - ENTRY * one.operations) for one in report.lines]
    # The log keeps `y` for its own pull. What `z[1:3]` overwrote and `z` are kept to be restored; `x` is an argument.
    assert lines == [
        ("y = np.exp(x)", 1, 32),
        ("z[1:3] = y[:2]", 1, 16 + 32),
        ("w = y * x", 1, 0),
        ("return np.sum(w) + np.sum(z)", 3, 0),
    ]
    assert [one.line for one in report.lines] == sorted(one.line for one in report.lines)
    assert {one.where for one in report.lines} == {"Python"}
    assert {one.reason for one in report.lines} == {""}


def test_lines_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a_module_of_the_profile_test"
    (tmp_path / f"{name}.py").write_text(
        "import numpy as np\n\n\nclass Model:\n    def __init__(self, w):\n        self.w = w\n\n"
        "    def loss(self, x):\n        return np.sum(np.tanh(self.w * x))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = __import__(name)

    def program(w: Any) -> Any:
        model = module.Model(w * 2.0)
        return model.loss(np.ones(3))

    report = bridge.profile(program, warmup=0)(np.ones(3))
    assert {(Path(one.file).name, one.source, one.operations) for one in report.lines if one.operations} == {
        (f"{name}.py", "return np.sum(np.tanh(self.w * x))", 3),
        ("test_profile.py", "model = module.Model(w * 2.0)", 1),
    }
    assert list(report.lines) == sorted(report.lines, key=lambda one: (one.file, one.line))
    text = str(report)
    assert text.index(f"{name}.py") < text.index("return np.sum(np.tanh")
    assert text.index("test_profile.py") < text.index("model = module")


def descends(x: Any, steps: int) -> Any:
    x = x.copy()
    for _ in range(steps):
        x[1:] -= 0.1 * x[1:] * x[:-1]
    return np.sum(x)


@needs_compiler
def test_a_loop_in_c_is_one_line() -> None:
    report = bridge.profile(descends, loops="c")(np.ones(30), 40)
    loop = at(report, "for _ in range(steps)")
    assert (loop.where, loop.reason, loop.operations) == ("C", "", 1)
    assert loop.forward > 0.0
    assert loop.backward > 0.0
    # What the loop logs for its pulls, in addition to a copy of `x`.
    assert loop.log_bytes - ENTRY - 240 >= 8 * 29 * 40
    assert all("x[:-1]" not in one.source for one in report.lines)
    check_sums(report)


def test_why_loops_run_in_python() -> None:
    report = bridge.profile(descends, loops="python")(np.ones(30), 4)
    assert report.in_python == 'loops="python"'
    assert {(one.where, one.reason) for one in report.lines} == {("Python", "")}
    assert at(report, "x[1:] -=").operations == 12
    assert str(report).split("\n")[1].startswith('one run with loops="python"; forward')
    assert bridge.profile(descends, source=False)(np.ones(30), 4).in_python == "source=False"
    short = bridge.profile(descends, loops="auto")(np.ones(3), 1)
    assert (short.in_python, at(short, "for _").reason) == ("", "it has taken less than 30 ms so far")


def texts(x: Any) -> Any:
    total = 0.0
    for k in range(3):
        total += x[k] * len(str(k))
    return total


@needs_compiler
@pytest.mark.usefixtures("compiled_at_once")
def test_the_reason_of_a_loop_that_is_refused() -> None:
    report = bridge.profile(texts, loops="auto")(np.ones(3))
    loop = at(report, "for k in range(3)")
    assert loop.where == "Python"
    assert loop.reason.startswith(f"line {loop.line + 1}: ")
    assert f"# {loop.reason}" in str(report)


def printing(x: Any) -> Any:
    x = x.copy()
    for k in range(9):
        x[0] = x[0] * x[1] + np.linalg.norm(x)
        if k == 5:
            print("at", k)
    return np.sum(x)


@pytest.fixture
def compiled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "HOT", 0.0)
    monkeypatch.setattr(tiers, "WORTH", 0.0)
    monkeypatch.setattr(tiers, "WAITS", True)


@needs_compiler
@pytest.mark.usefixtures("compiled_at_once")
def test_stops_and_callbacks_of_a_loop_in_c() -> None:
    report = bridge.profile(printing, loops="c")(np.ones(3))
    loop = at(report, "for k in range(9)")
    assert loop.where == "mixed"
    assert loop.reason == f"Python runs line {loop.line + 3}: a call for its effect"
    # Python has run the iteration with the print.
    inside = at(report, "x[0] = x[0] * x[1]")
    assert (inside.where, inside.reason) == ("Python", "a callback of the loop in C")
    assert inside.operations > 0


@needs_compiler
@pytest.mark.usefixtures("compiled_at_once")
def test_a_stop_in_another_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a_stop_of_the_profile_test"
    (tmp_path / f"{name}.py").write_text("def helper(k):\n    if k == 5:\n        print(end='')\n    return k\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    module: Any = __import__(name)

    def program(x: Any) -> Any:
        total = 0.0
        for k in range(9):
            total += x[0] * module.helper(k)
        return total

    report = bridge.profile(program, loops="c")(np.ones(1))
    assert at(report, "for k in range(9)").reason.endswith(f"{name}.py:3: a call for its effect")


def test_recursion_and_a_program_without_operations() -> None:
    def power(x: Any, n: int) -> Any:
        return x if n == 0 else x * power(x, n - 1)

    report = bridge.profile(lambda x: power(x, 3), warmup=0)(2.0)
    assert report.gradient == 32.0
    assert at(report, "return x if n == 0").operations == 4 - 1
    nothing = bridge.profile(lambda x: 1.0, warmup=0)(2.0)
    assert (nothing.value, nothing.gradient, nothing.log_bytes) == (1.0, 0.0, 0)
    check_sums(nothing)
    assert "outside of the program" in str(nothing)


def test_inner_gradients_checkpoints_and_strong_zeros() -> None:
    def inner(x: Any) -> Any:
        return np.sum(bridge.grad(lambda y: np.sum(y**3))(x) * x)

    @bridge.checkpoint
    def stepped(x: Any) -> Any:
        return np.sin(np.exp(x))

    def replayed(x: Any) -> Any:
        return np.sum(stepped(x) * x)

    def roots(x: Any) -> Any:
        return np.sum(np.where(x > 0.0, np.sqrt(x), 0.0))

    for program in (inner, replayed, roots):
        x = np.array([0.0, 1.0, 2.0])
        report = bridge.profile(program)(x)
        value, gradient = bridge.value_and_grad(program)(x)
        assert report.value == value
        np.testing.assert_array_equal(report.gradient, gradient)
        check_sums(report)
    report = bridge.profile(replayed)(np.ones(3))
    (line,) = [one for one in report.lines if one.source == "return np.sin(np.exp(x))"]
    assert line.operations == 0
    assert line.backward > 0.0


def test_a_bounded_log() -> None:
    def program(x: Any) -> Any:
        for _ in range(20):
            x = np.exp(x * 0.1)
        return np.sum(x)

    x = np.ones(10_000)
    free, bounded = (bridge.profile(program, memory=memory)(x) for memory in (None, "500kB"))
    np.testing.assert_array_equal(free.gradient, bounded.gradient)
    assert free.log_bytes == bounded.log_bytes == 41 * ENTRY + 20 * x.nbytes


def test_an_exception_of_the_program_and_what_it_leaves() -> None:
    def program(x: Any) -> Any:
        x[0] = 5.0
        raise ValueError("no convergence")

    x, before, threads = np.ones(3), sys.getswitchinterval(), threading.active_count()
    with pytest.raises(ValueError, match="no convergence"):
        bridge.profile(program, warmup=0)(x)
    np.testing.assert_array_equal(x, np.ones(3))
    assert sys.getswitchinterval() == before
    assert threading.active_count() == threads
    assert OBSERVER.get() is None


def test_options_are_those_of_value_and_grad() -> None:
    def program(x: Any, y: Any) -> Any:
        return np.sum(x * y), {"aux": x}

    report = bridge.profile(program, (0, 1), has_aux=True, engine="native", zeros="ieee", runs=3)(
        np.ones(2), np.arange(2.0)
    )
    assert report.value[0] == 1.0
    assert report.runs == 3
    np.testing.assert_array_equal(report.value[1]["aux"], np.ones(2))
    np.testing.assert_array_equal(report.gradient[0], [0.0, 1.0])
    assert at(report, "return np.sum(x * y)").operations == 2


def test_how_often_a_program_runs() -> None:
    calls = []

    def program(x: Any) -> Any:
        calls.append(1)
        return x * x

    bridge.profile(program)(1.0)
    assert len(calls) == 3
    report = bridge.profile(program, warmup=0, runs=4)(1.0)
    assert len(calls) == 7
    assert "the mean of 4 runs" in str(report)


@pytest.mark.parametrize("engine", ["xla", "auto", "jax", "julia", "nativ"])
def test_other_engines_are_refused(engine: Any) -> None:
    with pytest.raises(ArgumentError, match=f"profile with engine='{engine}'") as error:
        bridge.profile(slow_python, engine=engine)
    assert "jax.profiler" in str(error.value)


def test_wrong_arguments() -> None:
    for options in ({"runs": 0}, {"warmup": -1}):
        with pytest.raises(ArgumentError, match="give warmup >= 0 and runs >= 1"):
            bridge.profile(slow_python, **options)  # type: ignore[arg-type]
    with pytest.raises(CotangentError):
        bridge.profile(lambda x: x)(np.ones(2))
    with pytest.raises(RefusedError, match="a profile inside of a differentiation"):
        bridge.grad(lambda x: bridge.profile(lambda y: y * y)(x).value)(1.0)


def test_text() -> None:
    report = bridge.profile(slow_python, warmup=0, loops="auto")(np.ones(3))
    heading, samples, empty, columns, file, *rows = str(report).split("\n")
    assert re.fullmatch(
        r"profile of slow_python: \S+ s \(forward \S+ s, backward \S+ s\); the log keeps \d+ bytes", heading
    )
    assert re.match(r"one run; forward times from \d+ samples", samples)
    assert empty == ""
    assert columns.split() == [
        "line", "forward", "ms", "backward", "ms", "share", "log", "operations", "runs", "in", "source",
    ]  # fmt: skip
    assert file.endswith("test_profile.py")
    assert [row.startswith(">") for row in rows if "sleep" in row] == [True]
    assert sum(row.startswith(">") for row in rows) == 1
    assert rows[-1].endswith("outside of the program")


def hostile(x: Any) -> Any:
    y = x * len("<script>\x1b[31m")
    return y * y


def test_html_and_text_escape_what_a_program_says() -> None:
    report = bridge.profile(hostile, warmup=0)(1.0)
    html = report._repr_html_()
    assert "&lt;script&gt;" in html
    assert "<script>" not in html
    assert html.count("<tr>") == len(report.lines) + 2
    strange = Profile(
        "f\x1b<b>", *(getattr(report, name) for name in Profile.__dataclass_fields__ if name != "program")
    )
    assert "\x1b" not in str(strange)
    assert "f\\x1b&lt;b&gt;" in strange._repr_html_()


def test_flame_graph(tmp_path: Path) -> None:
    def helper() -> None:
        time.sleep(0.05)

    def program(x: Any) -> Any:
        helper()
        return np.sum(np.exp(x))

    report = bridge.profile(program, warmup=0)(np.ones(50_000))
    path = tmp_path / "run.folded"
    text = report.save(path)
    assert path.read_bytes() == text.encode()
    total = 0
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        assert stack.split(";")[0] in ("forward", "backward")
        assert int(count) > 0
        total += int(count)
    assert total == pytest.approx(1e6 * report.seconds, abs=10)
    lines = {one.source: one.line for one in report.lines}
    nested = f"program (tests/proof/test_profile.py:{lines['time.sleep(0.05)'] + 3});helper ("
    assert any(nested in line.replace("\\", "/") for line in text.splitlines()) or "/tests/" in text
    assert "backward;program (" in text


def test_the_thread_that_calls_is_measured() -> None:
    found: list[Profile] = []

    def measure(call: Callable[..., Profile]) -> None:
        found.append(call(np.ones(3)))

    thread = threading.Thread(target=measure, args=(bridge.profile(slow_python, warmup=0),))
    thread.start()
    thread.join()
    assert found[0].heaviest[0].source == "time.sleep(0.05)"


def test_gradients_of_other_threads_are_not_measured() -> None:
    def program(x: Any) -> Any:
        found: list[Any] = []
        token = OBSERVER.get()

        def work() -> None:
            OBSERVER.set(token)
            found.append(bridge.grad(lambda y: np.sum(y * y))(np.ones(3)))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        return np.sum(x) * found[0][0]

    report = bridge.profile(program, warmup=0)(np.ones(2))
    np.testing.assert_array_equal(report.gradient, [2.0, 2.0])
    assert all("y * y" not in one.source for one in report.lines if one.backward)
    check_sums(report)


def test_without_the_part_in_c() -> None:
    with pure():
        report = bridge.profile(descends, loops="python", warmup=0)(np.ones(5), 3)
    value, gradient = bridge.value_and_grad(descends, loops="python")(np.ones(5), 3)
    assert report.value == value
    np.testing.assert_array_equal(report.gradient, gradient)
    assert at(report, "x[1:] -=").backward > 0.0
    check_sums(report)
