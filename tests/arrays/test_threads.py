"""Threads that meet inside of one NumPy function: what one has under way, the other does not see."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import FrameType
from typing import Any

import numpy as np
import pytest

import bridge

PATIENCE = 60.0


@contextmanager
def while_another_thread_is_within(function: Any, run: Any) -> Iterator[None]:
    """Inside, another thread that called `run` stands at the first line of NumPy's own code of `function`."""
    inside, leave, failures = Event(), Event(), []

    def stop(frame: FrameType, event: str, argument: Any) -> None:
        if frame.f_code is function.__wrapped__.__code__:
            inside.set()
            leave.wait(PATIENCE)

    def traced() -> None:
        sys.settrace(stop)
        try:
            run()
        except BaseException as failure:
            failures.append(failure)
        finally:
            sys.settrace(None)
            inside.set()

    thread = Thread(target=traced)
    thread.start()
    try:
        assert inside.wait(PATIENCE) and thread.is_alive(), f"the other thread did not stop: {failures}"
        yield
    finally:
        leave.set()
        thread.join(PATIENCE)
    assert not failures, failures


WEIGHTS = np.array([1.0, 2.0, 3.0])
X = np.array([np.nan, 5.0, 7.0])


def in_place(x: Any) -> Any:
    """What is not a number is written over."""
    np.nan_to_num(x, copy=False)
    return np.sum(x * WEIGHTS)


def copied(x: Any) -> Any:
    """The same of a copy; the weight of what is a number in `x` itself is one more."""
    return np.sum(np.nan_to_num(x) * WEIGHTS) + np.sum(np.where(np.isnan(x), 0.0, x))


def answers(program: Any) -> tuple[Any, Any, Any]:
    """Value, gradient, and the derivative along ones."""
    value, gradient = bridge.value_and_grad(program)(X.copy())
    return value, gradient.tolist(), bridge.jvp(program, (X.copy(),), (np.ones(3),))[1]


EXPECTED = {in_place: (31.0, [0.0, 2.0, 3.0], 5.0), copied: (43.0, [0.0, 3.0, 4.0], 7.0)}


@pytest.mark.parametrize("stopped", EXPECTED, ids=lambda f: f.__name__)
@pytest.mark.parametrize("program", EXPECTED, ids=lambda f: f.__name__)
def test_nan_to_num_while_another_thread_is_within_it(program: Any, stopped: Any) -> None:
    found: list[Any] = []
    with while_another_thread_is_within(np.nan_to_num, lambda: found.append(answers(stopped))):
        assert answers(program) == EXPECTED[program]
    assert found == [EXPECTED[stopped]]
