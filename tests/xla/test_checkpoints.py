"""Compiled checkpointed functions, which are run again while the program is traced: they do the same, or it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError, ReplayError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

X = np.array([0.71, 1.33, -0.42, 2.13])


def another_function(x: Any) -> Any:
    options = {"cut": True}
    y = bridge.checkpoint(lambda v: np.maximum(v, 0) if options["cut"] else np.tanh(v))(x)
    options["cut"] = False
    return np.sum(y**2)


def one_layer_more(x: Any) -> Any:
    weights = [np.ones(4)]

    def network(v: Any) -> Any:
        for w in weights:
            v = np.tanh(w * v)
        return v

    y = bridge.checkpoint(network)(x)
    weights.append(2 * np.ones(4))
    return np.sum(y**2)


def another_factor_inside(x: Any) -> Any:
    scale = {"by": 1.0}
    inner = bridge.checkpoint(lambda v: np.sin(v * scale["by"]))
    y = bridge.checkpoint(lambda v: inner(v) * v)(x)
    scale["by"] = 3.0
    return np.sum(y)


@pytest.mark.parametrize("program", [another_function, one_layer_more, another_factor_inside])
def test_what_does_something_else_is_told(program: Callable[[Any], Any]) -> None:
    with pytest.raises(
        ReplayError, match=r"(did something else|read other constants) when it was run again(.|\n)*remedy"
    ):
        bridge.grad(program, engine="xla")(X.copy())


def in_each_other(x: Any) -> Any:
    inner = bridge.checkpoint(lambda v: np.sin(v) * 2)
    outer = bridge.checkpoint(lambda v: inner(v) * v + inner(v * 2))
    return np.sum(outer(x) * outer(x[::-1]))


def with_branches_and_loops(x: Any) -> Any:
    def step(u: Any) -> Any:
        u = u * 2 if u[0] > 0.5 else u + 1
        k = 0
        while k < 8 and u[0] < 100:
            u = u * 1.1
            k += 1
        return u

    return np.sum(bridge.checkpoint(step)(bridge.checkpoint(step)(x)) ** 2)


def with_a_copy_of_its_own(x: Any) -> Any:
    def step(u: Any) -> Any:
        u = u.copy()
        for i in range(30):
            u[i % 4] += 0.01 * u[(i + 1) % 4] ** 2
        return u

    return np.sum(bridge.checkpoint(step)(bridge.checkpoint(step)(x)) ** 2)


@pytest.mark.parametrize("program", [in_each_other, with_branches_and_loops, with_a_copy_of_its_own])
def test_gradients(program: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(bridge.grad(program, engine="xla")(X.copy()), bridge.grad(program)(X.copy()), rtol=1e-12)


def test_a_compiled_loop_that_writes_an_array_from_outside() -> None:
    def program(x: Any) -> Any:
        def step(u: Any) -> None:
            for i in range(30):
                u[i % 4] += 0.01 * u[(i + 1) % 4] ** 2

        u = x.copy()
        bridge.checkpoint(step)(u)
        return np.sum(u**2)

    with pytest.raises(RefusedError, match=r"writes into an array from outside of it(.|\n)*copy"):
        bridge.grad(program, engine="xla")(X.copy())
