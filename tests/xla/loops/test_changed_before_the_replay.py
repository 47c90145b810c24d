"""What a loop's body reads, and the program resets after the loop: the way back says so by name."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import ReplayError

pytest.importorskip("jax", reason="JAX is not installed: loops were not compiled (pip install jax)")

X = np.linspace(0.2, 1.4, 4)
RATE: Any = 1.1
held = SimpleNamespace()

BODIES: dict[str, Callable[[Any], Any]] = {
    "a global": lambda v: v * RATE,
    "an attribute": lambda v: v + np.sin(v) * held.rate,
    "an array of an object": lambda v: np.add(v, held.w) * 1.1,
    "an element": lambda v: v * held.rates[0],
    "in place": lambda v: np.multiply(v, held.d["k"], out=v),
}


def reset(value: Any) -> None:
    global RATE
    RATE = held.rate = held.w = held.d = held.rates = value


def deleted() -> None:
    del globals()["RATE"]
    held.__dict__.clear()


RESETS: dict[str, Callable[[], None]] = {
    "None": lambda: reset(None),
    "an object": lambda: reset(object()),
    "nothing": deleted,
}


def fori(body: Any, x: Any) -> Any:
    return bridge.fori_loop(0, 6, lambda i, v: body(v), x * 1.0)


def checkpointed(body: Any, x: Any) -> Any:
    return bridge.checkpoint(body)(x * 1.0)


def until(body: Any, x: Any) -> Any:
    return bridge.while_loop(lambda v: np.sum(v) < 9, body, x * 1.0, limit=40)


def python_loop(body: Any, x: Any) -> Any:
    x = x * 1.0
    for _ in range(12):
        x = body(x)
    return x


def branched(body: Any, x: Any) -> Any:
    y = x * 1.0
    if x[0] > 0:
        y = body(y)
    return y


@pytest.mark.ci
@pytest.mark.parametrize("memory", [None, 2_000])
@pytest.mark.parametrize("way", [fori, checkpointed, until, python_loop, branched], ids=lambda way: way.__name__)
@pytest.mark.parametrize("how", tuple(RESETS))
@pytest.mark.parametrize("name", BODIES)
def test_what_was_reset_is_told_by_name(name: str, how: str, way: Any, memory: Any) -> None:
    global RATE
    RATE = 1.1
    held.__dict__.update(rate=0.2, w=np.full(4, 0.1), rates=[1.1], d={"k": 1.1})

    def f(x: Any) -> Any:
        y = way(BODIES[name], x)
        RESETS[how]()
        return np.sum(y * y)

    expected = bridge.grad(lambda x: np.sum(way(BODIES[name], x) ** 2))(X.copy())
    told = None
    try:
        # Some find the state of the program as it was, or do not run again.
        np.testing.assert_allclose(bridge.grad(f, engine="xla", memory=memory)(X.copy()), expected, rtol=1e-12)
    except ReplayError as error:
        told = str(error)
    if told is None:
        return
    assert "again for the backward pass" in told
    assert "raised" in told or "other" in told
    assert "test_changed_before_the_replay.py:" in told
    assert "\n  remedy: " in told
