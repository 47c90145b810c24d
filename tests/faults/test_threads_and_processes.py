"""Faults in one thread, task or process, while others differentiate: each is right, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.source.borrowing import HELD
from bridge.source.lending import LENT
from tests.faults.points import ERRORS, Failing, Faults

ROOT = Path(__file__).parents[2]
THREADS = 16
X = np.linspace(0.1, 0.9, 8)


class Layer:
    """Writes into arrays that it has had all along, and into a list."""

    def __init__(self) -> None:
        self.w, self.seen = np.ones(8), []

    def __call__(self, x: Any) -> Any:
        self.w[1:] *= x[:-1]
        self.seen.append(x[0])
        y = np.tanh(self.w) * x
        y[::2] += y[1::2]
        return np.sum(y * y) * self.seen[0]


EXPECTED = bridge.grad(Layer())(X)


@pytest.fixture
def faults() -> Any:
    """Points in every thread; `faults.own` is what a thread passes them with."""
    own = threading.local()
    shared = Faults()
    shared.by_thread(own)
    with shared.injected():
        yield own
    assert not LENT
    assert not HELD


def failing_and_right(own: threading.local, number: int, rounds: int) -> list[str]:
    """Calls that fail at one point after the other, each followed by one that does not."""
    layer, wrong = Layer(), []
    for k in range(rounds):
        own.own = Faults(1 + (7 * number + 13 * k) % 90, ERRORS[(number + k) % len(ERRORS)])
        try:
            bridge.grad(layer)(X)
        except BaseException as error:
            if not isinstance(error, own.own.error):
                wrong.append(repr(error))
        own.own = None
        if bridge.current_context() is not None:
            wrong.append("a context is left current")
        if layer.w.tolist() != [1.0] * 8 or layer.seen:
            wrong.append(f"{layer.w} {layer.seen} after {k}")
        if not np.array_equal(bridge.grad(layer)(X), EXPECTED):
            wrong.append(f"the call after {k} is wrong")
    return wrong


@pytest.mark.parametrize("rounds", (6, 60))
def test_sixteen_threads(faults: threading.local, rounds: int) -> None:
    found: dict[int, list[str]] = {}
    start = threading.Barrier(THREADS)

    def work(number: int) -> None:
        start.wait()
        found[number] = failing_and_right(faults, number, rounds)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == {number: [] for number in range(THREADS)}


def test_an_executor(faults: threading.local) -> None:
    """Its threads go on after an exception, and are those of the next call."""
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: failing_and_right(faults, number, 2), range(16)))
        assert found == [[]] * 16
        assert all(np.array_equal(one, EXPECTED) for one in pool.map(lambda _: bridge.grad(Layer())(X), range(8)))


def test_an_executor_in_a_program_that_fails(faults: threading.local) -> None:
    """A program that waits for plain work of other threads, and fails at every point meanwhile."""
    with ThreadPoolExecutor(2) as pool:

        def f(x: Any) -> Any:
            plain = pool.submit(np.cumsum, np.ones(8))
            return np.sum(x * plain.result() * x)

        expected = bridge.grad(f)(X)
        for at in range(1, 14):
            faults.own = Faults(at, Failing)
            with pytest.raises(Failing):
                bridge.grad(f)(X)
            faults.own = None
            assert np.array_equal(bridge.grad(f)(X), expected)


def test_tasks_of_asyncio(faults: threading.local) -> None:
    """Tasks of one thread, between whose calls others run; some are cancelled between a vjp and its pull."""

    async def right(k: int) -> Any:
        await asyncio.sleep(0.001 * (k % 3))
        _, pull = bridge.vjp(Layer(), X)
        await asyncio.sleep(0.001)
        return pull(1.0)[0]

    async def fails(k: int) -> Any:
        layer = Layer()
        _, pull = bridge.vjp(layer, X)
        await asyncio.sleep(0)
        faults.own = Faults(1 + 3 * k, KeyError)
        try:
            pull(1.0)
        except KeyError:
            faults.own = None
            await asyncio.sleep(0)
            return layer.w.tolist()
        raise AssertionError("it did not fail")

    async def all_of_them() -> Any:
        stopped = [asyncio.create_task(right(k)) for k in range(4)]
        tasks = [asyncio.create_task(one(k)) for k in range(8) for one in (right, fails)]
        await asyncio.sleep(0.001)
        for one in stopped:
            one.cancel()
        in_threads = [asyncio.to_thread(failing_and_right, faults, k, 1) for k in range(4)]
        return await asyncio.gather(*tasks), await asyncio.gather(*in_threads)

    found, of_threads = asyncio.run(all_of_them())
    assert of_threads == [[]] * 4
    for one, other in zip(found[::2], found[1::2], strict=True):
        assert np.array_equal(one, EXPECTED)
        assert other == [1.0] * 8


PROCESSES = """
import multiprocessing, sys
import numpy as np
import bridge
from tests.faults.points import Failing, Faults
from tests.faults.test_threads_and_processes import EXPECTED, X, Layer

def work(number):
    layer = Layer()
    with Faults(1 + 5 * number, Failing).injected():
        try:
            bridge.grad(layer)(X)
        except Failing:
            pass
        else:
            return "no fault"
    right = np.array_equal(bridge.grad(layer)(X), EXPECTED) and layer.w.tolist() == [1.0] * 8
    return "right" if right and bridge.current_context() is None else "wrong"

def forking(x):
    y = np.sin(x)
    with multiprocessing.get_context("fork").Pool(2) as pool:
        forking.found = pool.map(outside, range(2))
    y *= x
    return np.sum(y)

def outside(number):
    "The parent's context is the child's too: it may go on with it, and nothing of that reaches the parent."
    return bridge.current_context() is not None

if __name__ == "__main__":
    method = sys.argv[1]
    _, pull = bridge.vjp(Layer(), X)
    with multiprocessing.get_context(method).Pool(3) as pool:
        found = set(pool.map(work, range(12)))
    print(found, np.array_equal(pull(1.0)[0], EXPECTED))
    if method == "fork":
        g = bridge.grad(forking)(X)
        print(np.allclose(g, np.cos(X) * X + np.sin(X)), bridge.current_context())
"""


@pytest.mark.parametrize("method", ("fork", "spawn"))
def test_processes(method: str, tmp_path: Path) -> None:
    """Children that fail, by fork and by spawn, while the parent keeps a pull; and a fork within a call."""
    if method == "fork" and sys.platform != "linux":
        pytest.skip("no fork here")
    file = tmp_path / "processes.py"
    file.write_text(PROCESSES, encoding="utf-8")
    found = run(file, method)
    assert found[0] == "{'right'} True"
    assert method == "spawn" or found[1] == "True None"


def run(file: Path, *arguments: str) -> list[str]:
    command = [sys.executable, "-W", "error", str(file), *arguments]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
