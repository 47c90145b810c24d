"""Checkpointed calls: what a replay that differs does not get away with, and memory that the call shares."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ContextError, ReplayError
from tests.helpers.finite_differences import gradient
from tests.rewind.test_closures import Unseen

X = np.array([0.3, 1.2, -0.7, 0.3, 1.2, -0.7])


def writes_something_else(x: Any, turn: Callable[[], int]) -> Any:
    """What it writes is the only thing that differs: nothing is returned."""
    y = x * 2

    def body(v: Any) -> None:
        y[:] = (np.sin if turn() == 1 else np.cos)(v)

    bridge.checkpoint(body)(x)
    return np.sum(y * y)


def reads_other_memory(x: Any, turn: Callable[[], int]) -> Any:
    """The numbers are equal, and their cotangents belong to somebody else."""
    a, b = x[:3] * 1.0, x[3:] * 1.0
    return np.sum(bridge.checkpoint(lambda v: v * (a if turn() == 1 else b))(x[:3] * 2))


def reads_other_memory_in_a_checkpoint_of_its_own(x: Any, turn: Callable[[], int]) -> Any:
    a, b = x[:3] * 1.0, x[3:] * 1.0
    inner = bridge.checkpoint(lambda v: v * (a if turn() == 1 else b))
    return np.sum(bridge.checkpoint(lambda v: inner(v) + 1)(x[:3] * 2))


def reads_other_memory_that_it_fills(x: Any, turn: Callable[[], int]) -> Any:
    """Both hold the same numbers, one of which grows faster."""
    a, b = np.zeros(6), np.zeros(6)

    def body(v: Any) -> Any:
        a[:] = v
        b[:] = v * v / v
        return v * (a if turn() == 1 else b)

    return np.sum(bridge.checkpoint(body)(x))


def reads_other_constants_beside_scratch(x: Any, turn: Callable[[], int]) -> Any:
    """What is read is multiplied by zeros, so that no value tells."""
    total = np.zeros(6)

    def body(v: Any) -> Any:
        total[:] = total + v * np.full(6, float(turn())) * 0.0
        return v * 2

    y = bridge.checkpoint(body)(x)
    return np.sum(y * total)


def returns_less(x: Any, turn: Callable[[], int]) -> Any:
    parts = bridge.checkpoint(lambda v: [v * 2, v * 3][: 3 - turn()])(x)
    return sum(np.sum(part**2) for part in parts)


def returns_another_shape(x: Any, turn: Callable[[], int]) -> Any:
    return np.sum(bridge.checkpoint(lambda v: v[: 7 - turn()] * 1.0)(x))


OTHERS = [
    writes_something_else,
    reads_other_memory,
    reads_other_memory_in_a_checkpoint_of_its_own,
    reads_other_memory_that_it_fills,
    reads_other_constants_beside_scratch,
    returns_less,
    returns_another_shape,
]


@pytest.mark.parametrize("f", OTHERS, ids=lambda f: f.__name__)
def test_a_replay_that_differs_is_told(f: Any) -> None:
    with pytest.raises(ReplayError, match="when it was run again for the backward pass"):
        bridge.grad(lambda x: f(x, Unseen().counted), engine="native")(X)


def writes_what_was_made_last(x: Any) -> Any:
    def body(v: Any) -> None:
        v *= np.sin(x)

    y = x * 2
    bridge.checkpoint(body)(y)
    return np.sum(y * y)


def writes_constants_that_become_none(x: Any) -> Any:
    y = np.zeros_like(x)
    before = y * 3

    def body(v: Any) -> None:
        y[1:] = v[1:] * v[:-1]
        y[0] = y[1] * v[0]

    bridge.checkpoint(body)(x)
    y[2] *= y[3]
    return np.sum(y * y + before)


def writes_by_turns(x: Any) -> Any:
    y, z = x * 2, x * 3

    def body(v: Any) -> Any:
        y[:] = v * z
        z[1:] += y[:-1]
        y[::2] *= z[::2]
        return z * v

    for _ in range(2):
        y = y + bridge.checkpoint(body)(x)
    return np.sum(y * z)


def keeps_no_more_than_whole_arrays(x: Any) -> Any:
    y = x * 2

    def body(v: Any) -> Any:
        for k in range(12):
            y[:] = np.sin(y) * v + k
            y[1:4] *= v[1:4]
        return np.sum(y)

    return bridge.checkpoint(body)(x) * np.sum(y)


def in_a_checkpoint(x: Any) -> Any:
    y = x * 2

    def inner(v: Any) -> Any:
        y[1:] *= v[:-1]
        return np.sin(y)

    def outer(v: Any) -> Any:
        w = bridge.checkpoint(inner)(v) * v
        y[0] = w[1]
        return bridge.checkpoint(inner)(w)

    return np.sum(bridge.checkpoint(outer)(x) * y)


def adds_to_scratch_in_a_closure(x: Any) -> Any:
    """The first call reads what holds no gradient yet, and writes the first into it."""
    total = np.zeros(6)

    def step(v: Any) -> Any:
        total[:] = total + v * v
        return np.sin(v)

    for _ in range(3):
        x = bridge.checkpoint(step)(x)
    return np.sum(total**2) + np.sum(x)


def adds_to_an_attribute(x: Any) -> Any:
    state = SimpleNamespace(total=np.ones(6), rate=np.full(6, 0.5))

    def step(v: Any) -> Any:
        state.total += v * state.rate * state.total
        np.multiply(state.rate, v, out=state.rate)
        return np.tanh(v + state.total)

    for _ in range(2):
        x = bridge.checkpoint(step)(x)
    return np.sum(x * state.rate)


def adds_to_what_a_checkpoint_has_made(x: Any) -> Any:
    def outer(v: Any) -> Any:
        total = np.ones(6)

        def inner(u: Any) -> Any:
            total[1:] += total[:-1] * u[1:]
            return np.cos(u)

        return bridge.checkpoint(inner)(bridge.checkpoint(inner)(v)) * total

    return np.sum(bridge.checkpoint(outer)(x))


def nothing_is_returned_that_counts(x: Any) -> Any:
    bridge.checkpoint(lambda v: (v * 2, "text", None))(x)
    return np.sum(x * x)


RIGHT = [
    writes_what_was_made_last,
    writes_constants_that_become_none,
    writes_by_turns,
    keeps_no_more_than_whole_arrays,
    in_a_checkpoint,
    adds_to_scratch_in_a_closure,
    adds_to_an_attribute,
    adds_to_what_a_checkpoint_has_made,
    nothing_is_returned_that_counts,
]


@pytest.mark.parametrize("f", RIGHT, ids=lambda f: f.__name__)
def test_memory_that_the_call_shares(f: Any) -> None:
    (expected,) = gradient(f, [X])
    value, pull = bridge.vjp(f, X, engine="native")
    for _ in range(2):
        np.testing.assert_allclose(pull(np.ones_like(value))[0], expected, rtol=1e-6, atol=1e-9)
    u = np.linspace(-1, 1, 6)
    slope = (bridge.grad(f, engine="native")(X + 1e-6 * u) - bridge.grad(f, engine="native")(X - 1e-6 * u)) / 2e-6
    np.testing.assert_allclose(bridge.hvp(f, (X,), (u,), engine="native"), slope, rtol=1e-5, atol=1e-7)


def test_a_context_that_has_closed_stays_so_after_a_replay() -> None:
    with bridge.Context() as context:
        x = context.buffer(X)
        y = np.sum(bridge.checkpoint(np.sin)(x) * x)
    np.testing.assert_allclose(context.gradient(y, x), np.sin(X) + X * np.cos(X))
    assert bridge.current_context() is None
    with pytest.raises(ContextError, match="which has closed"):
        np.sin(x)
    np.testing.assert_allclose(context.gradient(y, x), np.sin(X) + X * np.cos(X))


def test_an_argument_under_two_names_that_was_written_before() -> None:
    """From the write on the other name carries a gradient, also when the call is run again."""

    def f(x: Any, y: Any) -> Any:
        x[0] = x[1] * 2
        return np.sum(bridge.checkpoint(lambda v: v * v)(y) * x)

    def plain(x: Any) -> Any:
        x = x.copy()
        return f(x, x)

    x = X.copy()
    np.testing.assert_allclose(bridge.grad(f)(x, x), gradient(plain, [X])[0], rtol=1e-6, atol=1e-9)
