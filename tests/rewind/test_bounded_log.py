"""A log that keeps within `memory=`: the same bits, however little it may keep; what cannot be kept within is told."""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy
from bridge.errors import ArgumentError, BridgeError, MemoryBoundError
from bridge.rewind import bounded_log, spilled
from bridge.rewind.bounded_log import BoundedLog
from tests.programs import PROGRAMS, Program
from tests.programs.test_programs import argnums
from tests.random_programs.writing import program_of

if not hasattr(sys, "getrefcount"):
    pytest.skip("this Python does not count references, which a bounded log needs", allow_module_level=True)

RIGHT = [program for program in PROGRAMS if program.raises is None]


@pytest.fixture
def everything_goes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[BoundedLog]]:
    """Every array goes to the file as soon as it may, however small; the logs that were made."""
    made: list[BoundedLog] = []

    class Log(BoundedLog):
        def __init__(self, context: Any, amount: int) -> None:
            super().__init__(context, amount)
            made.append(self)

        def _make_room(self) -> None:
            self.amount, amount = 0, self.amount
            try:
                super()._make_room()
            finally:
                self.amount = amount

    monkeypatch.setattr(spilled, "LARGE", 1)
    monkeypatch.setattr("bridge.engines.registry.BoundedLog", Log)
    yield made


def both(program: Callable[..., Any], inputs: tuple[Any, ...], positions: tuple[int, ...], **options: Any) -> None:
    with np.errstate(all="ignore"):
        expected = bridge.value_and_grad(program, positions, engine="native", **options)(*inputs)
        found = bridge.value_and_grad(program, positions, engine="native", memory="1GB", **options)(*inputs)
    assert same_bits(found, expected)


def same_bits(a: Any, b: Any) -> bool:
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same_bits, a, b))
    return np.asarray(a).tobytes() == np.asarray(b).tobytes() and np.shape(a) == np.shape(b)


@pytest.mark.parametrize("program", RIGHT, ids=str)
def test_programs_have_the_same_bits(program: Program, everything_goes: list[BoundedLog]) -> None:
    both(program.under(bridge.numpy), program.inputs, argnums(program) or (0,))
    assert everything_goes


def stencil(u: Any, steps: int = 20) -> Any:
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * np.tanh(u[2:] - 2 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def scratch(u: Any, steps: int = 12) -> Any:
    s = 0.0
    for _ in range(steps):
        flux = np.zeros(len(u) + 1)
        flux[1:-1] = 0.1 * u[1:] * u[1:] - u[:-1]
        u = u - 0.1 * (flux[1:] - flux[:-1])
        s += np.sum(u[::2] * np.sin(u[::-2]))
    return s


class Model:
    def __init__(self, size: int) -> None:
        self.v, self.history = np.zeros(size), [0.0]

    def run(self, u: Any, steps: int) -> Any:
        for _ in range(steps):
            self.v[:] = np.where(u > 0.5, u, 0.5 * u)
            u *= 0.99
            u[::2] += 0.01 * self.v[::2]
            u[u > 0.9] *= 0.5
            u[np.array([3, 1, 3])] = self.v[[0, 1, 2]]
            self.history[1:] = [u.copy()]
        return np.sum(self.v * u) + np.sum(self.history[0] * self.history[-1])


def state(u: Any, steps: int = 12) -> Any:
    return Model(len(u)).run(u, steps)


def checkpointed(u: Any, steps: int = 12) -> Any:
    def part(u: Any) -> Any:
        for _ in range(3):
            u = np.sin(u) * np.cos(u[::-1])
            u[1:] *= u[:-1]
        return u

    for _ in range(steps // 3):
        u = bridge.checkpoint(part)(u)
    return np.sum(u)


def matrices(u: Any, steps: int = 6) -> Any:
    a = np.asfortranarray(np.outer(u[:20], u[-20:]))
    for _ in range(steps):
        a[::2] = (a @ a.T)[1::2] * 0.1
        a = np.linalg.inv(a + 20 * np.eye(20)).T
        np.add(a, 0.1, out=a, where=a > 0)
    return np.sum(a * a)


PARTS = [stencil, scratch, state, checkpointed, matrices]


@pytest.mark.parametrize("program", PARTS)
def test_programs_as_they_stand_have_the_same_bits(program: Any, everything_goes: list[BoundedLog]) -> None:
    u = np.linspace(0.1, 1.2, 50)
    both(program, (u,), (0,))
    assert sum(log.written for log in everything_goes) > 10_000
    assert sum(log.read for log in everything_goes) > 10_000


@pytest.mark.ci
@pytest.mark.parametrize("first", range(7_000, 7_100, 10))
def test_random_programs_have_the_same_bits(first: int, everything_goes: list[BoundedLog]) -> None:
    compared = 0
    for seed in range(first, first + 10):
        random = program_of(seed)
        if random is None:
            continue
        try:
            with np.errstate(all="ignore"):
                expected = bridge.value_and_grad(random.function(bridge.numpy), engine="native")(*random.inputs)
        except BridgeError:
            continue
        with np.errstate(all="ignore"):
            found = bridge.value_and_grad(random.function(bridge.numpy), engine="native", memory="1GB")(*random.inputs)
        assert same_bits(found, expected), seed
        compared += 1
    assert compared > 3


def peak(run: Callable[[], Any]) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("program", "arrays"), [(stencil, 8), (scratch, 12), (state, 10)])
def test_memory_is_respected(program: Any, arrays: int) -> None:
    """At most what is allowed, and what the program and the shadows take by themselves: some arrays."""
    u = np.linspace(0.1, 1.2, 100_000)
    amount = 4_000_000
    free = peak(lambda: bridge.grad(program, engine="native")(u, 40))
    found = peak(lambda: bridge.grad(program, engine="native", memory=amount)(u, 40))
    assert found < 1.1 * amount + arrays * u.nbytes < 0.5 * free


def test_a_pull_may_be_called_again(everything_goes: list[BoundedLog]) -> None:
    u = np.linspace(0.1, 1.2, 50)
    value, pull = bridge.vjp(stencil, u, engine="native", memory="1GB")
    expected_value, expected = bridge.vjp(stencil, u, engine="native")
    assert same_bits(value, expected_value)
    for factor in (1.0, -2.0, 1.0):
        assert same_bits(pull(np.float64(factor)), expected(np.float64(factor)))

    def several(u: Any) -> Any:
        u[1:] *= u[:-1]
        return u[::10] * u[0]

    assert same_bits(
        bridge.jacrev(several, engine="native", memory="1GB")(u), bridge.jacrev(several, engine="native")(u)
    )


def test_strong_zeros_walk_twice(everything_goes: list[BoundedLog]) -> None:
    def program(x: Any) -> Any:
        y = np.sqrt(x)
        y[x <= 0] = 0.0
        y[1:] *= y[:-1]
        return np.sum(y)

    both(program, (np.array([0.0, 1.0, 4.0, 0.0, 2.0]),), (0,))


def test_an_exception_leaves_arguments_as_they_were(everything_goes: list[BoundedLog]) -> None:
    def program(u: Any) -> Any:
        for k in range(10):
            u *= 1.5
            if k == 7:
                raise ValueError("on purpose")
        return np.sum(u)

    u = np.linspace(0.1, 1.2, 50)
    before = u.copy()
    with pytest.raises(ValueError, match="on purpose"):
        bridge.grad(program, engine="native", memory="1GB")(u)
    np.testing.assert_array_equal(u, before)


def test_the_file_is_closed_and_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    files: list[Any] = []
    opened = bounded_log.tempfile.TemporaryFile

    def kept(**options: Any) -> Any:
        files.append(opened(**options))
        return files[-1]

    monkeypatch.setattr(bounded_log.tempfile, "TemporaryFile", kept)
    monkeypatch.setattr(bounded_log.tempfile, "tempdir", str(tmp_path))
    u = np.linspace(0.1, 1.2, 100_000)
    for _ in range(2):
        bridge.grad(stencil, engine="native", memory="2MB")(u)
    assert len(files) == 2 and all(file.closed for file in files)
    assert list(tmp_path.iterdir()) == []


def swallowing(u: Any) -> Any:
    for _ in range(20):
        with contextlib.suppress(MemoryError):
            u = np.sin(u) * 1.5
    return np.sum(u)


@pytest.mark.parametrize(("program", "times"), [(stencil, 1000), (swallowing, 1)])
def test_a_full_disk_is_told_also_where_the_program_goes_on(
    program: Any, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, left = BoundedLog._write, [times]

    def full(self: Any, data: Any, offset: Any) -> int:
        left[0] -= 1
        if left[0] >= 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, data, offset)

    monkeypatch.setattr(BoundedLog, "_write", full)
    u = np.linspace(0.1, 1.2, 100_000)
    before = u.copy()
    with pytest.raises(MemoryBoundError, match=r"could not be written to a file in .*No space left") as caught:
        bridge.grad(program, engine="native", memory="2MB")(u)
    assert "test_bounded_log.py" in str(caught.value) and "TMPDIR" in str(caught.value)
    np.testing.assert_array_equal(u, before)


def test_a_file_that_was_cut_off_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    read = BoundedLog._read

    def cut(self: Any, data: Any, offset: Any) -> None:
        self.file.truncate(10)
        read(self, data, offset)

    monkeypatch.setattr(BoundedLog, "_read", cut)
    with pytest.raises(MemoryBoundError, match="could not be read"):
        bridge.grad(stencil, engine="native", memory="2MB")(np.linspace(0.1, 1.2, 100_000))


def test_many_small_operations_are_told() -> None:
    with pytest.raises(MemoryBoundError, match=r"operations keep .* beside large arrays, and memory= allows 20 kB"):
        bridge.grad(stencil, engine="native", memory="20kB")(np.linspace(0.1, 1.2, 50))


def test_where_it_cannot_be_kept_within_it_is_named() -> None:
    u = np.linspace(0.1, 1.2, 50)
    with pytest.raises(ArgumentError, match=r"memory='1MB' with engine='auto'"):
        bridge.grad(stencil, engine="auto", memory="1MB")
    with pytest.raises(ArgumentError, match=r"hvp with memory='1MB'"):
        bridge.hvp(stencil, (u,), (u,), memory="1MB")
    with pytest.raises(ArgumentError, match=r"hessian with memory='1MB'"):
        bridge.hessian(stencil, memory="1MB")
    with pytest.raises(ArgumentError, match="memory= of a differentiation inside another one"):
        bridge.grad(lambda u: np.sum(bridge.grad(stencil, memory="1MB")(u)))(u)
    assert bridge.jvp(stencil, (u,), (u,), memory="1MB")[1] == bridge.jvp(stencil, (u,), (u,))[1]


def test_arrays_that_the_program_holds_stay() -> None:
    """The log does not send away what somebody else can see, or write into."""
    kept: list[Any] = []

    def program(u: Any) -> Any:
        for _ in range(8):
            u = np.sin(u)
            kept.append(bridge.detach(u))
            u[0] += 1.0
        return np.sum(u)

    u = np.linspace(0.1, 1.2, 100_000)
    expected = bridge.grad(program, engine="native")(u)
    first = list(kept)
    kept.clear()
    assert same_bits(bridge.grad(program, engine="native", memory="1MB")(u), expected)
    assert same_bits(kept, first)
