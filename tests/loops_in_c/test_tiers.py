"""When a loop runs in C: after it has taken long, from the beginning, or never."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ArgumentError, MemoryBoundError, RefusedError
from bridge.loops_in_c import compiling, memory, running, tiers
from bridge.loops_in_c.compiling import CompilerError
from bridge.source import looping

pytestmark = [
    pytest.mark.skipif(not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler: cc, gcc or clang"),
    pytest.mark.usefixtures("ran"),
]


def recurrence(v: Any) -> Any:
    for i in range(1, v.shape[0]):
        v[i] = 0.5 * v[i] * v[i - 1] + v[i]
    return np.sum(v)


def a_while(v: Any) -> Any:
    i = 1
    while i < v.shape[0]:
        v[i] = 0.5 * v[i] * v[i - 1] + v[i]
        i += 1
    return np.sum(v) + i


PROGRAMS = recurrence, a_while


def fresh(program: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, none of whose loops has run."""
    for number, loop in enumerate(looping.SITES):
        if loop.file == __file__:
            tiers._heats.pop(number, None)
            running._sites.pop(number, None)
    return program


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("ready_after", [0, 1, 5, 1000])
def test_compiled_code_takes_over_when_it_is_ready(
    program: Any, ready_after: int, ran: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    v = np.linspace(0.1, 0.9, 40)
    expected = bridge.value_and_grad(fresh(program), loops="python")(v)
    asked = []

    def is_ready(self: Any) -> bool:
        asked.append(self)
        return len(asked) > ready_after

    monkeypatch.setattr(compiling.Job, "is_ready", is_ready)
    monkeypatch.setattr(tiers, "PART", 0.0)
    monkeypatch.setattr(tiers, "running", lambda: 0)
    found = bridge.value_and_grad(program, loops="auto")(v)
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
    # Python runs one iteration before the compiler is asked the first time, and one each time it is not ready.
    assert ran == ([] if ready_after == 1000 else [39 - ready_after])


def test_short_loops_stay_in_python(ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "WORTH", 1e9)
    monkeypatch.setattr(tiers, "WAITS", True)
    bridge.grad(fresh(recurrence), loops="auto")(np.ones(50))
    assert not ran


def test_loops_are_not_compiled_before_they_take_long(ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[Any] = []
    monkeypatch.setattr(tiers, "_in_c", lambda *what: tried.append(what))
    monkeypatch.setattr(tiers, "HOT", 1e9)
    bridge.grad(fresh(recurrence), loops="auto")(np.ones(50))
    assert not tried
    monkeypatch.setattr(tiers, "HOT", 0.0)
    bridge.grad(recurrence, loops="auto")(np.ones(50))
    assert tried


def test_from_the_beginning(ran: list[int]) -> None:
    bridge.grad(fresh(recurrence), loops="c")(np.ones(50))
    _, pull = bridge.vjp(recurrence, np.ones(50), loops="c")
    pull(1.0)
    assert ran == [49, 49]


def test_what_does_not_fit_is_named() -> None:
    def program(v: Any) -> Any:
        for i in range(3):
            v[i] = sum(x for x in (v[0], v[1]))
        return np.sum(v)

    with pytest.raises(RefusedError, match=r"the loop in line \d+ does not run in C: .*\n  at .*test_tiers.py:\d+"):
        bridge.grad(program, loops="c")(np.ones(3))
    bridge.grad(program, loops="auto")(np.ones(3))
    told = bridge.explain_source(program)
    assert "Python has run this loop, /" in told


def test_what_does_not_fit_is_named_in_its_own_file(tmp_path: Any) -> None:
    path = tmp_path / "other.py"
    path.write_text("def logged(x):\n    print(x)\n    return x\n", encoding="utf-8")
    names: dict[str, Any] = {"__name__": "other"}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), names)
    logged = names["logged"]

    def program(v: Any, called: Any) -> Any:
        for i in range(3):
            v[i] = called(v[i])
        return np.sum(v)

    with pytest.raises(RefusedError, match=r"a call for its effect\n  at .*other.py:2\n"):
        bridge.grad(program, loops="c")(np.ones(3), logged)


def test_a_loop_that_has_run_in_c_is_told() -> None:
    bridge.grad(fresh(recurrence), loops="c")(np.ones(5))
    assert "this loop has run in C" in bridge.explain_source(recurrence)


def prints_at_times(v: Any) -> Any:
    for i in range(1, v.shape[0]):
        v[i] = 0.5 * v[i] * v[i - 1] + v[i]
        if i % 40 == 0:
            print(i)
    return np.sum(v)


def test_python_runs_iterations_with_output(ran: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    v = np.linspace(0.1, 0.9, 130)
    expected = bridge.value_and_grad(recurrence, loops="python")(v)
    found = bridge.value_and_grad(fresh(prints_at_times), loops="c")(v)
    assert capsys.readouterr().out == "40\n80\n120\n"
    assert found[0] == expected[0]
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-13)
    assert ran == [39, 39, 39, 9]
    assert re.search(
        r"has run in C.\n#     Python runs a branch, .*: a call for", bridge.explain_source(prints_at_times)
    )


def test_a_loop_that_stops_too_often_stays_in_python(ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "_MANY", 50)
    bridge.grad(fresh(prints_at_times), loops="c")(np.linspace(0.1, 0.9, 1300))
    assert len(ran) < 20
    assert "compiled code stops too often" in bridge.explain_source(prints_at_times)
    before = len(ran)
    bridge.grad(prints_at_times, loops="c")(np.linspace(0.1, 0.9, 1300))
    assert len(ran) == before


@pytest.mark.parametrize("engine", ["jax", "julia", "xla"])
def test_other_engines_have_no_loops_in_c(engine: Any) -> None:
    with pytest.raises(ArgumentError, match='loops="c" with engine='):
        bridge.grad(recurrence, engine=engine, loops="c")


def test_a_program_that_is_not_read_has_no_loops_in_c() -> None:
    with pytest.raises(ArgumentError, match='loops="c" with source=False'):
        bridge.grad(recurrence, source=False, loops="c")


@pytest.mark.parametrize("transform", [bridge.grad, bridge.value_and_grad])
def test_how_loops_run_is_one_of_three(transform: Any) -> None:
    with pytest.raises(ArgumentError, match="loops='fortran'"):
        transform(recurrence, loops="fortran")


def test_inside_a_checkpoint_loops_run_in_python(ran: list[int]) -> None:
    def program(v: Any) -> Any:
        return bridge.checkpoint(recurrence)(v)

    v = np.linspace(0.1, 0.9, 9)
    np.testing.assert_array_equal(bridge.grad(program)(v), bridge.grad(recurrence, loops="python")(v))
    with pytest.raises(RefusedError, match="inside a checkpoint"):
        bridge.grad(program, loops="c")(v)
    assert not ran


def test_what_is_around_a_loop_refuses_it_for_that_time(ran: list[int]) -> None:
    def program(v: Any) -> Any:
        for i in range(1, v.shape[0]):
            v[i] = v[i] * v[i - 1]
        return np.sum(v)

    v = np.linspace(0.1, 0.9, 9)
    for _ in range(2 * tiers._REFUSALS):
        bridge.grad(program, memory="1GB", loops="auto")(v)
    assert not ran
    bridge.grad(program, loops="c")(v)
    bridge.grad(program, loops="auto")(v)
    assert len(ran) == 2


@pytest.mark.parametrize("hook", [sys.settrace, sys.setprofile])
def test_a_debugger_sees_each_iteration(hook: Any, ran: list[int]) -> None:
    before = sys.gettrace(), sys.getprofile()
    hook(lambda *what: None)
    try:
        bridge.grad(recurrence, loops="c")(np.ones(5))
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    assert not ran


class Alarm(Exception):
    """What the handler of a signal raises."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers on this system")
def test_a_signal_ends_a_loop() -> None:
    def program(v: Any, n: int) -> Any:
        for _ in range(n):
            for i in range(1, v.shape[0]):
                v[i] = 0.5 * (v[i] + v[i - 1])
        return np.sum(v)

    def ring(*what: Any) -> None:
        raise Alarm

    v = np.linspace(0.1, 0.9, 1000)
    kept = v.copy()
    bridge.grad(program, loops="c")(v, 2)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        with pytest.raises(Alarm):
            bridge.grad(program, loops="c")(v, 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(v, kept)
    bridge.grad(program, loops="c")(v, 2)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers on this system")
def test_a_program_that_catches_a_signal_continues_from_before_the_loop() -> None:
    def program(v: Any, n: int) -> Any:
        try:
            for _ in range(n):
                for i in range(1, v.shape[0]):
                    v[i] = 0.5 * (v[i] + v[i - 1])
        except Alarm:
            pass
        return np.sum(v * v)

    def ring(*what: Any) -> None:
        raise Alarm

    v = np.linspace(0.1, 0.9, 1000)
    bridge.grad(program, loops="c")(v, 2)
    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        found = bridge.grad(program, loops="c")(v, 10**9)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_array_equal(found, 2.0 * v)


def test_a_log_that_does_not_fit_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def program(v: Any, n: int) -> Any:
        for _ in range(n):
            for i in range(1, v.shape[0]):
                v[i] = v[i] * v[i - 1]
        return np.sum(v)

    v = np.linspace(0.1, 0.9, 1000)
    kept = v.copy()
    expected = bridge.grad(program, loops="c")(v, 3)
    monkeypatch.setattr(memory, "available", lambda: 300 << 20)
    with pytest.raises(MemoryBoundError, match=r'do not fit(.|\n)*memory="2GB"'):
        bridge.grad(program, loops="c")(v, 10**6)
    np.testing.assert_array_equal(v, kept)
    np.testing.assert_array_equal(bridge.grad(program, loops="c")(v, 3), expected)


def test_threads_share_what_is_compiled(ran: list[int]) -> None:
    v = np.linspace(0.1, 0.9, 500)
    expected = bridge.grad(fresh(recurrence), loops="c")(v)
    running._sites.clear()
    found: list[Any] = []

    def work() -> None:
        for _ in range(5):
            found.append(bridge.grad(recurrence, loops="c")(v))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(found) == 20
    for one in found:
        np.testing.assert_array_equal(one, expected)


FORKING = """
import os, signal, threading
import numpy as np
import bridge
from bridge.loops_in_c import compiling, running

def recurrence(v):
    for i in range(1, v.shape[0]):
        v[i] = 0.5 * v[i] * v[i - 1] + v[i]
    return np.sum(v)

v = np.linspace(0.1, 0.9, 50)
expected = bridge.grad(recurrence, loops="c")(v)
held, over = threading.Event(), threading.Event()

def hold():
    with running._lock, compiling._lock:
        held.set()
        over.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
child = os.fork()
if not child:
    signal.alarm(30)
    running._sites.clear()
    os._exit(not np.array_equal(bridge.grad(recurrence, loops="c")(v), expected))
over.set()
thread.join()
print(os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied on this system")
def test_a_fork_does_not_wait_for_threads_that_compile(tmp_path: Path) -> None:
    (tmp_path / "forking.py").write_text(FORKING, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", "forking.py"]
    environment = {**os.environ, "BRIDGE_LOOPS_CACHE": "0"}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "0\n"), run.stderr


def test_a_loop_without_iterations_in_python_may_stop_in_c() -> None:
    heat = tiers.Heat(seconds=0.1)
    for _ in range(8):
        heat.note(0, 0.1, True, True)
    assert heat.stops_too_often


def test_without_a_compiler_python_runs_loops(ran: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*names: Any) -> Any:
        raise CompilerError("no C compiler was found")

    monkeypatch.setattr(compiling, "compiler", nobody)
    compiling._identity.cache_clear()
    v = np.linspace(0.1, 0.9, 9)
    bridge.grad(fresh(recurrence), loops="auto")(v)
    with pytest.raises(RefusedError, match="no C compiler was found"):
        bridge.grad(fresh(recurrence), loops="c")(v)
    assert not ran
    compiling._identity.cache_clear()
    fresh(recurrence)
