"""The programs as JAX's users write them: with functional writes, rewritten without any, and with mutable references.

Where there is more than one good way to write a program, all are listed, and the benchmark takes the fastest.
Every reference program is differentiated by plain `jax.grad`, which sees through `jax.new_ref`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import jax
import jax.numpy as jnp
from jax import lax

Array = jax.Array


def writes_slices(x: Array, count: int, width: int) -> Array:
    """Dynamic slices in a scan."""

    def step(b: Array, i: Array) -> tuple[Array, None]:
        s = (i * width) % (len(x) - 2 * width)
        factor = jnp.sin(lax.dynamic_slice(x, (s,), (width,)))
        new = factor * lax.dynamic_slice(b, (s,), (width,)) + lax.dynamic_slice(x, (s + width,), (width,))
        return lax.dynamic_update_slice(b, new, (s + width,)), None

    b, _ = lax.scan(step, jnp.zeros_like(x), jnp.arange(count))
    return b.sum()


def writes_at(x: Array, count: int, width: int) -> Array:
    """Index arrays and `.at[].set` in a fori_loop, with what is known of the indices said."""

    def step(i: Array, b: Array) -> Array:
        at = (i * width) % (len(x) - 2 * width) + jnp.arange(width)
        new = jnp.sin(x[at]) * b[at] + x[at + width]
        return b.at[at + width].set(new, unique_indices=True, indices_are_sorted=True)

    return lax.fori_loop(0, count, step, jnp.zeros_like(x)).sum()


def writes_ref(x: Array, count: int, width: int) -> Array:
    """Slices of a reference."""
    b = jax.new_ref(jnp.zeros_like(x))

    def step(i: Array, _: None) -> None:
        s = (i * width) % (len(x) - 2 * width)
        factor = jnp.sin(lax.dynamic_slice(x, (s,), (width,)))
        b[jax.ds(s + width, width)] = factor * b[jax.ds(s, width)] + lax.dynamic_slice(x, (s + width,), (width,))

    lax.fori_loop(0, count, step, None)
    return jax.freeze(b).sum()


def heat_add(u: Array, steps: int) -> Array:
    """`.at[].add` in a scan."""

    def step(u: Array, _: None) -> tuple[Array, None]:
        return u.at[1:-1].add(0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])), None

    u, _ = lax.scan(step, u, None, length=steps)
    return (u**2).sum()


def heat_concatenated(u: Array, steps: int) -> Array:
    """A new array of three pieces in each step of a scan."""

    def step(u: Array, _: None) -> tuple[Array, None]:
        inner = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return jnp.concatenate([u[:1], inner, u[-1:]]), None

    u, _ = lax.scan(step, u, None, length=steps)
    return (u**2).sum()


def heat_ref(u: Array, steps: int) -> Array:
    """The interior of a reference, in place."""
    r = jax.new_ref(u)

    def step(_: Array, carry: None) -> None:
        u = r[...]
        r[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])

    lax.fori_loop(0, steps, step, None)
    return (jax.freeze(r) ** 2).sum()


def recurrence_at(x: Array) -> Array:
    """`.at[].set` in a fori_loop."""

    def step(i: Array, b: Array) -> Array:
        return b.at[i + 1].set(jnp.sin(b[i]) * x[i] + b[i])

    return lax.fori_loop(0, len(x) - 1, step, jnp.zeros_like(x).at[0].set(x[-1])).sum()


def recurrence_scan(x: Array) -> Array:
    """The last element as the scan's carry, the others stacked by it: no array is written."""

    def step(last: Array, factor: Array) -> tuple[Array, Array]:
        new = jnp.sin(last) * factor + last
        return new, new

    _, others = lax.scan(step, x[-1], x[:-1])
    return x[-1] + others.sum()


def recurrence_ref(x: Array) -> Array:
    """Elements of a reference."""
    b = jax.new_ref(jnp.zeros_like(x))
    b[0] = x[-1]

    def step(i: Array, _: None) -> None:
        last = b[i]
        b[i + 1] = jnp.sin(last) * x[i] + last

    lax.fori_loop(0, len(x) - 1, step, None)
    return jax.freeze(b).sum()


def digits_pure(
    w1: Array, b1: Array, w2: Array, b2: Array, images: Array, labels: Array, hidden: Array, logits: Array
) -> Array:
    """The network; XLA finds its own buffers, so the two that are passed stay unused."""
    scores = jnp.tanh(images @ w1 + b1) @ w2 + b2
    scores -= lax.stop_gradient(scores.max(axis=1, keepdims=True))
    chosen = scores[jnp.arange(len(labels)), labels]
    return (jnp.log(jnp.exp(scores).sum(axis=1)) - chosen).mean()


def digits_ref(
    w1: Array, b1: Array, w2: Array, b2: Array, images: Array, labels: Array, hidden: Array, logits: Array
) -> Array:
    """The network in two references, written layer by layer."""
    h, y = jax.new_ref(hidden), jax.new_ref(logits)
    h[...] = images @ w1
    h[...] += b1
    h[...] = jnp.tanh(h[...])
    y[...] = h[...] @ w2
    y[...] += b2
    y[...] -= lax.stop_gradient(y[...].max(axis=1, keepdims=True))
    chosen = y[...][jnp.arange(len(labels)), labels]
    y[...] = jnp.exp(y[...])
    return (jnp.log(y[...].sum(axis=1)) - chosen).mean()


Spellings = Mapping[str, Callable[..., Array]]

PURE: Mapping[str, Spellings] = {
    "writes": {"dynamic slices": writes_slices, ".at[]": writes_at},
    "heat": {".at[]": heat_add},
    "recurrence": {".at[]": recurrence_at},
    "digits": {"": digits_pure},
}
"""The same algorithm, with JAX's own words for writes."""

REWRITTEN: Mapping[str, Spellings] = {
    "heat": {"": heat_concatenated},
    "recurrence": {"": recurrence_scan},
}
"""Another algorithm without writes, for whoever finds it: the programs that have one."""

REFERENCES: Mapping[str, Spellings] = {
    "writes": {"": writes_ref},
    "heat": {"": heat_ref},
    "recurrence": {"": recurrence_ref},
    "digits": {"": digits_ref},
}
"""Mutable references."""
