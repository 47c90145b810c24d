"""JAX on the CPU: `jax.jit` of `jax.grad`, loops as `lax.scan`, in-place writes as `.at[]` and dynamic slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from benchmarks.peers import Run
from benchmarks.programs import Workload

title = "JAX jit"
jax.config.update("jax_enable_x64", True)
jax.config.update("jax_platforms", "cpu")

Array = jax.Array


def version() -> str:
    """Version of JAX."""
    return jax.__version__


def prepare(workload: Workload) -> Run:
    """Compiled gradient; a training step's update is compiled with it."""
    inputs = tuple(jnp.asarray(array) for array in workload.inputs())
    data = tuple(jnp.asarray(array) for array in workload.data())
    program, rate = PROGRAMS[workload.program], workload.learning_rate

    def loss(inputs: tuple[Array, ...]) -> Array:
        return program(*inputs, *data, *workload.settings)

    @jax.jit
    def step(inputs: tuple[Array, ...]) -> tuple[Any, Any]:
        cotangents = jax.grad(loss)(inputs)
        return cotangents, tuple(p - rate * c for p, c in zip(inputs, cotangents, strict=True)) if rate else ()

    def run() -> Any:
        nonlocal inputs
        cotangents, updated = jax.block_until_ready(step(inputs))
        inputs = updated or inputs
        return cotangents

    return run


def writes(x: Array, count: int, width: int) -> Array:
    """Slice writes as dynamic update slices in a scan."""

    def body(b: Array, i: Array) -> tuple[Array, None]:
        s = (i * width) % (len(x) - 2 * width)
        factor = jnp.sin(lax.dynamic_slice(x, (s,), (width,)))
        new = factor * lax.dynamic_slice(b, (s,), (width,)) + lax.dynamic_slice(x, (s + width,), (width,))
        return lax.dynamic_update_slice(b, new, (s + width,)), None

    b, _ = lax.scan(body, jnp.zeros_like(x), jnp.arange(count))
    return b.sum()


def heat(u: Array, steps: int) -> Array:
    """Heat equation by `.at[].add` in a scan."""

    def body(u: Array, _: None) -> tuple[Array, None]:
        return u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])), None

    u, _ = lax.scan(body, u, None, length=steps)
    return (u**2).sum()


def recurrence(x: Array) -> Array:
    """Element writes by `.at[].set` in a scan."""

    def body(y: Array, i: Array) -> tuple[Array, None]:
        return y.at[i].set(jnp.tanh(y[i] + 0.5 * y[i - 1])), None

    y, _ = lax.scan(body, x, jnp.arange(1, len(x)))
    return y.sum()


def digits(
    w1: Array, b1: Array, w2: Array, b2: Array, images: Array, labels: Array, hidden: Array, logits: Array
) -> Array:
    """The network; XLA finds its own buffers, so the two that are passed stay unused."""
    scores = jnp.tanh(images @ w1 + b1) @ w2 + b2
    scores -= lax.stop_gradient(scores.max(axis=1, keepdims=True))
    chosen = scores[jnp.arange(len(labels)), labels]
    return (jnp.log(jnp.exp(scores).sum(axis=1)) - chosen).mean()


def chain(x: Array, steps: int) -> Array:
    """The same five operations a step, as the body of a scan."""

    def body(y: Array, _: None) -> tuple[Array, None]:
        return (jnp.sin(y * x) + x) * 0.5 + x, None

    y, _ = lax.scan(body, x, None, length=steps)
    return y.sum()


def scalars(x: Array, steps: int) -> Array:
    """The same recurrence, as the body of a scan."""

    def body(s: Array, i: Array) -> tuple[Array, None]:
        return jnp.tanh(s + 0.5 * x[i % 8]), None

    s, _ = lax.scan(body, x[0], jnp.arange(steps))
    return s


PROGRAMS: dict[str, Callable[..., Any]] = {
    function.__name__: function for function in (writes, heat, recurrence, digits, chain, scalars)
}
