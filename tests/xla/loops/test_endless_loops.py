"""A compiled loop ends by an error of its body or its condition, by Ctrl-C and by an alarm."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import IndexRangeError

X = np.array([0.7, -1.3, 2.1, 0.4])


class Rang(Exception):
    pass


def past_the_end(x: Any) -> Any:
    k = 0
    while x[k] < 10:
        k += 1
    return x[0] * k


def past_the_end_inside(x: Any) -> Any:
    k, total = 0, 0.0
    while total < 1e9:
        total = total + x[k] * 0.0
        k += 1
    return total


def past_the_end_in_a_branch(x: Any) -> Any:
    k = 0
    while True:
        if x[k] > 10:
            break
        k += 1
    return x[k]


def never_less(x: Any) -> Any:
    error = x[0]
    while not error < -1:
        error = error * 1.0
    return error


def never_less_than_nan(x: Any) -> Any:
    error, k = x[0] * np.nan, 0
    while not error < 1e-6:
        error = error * 0.5
        k += 1
    return error * k


def within_a_loop(x: Any) -> Any:
    total = 0.0
    for i in range(4):
        error = x[i]
        while error * error >= 0.0:
            error = error * 1.0
        total = total + error
    return total


@pytest.mark.parametrize("program", [past_the_end, past_the_end_inside, past_the_end_in_a_branch])
def test_an_index_beyond_the_end_ends_the_loop(program: Callable[[Any], Any]) -> None:
    for f in (bridge.xla(program), bridge.grad(program, engine="xla")):
        with pytest.raises(IndexRangeError, match=rf"(?s)index 4 is out of range.*{program.__name__}"):
            f(X)


@pytest.fixture
def _alarm() -> Iterator[None]:
    def ring(*args: Any) -> None:
        raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.ci
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no alarms")
@pytest.mark.usefixtures("_alarm")
@pytest.mark.parametrize("program", [never_less, never_less_than_nan, within_a_loop])
def test_an_alarm_ends_a_loop(program: Callable[[Any], Any]) -> None:
    f = bridge.value_and_grad(program, engine="xla")
    signal.setitimer(signal.ITIMER_REAL, 4)
    with pytest.raises(Rang):
        f(X)


@pytest.mark.ci
@pytest.mark.skipif(os.name == "nt", reason="a process of Windows cannot send itself Ctrl-C alone")
def test_ctrl_c_ends_a_loop() -> None:
    timer = threading.Timer(4, os.kill, (os.getpid(), signal.SIGINT))
    # A shell that starts a process in the background has it ignore the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            bridge.xla(never_less)(X)
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, before)
