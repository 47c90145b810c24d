"""Memory-mapped arguments, and logs of up to ten million entries: right, put back and let go of, also after faults."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.rewind.lean import Pair
from bridge.rewind.log import Entry
from bridge.rewind.writes import Update
from tests.faults.points import Failing, Faults
from tests.faults.trial import counted


def recurrence(x: Any, steps: int) -> Any:
    """One entry that overwrites, and one that computes, for each two numbers: `u = 0.5 u + x`, over and over."""
    u = x.copy()
    for _ in range(steps):
        u *= 0.5
        u += x
    return np.sum(u)


def of_recurrence(steps: int) -> float:
    return float(2.0 - 0.5**steps)


ENTRIES = [
    20_000,
    pytest.param(1_000_000, marks=pytest.mark.nightly),
    pytest.param(10_000_000, marks=pytest.mark.nightly),
]


def _entries() -> int:
    """How many entries of logs there are, those of other tests among them."""
    gc.collect()
    return sum(isinstance(one, Entry) for one in gc.get_objects())


@pytest.mark.ci
@pytest.mark.parametrize("entries", ENTRIES)
def test_a_log_of_many_entries(entries: int) -> None:
    steps, x = entries // 2, np.array([0.25, 0.75])
    before = _entries()
    with bridge.Context() as context:
        buffer = context.buffer(x)
        y = recurrence(buffer, steps)
        assert len(context.log) >= entries
        first = context.gradient(y, buffer)
        assert np.array_equal(first, np.full(2, of_recurrence(steps)))
        _interrupted(context, y, buffer, entries)
        assert np.array_equal(context.gradient(y, buffer), first)
        log = weakref.ref(context)
    del context, buffer, y
    assert _entries() <= before
    assert log() is None
    assert x.tolist() == [0.25, 0.75]


def _interrupted(context: Any, y: Any, buffer: Any, entries: int, kind: type[Entry] = Update) -> None:
    """A fault in the middle of the sweep, where nothing is being exchanged."""
    push, calls = kind.push, 0

    def failing(entry: Any, ct: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == entries // 2:
            raise KeyboardInterrupt
        push(entry, ct)

    kind.push = failing  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            context.gradient(y, buffer)
    finally:
        kind.push = push  # type: ignore[method-assign]


def scalars(x: Any, steps: int) -> Any:
    """Elements one by one, five entries a step: `y[i + 1] = 0.75 y[i] + x[1]`, round and round in four places."""
    y = x[:1] * np.zeros(4)
    y[0] = x[0]
    for i in range(steps):
        y[(i + 1) % 4] = y[i % 4] * 0.75 + x[1]
    return y[steps % 4]


def of_scalars(steps: int) -> list[float]:
    return [0.75**steps, 4.0 - 4.0 * 0.75**steps]


@pytest.mark.parametrize("entries", ENTRIES)
def test_a_log_of_elements(entries: int) -> None:
    steps, x = entries // 5, np.array([0.25, 0.75])
    with bridge.Context() as context:
        buffer = context.buffer(x)
        y = scalars(buffer, steps)
        assert len(context.log) >= entries
        first = context.gradient(y, buffer)
        np.testing.assert_allclose(first, of_scalars(steps), rtol=1e-12, atol=1e-300)
        _interrupted(context, y, buffer, steps, Pair)
        assert np.array_equal(context.gradient(y, buffer), first)
    assert x.tolist() == [0.25, 0.75]
    if entries < 100_000:
        assert np.array_equal(bridge.grad(lambda x: scalars(x, steps))(x), first)


def test_an_interrupt_in_the_middle_of_a_long_forward_pass() -> None:
    """Of half a log nothing is left: no context, no entry, and the next call is right."""
    steps, x, stops = 5_000, np.array([0.25, 0.75]), True

    def f(x: Any) -> Any:
        y = scalars(x, steps)
        if stops:
            raise KeyboardInterrupt
        return y

    before = counted()
    with pytest.raises(KeyboardInterrupt):
        bridge.grad(f)(x)
    assert bridge.current_context() is None
    assert not counted() - before
    stops = False
    np.testing.assert_allclose(bridge.grad(f)(x), of_scalars(steps), rtol=1e-12, atol=1e-300)


MEASURED = """
import json, resource, sys, time
import numpy as np
import bridge
from tests.faults.test_long_logs import scalars
x = np.array([0.25, 0.75])
bridge.grad(scalars)(x, 10)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
steps, before, start = int(sys.argv[1]) // 5, peak(), time.process_time()
gradient = bridge.grad(scalars)(x, steps)
print(json.dumps([gradient.tolist(), (time.process_time() - start) / 5 / steps, (peak() - before) / 5 / steps]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no peak of memory here")
@pytest.mark.nightly
def test_time_and_memory_of_an_entry() -> None:
    """Both are the same for logs of 1e5, 1e6 and 1e7 entries: about 450 bytes, and 10 microseconds there and back."""
    seconds, taken = [], []
    for entries in (100_000, 1_000_000, 10_000_000):
        command = [sys.executable, "-c", MEASURED, str(entries)]
        done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True)
        gradient, second, size = json.loads(done.stdout)
        np.testing.assert_allclose(gradient, of_scalars(entries // 5), rtol=1e-12, atol=1e-300)
        seconds.append(second)
        taken.append(size)
    assert max(taken) < 700
    assert max(seconds) < 3 * min(seconds)


MODES = ("r", "r+", "c")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "x.npy"
    np.save(path, np.linspace(0.1, 1.0, 64))
    return path


def writes(x: Any) -> Any:
    x[1:] = x[:-1] * x[1:]
    x *= 2.0
    return np.sum(x * x)


@pytest.mark.parametrize("mode", MODES)
def test_memory_mapped_arguments(mode: str, file: Path) -> None:
    """A program writes into its argument, and fails at each point: not a bit of the file changes."""
    before, plain = file.read_bytes(), np.load(file)
    expected = bridge.grad(writes)(plain)
    mapped = np.load(file, mmap_mode=mode)
    with Faults().injected() as faults:
        assert np.array_equal(bridge.grad(writes)(mapped), expected)
    for at in range(1, faults.passed + 1):
        with Faults(at, Failing).injected() as raising, pytest.raises(Failing):
            bridge.grad(writes)(mapped)
        assert np.array_equal(mapped, plain), raising.where
    _, pull = bridge.vjp(writes, mapped)
    assert np.array_equal(pull(1.0)[0], expected)
    del pull
    if mode == "r+":
        mapped.flush()
    del mapped
    gc.collect()
    assert file.read_bytes() == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("steps", [2_000, pytest.param(50_000, marks=pytest.mark.nightly)])
def test_a_long_log_of_a_memory_mapped_argument(mode: str, steps: int, file: Path) -> None:
    """Elements of the file's own memory are written over and over, and an interrupt comes in the middle."""
    before, stops = file.read_bytes(), False

    def f(x: Any) -> Any:
        for i in range(steps):
            if stops and i == steps // 2:
                raise KeyboardInterrupt
            x[i % 64] = x[(i + 1) % 64] * 0.5 + x[i % 64] * 0.25
        return np.sum(x)

    expected = bridge.grad(f)(np.load(file))
    mapped = np.load(file, mmap_mode=mode)
    for stops in (False, True, False):
        if stops:
            with pytest.raises(KeyboardInterrupt):
                bridge.grad(f)(mapped)
        else:
            assert np.array_equal(bridge.grad(f)(mapped), expected)
        assert np.array_equal(mapped, np.load(file))
    if mode == "r+":
        mapped.flush()
    del mapped
    assert file.read_bytes() == before


@pytest.mark.parametrize("mode", ["r+", "c"])
def test_memory_mapped_state(mode: str, file: Path) -> None:
    """An array that the program has had all along, in a file: right, or refused by name, and never another file."""
    before = file.read_bytes()
    state = np.load(file, mmap_mode=mode)

    def f(x: Any) -> Any:
        state[:4] = x * state[4:8]
        return np.sum(state[:4] * state[:4])

    x = np.array([0.5, 0.6, 0.7, 0.8])
    for error in (None, Failing, KeyboardInterrupt):
        try:
            if error is None:
                bridge.grad(f)(x)
            else:
                with Faults(3, error).injected():
                    bridge.grad(f)(x)
        except bridge.errors.BridgeError as refused:
            assert refused.remedy is not None
        except BaseException as raised:
            assert error is not None
            assert isinstance(raised, error)
    state.flush()
    assert file.read_bytes() == before
