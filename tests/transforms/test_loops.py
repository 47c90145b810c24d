"""Checkpoints and loops: the same gradients in bounded memory, and what a replay must not do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge import checkpoint, errors, fori_loop, while_loop
from tests.helpers.memory import peak_of

X = np.array([0.3, 1.2, -0.7, 0.4])


def in_place_step(i: int, u: Any) -> Any:
    u[1:-1] += 0.1 * np.sin(u[2:] - 2 * u[1:-1] + u[:-2])
    u[0] *= 1.0 + 0.01 * np.cos(i)
    return u


def plain_loop(lower: int, upper: int, body: Callable[[int, Any], Any], value: Any) -> Any:
    for i in range(lower, upper):
        value = body(i, value)
    return value


def heat(x: Any, loop: Any) -> Any:
    return np.sum(loop(0, 30, in_place_step, x.copy()) ** 2)


@pytest.mark.parametrize("order", ["grad", "jvp", "hvp", "grad of grad", "vjp twice"])
def test_loops_are_loops(order: str) -> None:
    def answer(loop: Any) -> Any:
        def f(x: Any) -> Any:
            return heat(x, loop)

        if order == "grad":
            return bridge.grad(f)(X)
        if order == "jvp":
            return bridge.jvp(f, (X,), (X,))[1]
        if order == "hvp":
            return bridge.hvp(f, (X,), (X,))
        if order == "vjp twice":
            _, pull = bridge.vjp(f, X)
            return pull(1.0)[0] + pull(2.0)[0]
        return bridge.grad(lambda x: np.sum(bridge.grad(f)(x) ** 2))(X)

    np.testing.assert_allclose(answer(fori_loop), answer(plain_loop), rtol=1e-12, atol=1e-12)


def test_outside_a_context_they_are_plain() -> None:
    assert fori_loop(0, 5, lambda i, v: v + i, 0) == 10
    assert while_loop(lambda v: v < 100, lambda v: v * 2, 1) == 128
    assert bridge.cond(True, lambda v: v + 1, lambda v: v - 1, 1) == 2
    assert checkpoint(lambda a, b=2: a * b)(3, b=4) == 12


def test_while_loop_with_values_and_a_limit() -> None:
    def f(x: Any) -> Any:
        value, count = while_loop(lambda c: c[0] < 50.0, lambda c: (c[0] * (1.5 + x[1] * 0.1), c[1] + 1), (x[0], 0))
        return value * count

    def plain(x: Any) -> Any:
        value, count = x[0], 0
        while value < 50.0:
            value, count = value * (1.5 + x[1] * 0.1), count + 1
        return value * count

    np.testing.assert_allclose(bridge.grad(f)(X), bridge.grad(plain)(X))
    assert while_loop(lambda v: v < 4, lambda v: v + 1, 0, limit=4) == 4
    with pytest.raises(errors.ArgumentError, match="limit=3"):
        while_loop(lambda v: v < 4, lambda v: v + 1, 0, limit=3)


def test_cond_runs_one_branch() -> None:
    def f(x: Any) -> Any:
        return bridge.cond(x[0] > 0, lambda v: np.sum(v**2), lambda v: np.sum(v) / 0, x)

    np.testing.assert_allclose(bridge.grad(f)(X), 2 * X)


def test_empty_loops_and_bad_bounds() -> None:
    np.testing.assert_allclose(bridge.grad(lambda x: np.sum(fori_loop(3, 3, in_place_step, x)))(X), np.ones(4))
    with pytest.raises(errors.ArgumentError, match="upper"):
        fori_loop(0, 2.5, in_place_step, X)  # type: ignore[arg-type]


def test_a_checkpoint_that_only_writes() -> None:
    def f(x: Any) -> Any:
        b = np.zeros_like(x)

        @checkpoint
        def fill(k: int) -> None:
            b[k] = x[k] ** 2
            b[k] *= 2.0
            b[:2] += b[k]

        for k in range(4):
            fill(k)
        y = np.sum(b * b)
        b[:] = 0.0
        return y + np.sum(b)

    def plain(x: Any) -> Any:
        b = np.zeros_like(x)
        for k in range(4):
            b[k] = x[k] ** 2
            b[k] *= 2.0
            b[:2] += b[k]
        return np.sum(b * b)

    np.testing.assert_allclose(bridge.grad(f)(X), bridge.grad(plain)(X))
    np.testing.assert_allclose(bridge.hvp(f, (X,), (X,)), bridge.hvp(plain, (X,), (X,)))


def test_nested_checkpoints_with_containers() -> None:
    @checkpoint
    def inner(state: Any) -> Any:
        state["v"] *= np.cos(state["u"])
        return {"u": state["u"] * state["v"], "v": state["v"]}

    @checkpoint
    def outer(state: Any) -> Any:
        for _ in range(3):
            state = inner(state)
        return state

    def f(x: Any, wrapped: bool) -> Any:
        state = {"u": x * 1.0, "v": x.copy()}
        for _ in range(2):
            state = (outer if wrapped else outer.__wrapped__)(state)
        return np.sum(state["u"] * state["v"])

    np.testing.assert_allclose(bridge.grad(lambda x: f(x, True))(X), bridge.grad(lambda x: f(x, False))(X))


def test_memory_is_bounded() -> None:
    def peak(loop: Any) -> int:
        def f(x: Any) -> Any:
            return np.sum(loop(0, 400, lambda i, v: np.sin(v) * 1.01, x))

        return peak_of(bridge.grad(f), np.ones(2000))

    assert peak(fori_loop) < peak(plain_loop) / 4


def test_in_place_memory_is_bounded_too() -> None:
    def peak(loop: Any) -> int:
        gradient = bridge.grad(lambda x: np.sum(loop(0, 400, in_place_step, x.copy()) ** 2))
        gradient(np.ones(2))
        return peak_of(gradient, np.ones(2000))

    assert peak(fori_loop) < peak(plain_loop) / 4


def test_a_replay_that_differs_is_named() -> None:
    calls: list[int] = []

    @checkpoint
    def fickle(x: Any) -> Any:
        calls.append(1)
        return x * len(calls)

    with pytest.raises(errors.ReplayError, match=r"fickle\) gave other values(.|\n)*test_loops\.py"):
        bridge.grad(lambda x: np.sum(fickle(x)))(X)


def test_a_value_that_was_not_returned_is_named() -> None:
    leaked: list[Any] = []

    @checkpoint
    def leaky(x: Any) -> Any:
        y = x * 2
        leaked.append(y)
        return y + 1

    with pytest.raises(errors.ContextError, match="not returned"):
        bridge.grad(lambda x: np.sum(leaky(x) * leaked[0]))(X)


def test_an_error_in_a_replay_leaves_the_pull_usable() -> None:
    failing = [False]

    @checkpoint
    def moody(x: Any) -> Any:
        x *= 2.0
        if failing[0]:
            raise OSError("moody")
        return x * x

    def f(x: Any) -> Any:
        y = moody(x)
        x += 1.0
        return np.sum(y * x)

    _, pull = bridge.vjp(f, X)
    first = pull(1.0)[0]
    failing[0] = True
    with pytest.raises(errors.ReplayError, match=r"checkpoint\(moody\) raised OSError when it was run again"):
        pull(1.0)
    failing[0] = False
    np.testing.assert_array_equal(pull(1.0)[0], first)


def test_a_plain_array_that_a_segment_writes_first() -> None:
    """What a loop carries is plain until its first segment writes into it, and a replay writes there again."""

    def f(x: Any) -> Any:
        def body(i: int, y: Any) -> Any:
            y[i] = x[i] * (1.0 + np.sum(y[:i]))
            return y

        return np.sum(bridge.fori_loop(0, 7, body, np.zeros(7)) * np.arange(7.0))

    def plain(x: Any) -> Any:
        y = np.zeros(7)
        for i in range(7):
            y[i] = x[i] * (1.0 + np.sum(y[:i]))
        return np.sum(y * np.arange(7.0))

    x = np.linspace(0.3, 1.0, 7)
    np.testing.assert_allclose(bridge.grad(f, engine="native")(x), bridge.grad(plain, engine="native")(x), rtol=1e-12)
