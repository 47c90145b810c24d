"""What holds after an exception in compiled steps: memory as it was, nothing left behind, the next call right."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import weakref
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import in_c
from bridge.arrays.tracked import Tracked
from bridge.extend import RULES
from bridge.rewind.context import Context
from bridge.rewind.log import Entry
from bridge.rewind.places import Part
from bridge.rewind.roots import Root
from bridge.rulebook.book import read_book

if not in_c.AVAILABLE:
    pytest.skip(f"there is no compiled part: {in_c.WHY_NOT}", allow_module_level=True)

X = np.linspace(0.3, 1.7, 12)


def every_kind_of_entry(x: Any) -> Any:
    """Elements, views, products, updates and ufuncs, with a sine between any two of them."""
    a = np.sin(x.reshape(3, 4)) * 1.0
    y = np.zeros(12)
    for i in range(1, 12):
        y[i] = np.sin(y[i - 1] * x[i]) - x[0] / 3
    a[1] += np.sin(x[:4])
    a[:, 1] *= np.sin(y[3:6])
    y[2:6] = a[0] * np.sin(x[4:8])
    y[-3:] = np.sin(x[0])
    y -= np.sin(np.dot(a, a[1]))[0]
    return np.sum(np.sin(y) * x) + np.dot(a[0], np.sin(x[:4]))


class Failure(Exception):
    """Raised by a pull."""


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Sets which call of the pull of `np.sin` raises, and what; None for none."""
    read_book()
    rule = RULES[np.sin]
    pull, calls = rule.per_argument[0], itertools.count(1)
    at: list[Any] = [None, Failure]

    def counted(ct: Any, out: Any, x: Any) -> Any:
        if next(calls) == at[0]:
            raise at[1]
        return pull(ct, out, x)

    def set_at(number: int | None, error: type[BaseException] = Failure) -> None:
        nonlocal calls
        calls = itertools.count(1)
        at[:] = number, error

    monkeypatch.setattr(rule, "per_argument", (counted,))
    return set_at


def left() -> int:
    gc.collect()
    return sum(isinstance(one, (Context, Entry, Root, Part, Tracked)) for one in gc.get_objects())


def raises_at(number: int, error: type[BaseException], failing: Any, expected: Any) -> bool:
    """Whether the pull number `number` raises; when it has, the same pull is right, and so is the argument."""
    x = X.copy()
    _, pull = bridge.vjp(every_kind_of_entry, x, engine="native")
    failing(number, error)
    try:
        found = pull(1.0)[0]
    except error as raised:
        failing(None)
        assert error is KeyboardInterrupt or "in the pull of np.sin, called at" in "".join(raised.__notes__)
        assert x.tobytes() == X.tobytes()
        assert pull(1.0)[0].tobytes() == expected.tobytes()
        return True
    failing(None)
    assert found.tobytes() == expected.tobytes()
    return False


@pytest.mark.parametrize("error", [Failure, KeyboardInterrupt, MemoryError])
def test_a_pull_that_raises(failing: Any, error: type[BaseException]) -> None:
    expected = bridge.grad(every_kind_of_entry, engine="native")(X)
    before = left()
    raised = list(itertools.takewhile(lambda n: raises_at(n, error, failing, expected), itertools.count(1)))
    assert len(raised) > 15
    assert left() == before


def test_the_function_raises() -> None:
    bridge.grad(every_kind_of_entry, engine="native")(X)
    before, x = left(), X.copy()
    for number in range(1, 12):

        def f(x: Any, number: int = number) -> Any:
            y = x * 1.0
            for i in range(1, 12):
                y[i] = y[i - 1] * x[i]
                y[1:3] = y[0]
                x[i] = 2.0
                if i == number:
                    raise Failure
            return np.sum(y)

        with pytest.raises(Failure):
            bridge.grad(f, engine="native")(x)
        assert x.tobytes() == X.tobytes()
    assert left() == before


def test_a_pull_that_is_never_called_leaves_nothing() -> None:
    before = left()
    contexts = []
    enter = Context.__enter__

    def heard(self: Any) -> Any:
        contexts.append(weakref.ref(self))
        return enter(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Context, "__enter__", heard)
        for _ in range(3):
            bridge.vjp(every_kind_of_entry, X, engine="native")
            bridge.vjp(lambda x: bridge.checkpoint(every_kind_of_entry)(x * 2), X, engine="native")
    gc.collect()
    assert contexts and not any(one() for one in contexts)
    assert left() == before


class Interrupt(BaseException):
    """What the timer raises."""


@pytest.mark.ci
@pytest.mark.skipif(os.name != "posix", reason="there is no such timer here")
def test_a_signal_while_the_log_is_walked() -> None:
    """Its handler runs when a stretch of entries has been walked; afterwards all is as if it had not come."""
    x = np.linspace(0.5, 0.9, 40)

    def f(x: Any) -> Any:
        for k in range(600):
            x[k % 40] = 0.25 * x[(k + 1) % 40] * x[k % 40] + 0.25
            x[3:9] = x[4:10] * 0.5
        return np.sum(x)

    waits = False  # a signal that is handled late, after its pull, does not set the timer again

    def stop(number: int, frame: Any) -> None:
        if not waits:
            return
        if frame.f_code.co_name == "rewind":
            raise Interrupt
        signal.setitimer(signal.ITIMER_REAL, 1e-4)

    expected = bridge.grad(f, engine="native")(x)
    kept = x.copy()
    previous = signal.signal(signal.SIGALRM, stop)
    stopped = 0
    try:
        for number in range(60):
            _, pull = bridge.vjp(f, x, engine="native")
            try:
                waits = True
                signal.setitimer(signal.ITIMER_REAL, 1e-4 + 4e-5 * number)
                found = pull(1.0)[0]
            except Interrupt:
                stopped += 1
            else:
                assert found.tobytes() == expected.tobytes()
            finally:
                waits = False
                signal.setitimer(signal.ITIMER_REAL, 0)
            assert bridge.current_context() is None
            assert x.tobytes() == kept.tobytes()
            assert pull(1.0)[0].tobytes() == expected.tobytes()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert stopped
    assert bridge.grad(f, engine="native")(x).tobytes() == expected.tobytes()
