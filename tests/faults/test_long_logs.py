"""Memory-mapped arguments, and logs of a million entries: right, put back and let go of, also after faults."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.rewind.log import Entry
from tests.faults.points import Failing, Faults


def recurrence(x: Any, steps: int) -> Any:
    """One entry that overwrites, and one that computes, for each two numbers: `u = 0.5 u + x`, over and over."""
    u = x.copy()
    for _ in range(steps):
        u *= 0.5
        u += x
    return np.sum(u)


def of_recurrence(steps: int) -> float:
    return float(2.0 - 0.5**steps)


@pytest.mark.parametrize(
    "entries",
    [
        20_000,
        pytest.param(1_000_000, marks=pytest.mark.thorough),
        pytest.param(10_000_000, marks=pytest.mark.nightly),
    ],
)
def test_a_log_of_many_entries(entries: int) -> None:
    steps, x = entries // 2, np.array([0.25, 0.75])
    with bridge.Context() as context:
        buffer = context.buffer(x)
        y = recurrence(buffer, steps)
        assert len(context.log) >= entries
        first = context.gradient(y, buffer)
        assert np.array_equal(first, np.full(2, of_recurrence(steps)))
        _interrupted(context, y, buffer, entries)
        assert np.array_equal(context.gradient(y, buffer), first)
        log, entry = weakref.ref(context), type(context.log[0])
    del context, buffer, y
    gc.collect()
    assert log() is None
    assert issubclass(entry, Entry)
    assert not any(isinstance(one, entry) for one in gc.get_objects())
    assert x.tolist() == [0.25, 0.75]


def _interrupted(context: Any, y: Any, buffer: Any, entries: int) -> None:
    """A fault in the middle of the sweep, where nothing is being exchanged."""
    from bridge.rewind.writes import Update

    push, calls = Update.push, 0

    def failing(entry: Any, ct: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == entries // 2:
            raise KeyboardInterrupt
        push(entry, ct)

    Update.push = failing  # type: ignore[method-assign]
    try:
        with pytest.raises(KeyboardInterrupt):
            context.gradient(y, buffer)
    finally:
        Update.push = push  # type: ignore[method-assign]


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
