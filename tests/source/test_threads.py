"""What is lent belongs to one thread at a time: another one gets an error, and everything is as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ContextError

W = np.arange(1.0, 5.0)


class Model:
    def __init__(self) -> None:
        self.u = np.ones(4)
        self.v = 1.0
        self.history: list[Any] = []


def into_an_array(o: Model, x: Any) -> Any:
    o.u[:] = x * W
    return o.u.sum()


def into_an_attribute(o: Model, x: Any) -> Any:
    o.v = x * 2
    return o.v


def into_a_list(o: Model, x: Any) -> Any:
    o.history.append(x)
    return o.history[-1]


WRITES = [into_an_array, into_an_attribute, into_a_list]


def together(first: Callable[[threading.Event], Any], second: Callable[[], Any]) -> tuple[Any, Any]:
    """What two threads return or raise: the second one runs while the first one waits for it."""
    has_written, is_over = threading.Event(), threading.Event()

    def wait() -> None:
        has_written.set()
        assert is_over.wait(60)

    def run_second() -> Any:
        assert has_written.wait(60)
        try:
            return _answer(second)
        finally:
            is_over.set()

    with ThreadPoolExecutor(2) as pool:
        answers = pool.submit(_answer, lambda: first(wait)), pool.submit(run_second)
        return answers[0].result(), answers[1].result()


def _answer(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except Exception as error:
        return error


def _is_as_it_was(o: Model) -> bool:
    return np.array_equal(o.u, np.ones(4)) and o.v == 1.0 and o.history == []


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_one_object_changed_by_two_threads(write: Callable[..., Any]) -> None:
    o = Model()

    def waiting(wait: Any) -> Any:
        def f(x: Any) -> Any:
            value = write(o, x)
            wait()
            return value

        return bridge.grad(f)(2.0)

    def f(x: Any) -> Any:
        return write(o, x)

    first, second = together(waiting, lambda: bridge.grad(f)(2.0))
    assert first == bridge.grad(f)(2.0)
    assert isinstance(second, ContextError), second
    assert "thread" in str(second)
    assert _is_as_it_was(o)


@pytest.mark.parametrize("write", WRITES, ids=lambda write: write.__name__)
def test_two_threads_with_objects_of_their_own(write: Callable[..., Any]) -> None:
    one, other = Model(), Model()

    def waiting(wait: Any) -> Any:
        def f(x: Any) -> Any:
            value = write(one, x)
            wait()
            return value

        return bridge.grad(f)(2.0)

    def f(x: Any) -> Any:
        return write(other, x)

    first, second = together(waiting, lambda: bridge.grad(f)(2.0))
    assert first == second == bridge.grad(f)(2.0)
    assert _is_as_it_was(one)
    assert _is_as_it_was(other)


def test_a_thread_that_only_reads_what_another_one_has_lent() -> None:
    o = Model()

    def waiting(wait: Any) -> Any:
        def f(x: Any) -> Any:
            o.u[0] = x
            wait()
            return o.u.sum()

        return bridge.grad(f)(2.0)

    first, second = together(waiting, lambda: o.u.sum())
    # The thread may belong to the program, so the gradient tells of it too.
    assert isinstance(first, ContextError)
    assert isinstance(second, ContextError)
    assert _is_as_it_was(o)


def test_a_pool_of_threads_inside_of_the_function() -> None:
    def f(x: Any) -> Any:
        a = np.zeros(4)

        def put(k: int) -> None:
            a[k] = x * k

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(put, range(4)))
        return a.sum()

    with pytest.raises(ContextError, match="is used in thread"):
        bridge.grad(f)(2.0)


def test_what_a_pool_of_threads_is_refused_is_told_though_nobody_asks_for_the_result() -> None:
    def f(x: Any) -> Any:
        found = [0.0]

        def add(k: int) -> None:
            found[0] = found[0] + x[k]

        with ThreadPoolExecutor(1) as pool:
            pool.submit(add, 0)
        return found[0] + np.sum(x)

    with pytest.raises(ContextError, match="is used in thread"):
        bridge.grad(f)(np.ones(3))
