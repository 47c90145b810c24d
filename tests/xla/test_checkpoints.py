"""Compiled checkpointed functions, which are run again while the program is traced: they do the same, or it is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import bridge
from bridge.errors import RefusedError, ReplayError

pytest.importorskip("jax", reason='engine="xla" needs JAX: pip install "mutation-bridge[jax]"')

Program = Callable[[Any], Any]
Body = Callable[[Any, Any], Any]

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


class Layer:
    """What a checkpointed function captures: its parts are bound to others while the program runs."""

    w: Any
    n: float


def rebinding(first: Callable[[Layer, Any], None], then: Callable[[Layer, Any], None], body: Body) -> Program:
    """A program whose checkpointed body reads a layer that is another one when the backward pass comes."""

    def program(x: Any) -> Any:
        layer = Layer()
        first(layer, x)
        y = bridge.checkpoint(lambda v: body(layer, v))(x)
        then(layer, x)
        return np.sum(y**2)

    return program


def of_ones(layer: Layer, x: Any) -> None:
    layer.w, layer.n = np.ones(4), 2.0


def of_threes(layer: Layer, x: Any) -> None:
    layer.w, layer.n = np.full(4, 3.0), 3.0


def one_mask(layer: Layer, x: Any) -> None:
    layer.w = np.array([True, False, True, True])


def other_mask(layer: Layer, x: Any) -> None:
    layer.w = np.array([True, True, True, False])


def ascending(layer: Layer, x: Any) -> None:
    layer.w = np.argsort(x)


def descending(layer: Layer, x: Any) -> None:
    layer.w = np.argsort(-x)


def first_half(layer: Layer, x: Any) -> None:
    layer.n = np.repeat([1.0, 2.0], 4)
    layer.w = layer.n[:4]


def second_half(layer: Layer, x: Any) -> None:
    layer.w = layer.n[4:]


def in_a_loop(layer: Layer, v: Any) -> Any:
    for i in range(20):
        v = np.sin(v * layer.w) + 0.01 * i
    return v


def written(layer: Layer, v: Any) -> Any:
    z = np.zeros(4)
    z[1:] = layer.n
    return np.sin(v * z)


def checkpointed_inside(layer: Layer, v: Any) -> Any:
    return bridge.checkpoint(lambda u: np.sin(u * layer.w))(v) * v


REBINDING = {
    "an attribute": rebinding(of_ones, of_threes, lambda layer, v: np.sin(v * layer.w)),
    "what is computed of it": rebinding(of_ones, of_threes, lambda layer, v: np.sin(v * np.exp(layer.w))),
    "an element": rebinding(of_ones, of_threes, lambda layer, v: np.sin(v * layer.w[1])),
    "a part of a sequence": rebinding(of_ones, of_threes, lambda layer, v: np.sin(np.concatenate([v, layer.w]))),
    "a mask": rebinding(one_mask, other_mask, lambda layer, v: np.where(layer.w, v, v**2)),
    "an index": rebinding(ascending, descending, lambda layer, v: np.sin(v[layer.w] * v)),
    "a view": rebinding(first_half, second_half, lambda layer, v: np.sin(v * layer.w)),
    "a copy": rebinding(of_ones, of_threes, lambda layer, v: np.sin(v * np.array(layer.w))),
    "in a loop": rebinding(of_ones, of_threes, in_a_loop),
    "in another one": rebinding(of_ones, of_threes, checkpointed_inside),
    "memory made of a number": rebinding(of_ones, of_threes, lambda layer, v: v * np.linspace(0, layer.n, 4)),
    "memory times a number": rebinding(of_ones, of_threes, lambda layer, v: np.sin(v * (np.ones(4) * layer.n))),
    "memory with a number in it": rebinding(of_ones, of_threes, written),
}


def in_a_dictionary(x: Any) -> Any:
    held = {"w": np.ones(4)}
    y = bridge.checkpoint(lambda v: np.sin(v * held["w"]))(x)
    held["w"] = np.full(4, 3.0)
    return np.sum(y**2)


def rebound_inside(x: Any) -> Any:
    layer = Layer()
    inner = bridge.checkpoint(lambda v: np.sin(v * layer.w))

    def outer(v: Any) -> Any:
        layer.w = np.ones(4)
        y = inner(v) * v
        layer.w = np.full(4, 3.0)
        return y

    return np.sum(bridge.checkpoint(outer)(x) ** 2)


@pytest.mark.ci
@pytest.mark.parametrize(
    "program",
    [another_function, one_layer_more, another_factor_inside, in_a_dictionary, rebound_inside, *REBINDING.values()],
    ids=[*range(5), *REBINDING],
)
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


def with_a_while_that_writes(x: Any) -> Any:
    def step(u: Any) -> Any:
        u = u * 1
        k = 0
        while k < 8 and u[0] < 100:
            u *= 1.1
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


def with_the_same_again(x: Any) -> Any:
    layer = Layer()
    for _ in range(3):
        layer.w, layer.n = np.ones(4) * 2.0, 1.5
        x = bridge.checkpoint(lambda v: np.where(v > 0, np.sin(v * layer.w), v) * layer.n)(x)
    return np.sum(x**2)


def with_memory_from_outside(x: Any) -> Any:
    scratch, weights = np.zeros(4), np.round(x * 3)

    def step(v: Any) -> Any:
        scratch[:] = 0.5
        scratch[1] = 2.0
        made = np.zeros(4)
        made[1:] = 1.5
        return np.sin(v * scratch) * weights + made * np.linspace(0, 1, 4) + v[np.arange(4)[::-1]]

    for _ in range(3):
        x = bridge.checkpoint(step)(x)
    return np.sum(x**2)


def with_what_it_keeps(x: Any) -> Any:
    held: dict[str, Any] = {}

    def step(v: Any) -> Any:
        if not held:
            held["w"] = np.linspace(0.0, 1.0, 4)
        return np.sin(v * held["w"])

    return np.sum(bridge.checkpoint(step)(x) ** 2)


def with_scratch_that_it_reads_first(x: Any) -> Any:
    layer = Layer()
    layer.w = np.ones(4)

    def step(v: Any) -> Any:
        layer.w += v * layer.w
        for k in range(30):
            layer.w[k % 4] *= 1.0 + 0.01 * v[(k + 1) % 4]
        return np.sin(v)

    for _ in range(3):
        x = bridge.checkpoint(step)(x)
    return np.sum(x * layer.w)


RIGHT = (
    in_each_other, with_branches_and_loops, with_a_while_that_writes, with_a_copy_of_its_own, with_the_same_again,
    with_memory_from_outside, with_what_it_keeps,
)  # fmt: skip


@pytest.mark.ci
@pytest.mark.parametrize("program", RIGHT)
def test_gradients(program: Callable[[Any], Any]) -> None:
    np.testing.assert_allclose(bridge.grad(program, engine="xla")(X.copy()), bridge.grad(program)(X.copy()), rtol=1e-12)


@pytest.mark.ci
def test_scratch_of_an_object_that_a_compiled_loop_writes_is_refused() -> None:
    with pytest.raises(bridge.errors.RefusedError, match="writes into an array from outside of it") as caught:
        bridge.grad(with_scratch_that_it_reads_first, engine="xla")(X.copy())
    assert caught.value.remedy and "test_checkpoints.py" in str(caught.value)


@pytest.mark.ci
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
