"""`python -m benchmarks.devices`: compiled gradients where JAX computes, a GPU too, beside JAX written by hand."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console
from rich.table import Table

import bridge

REPEATS = 7


def heat(u: Any, k: Any) -> Any:
    u = u.copy()
    for _ in range(200):
        u[1:-1, 1:-1] += k * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
    return np.sum(u * u)


def heat_jax(u: Any, k: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        lap = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        return u.at[1:-1, 1:-1].add(k * lap), None

    u, _ = jax.lax.scan(step, u, None, length=200)
    return jnp.sum(u * u)


def wave(u: Any, c: Any) -> Any:
    old, now = u.copy(), u.copy()
    for _ in range(200):
        new = np.zeros_like(now)
        around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        new[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + c[1:-1, 1:-1] * around
        old, now = now, new
    return np.sum(now**2)


def wave_jax(u: Any, c: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        old, now = carry
        lap = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        new = jnp.zeros_like(now).at[1:-1, 1:-1].set(2 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + c[1:-1, 1:-1] * lap)
        return (now, new), None

    (_, now), _ = jax.lax.scan(step, (u, u), None, length=200)
    return jnp.sum(now**2)


def bodies(x: Any, m: Any) -> Any:
    x, v = x.copy(), np.zeros_like(x)
    for _ in range(20):
        d = x[:, None, :] - x[None, :, :]
        r = np.sum(d * d, axis=2) + 1e-2
        v -= 1e-4 * np.sum(m[None, :, None] * d / (r * np.sqrt(r))[:, :, None], axis=1)
        x += v
    return np.sum(x * x)


def bodies_jax(x: Any, m: Any) -> Any:
    def step(carry: Any, _: Any) -> Any:
        x, v = carry
        d = x[:, None, :] - x[None, :, :]
        r = jnp.sum(d * d, axis=2) + 1e-2
        v = v - 1e-4 * jnp.sum(m[None, :, None] * d / (r * jnp.sqrt(r))[:, :, None], axis=1)
        return (x + v, v), None

    (x, _), _ = jax.lax.scan(step, (x, jnp.zeros_like(x)), None, length=20)
    return jnp.sum(x * x)


def recurrence(x: Any, w: Any) -> Any:
    h = np.zeros((x.shape[1], w.shape[0]), x.dtype)
    hs = np.zeros((x.shape[0], *h.shape), x.dtype)
    for t in range(x.shape[0]):
        h = np.tanh(h @ w + x[t])
        hs[t] = h
    return np.sum(hs**2)


def recurrence_jax(x: Any, w: Any) -> Any:
    def step(h: Any, x: Any) -> Any:
        h = jnp.tanh(jnp.matmul(h, w) + x)
        return h, h

    _, hs = jax.lax.scan(step, jnp.zeros((x.shape[1], w.shape[0]), x.dtype), x)
    return jnp.sum(hs**2)


def floats(*shape: int) -> np.ndarray:
    """Random float32 numbers."""
    return np.random.default_rng(0).random(shape).astype(np.float32)


def programs() -> dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]]:
    """The program, the same written for JAX, and arguments."""
    return {
        "heat 2048 x 2048, 200 steps": (heat, heat_jax, (floats(2048, 2048), np.float32(0.1))),
        "heat 512 x 512, 200 steps": (heat, heat_jax, (floats(512, 512), np.float32(0.1))),
        "wave 1024 x 1024, 200 steps": (wave, wave_jax, (floats(1024, 1024), 0.1 * floats(1024, 1024))),
        "2,000 bodies, 20 steps": (bodies, bodies_jax, (floats(2000, 3), floats(2000))),
        "recurrence 512 wide, 256 steps": (
            recurrence, recurrence_jax, (floats(256, 64, 512), np.float32(0.05) * floats(512, 512)),
        ),
    }  # fmt: skip


def timed(function: Callable[..., Any], args: list[Any]) -> tuple[float, float]:
    """Seconds of the first call, and of the quickest of the others."""
    seconds = []
    for _ in range(REPEATS + 1):
        start = time.perf_counter()
        jax.block_until_ready(function(*args))
        seconds.append(time.perf_counter() - start)
    return seconds[0], min(seconds[1:])


def main() -> None:
    """Print a table of one run."""
    table = Table(title=f"value_and_grad, float32, {jax.devices()[0].device_kind}, JAX {jax.__version__}")
    for column in ("program", "ours", "JAX", "ratio", "first", "JAX's first", "difference"):
        table.add_column(column)
    for name, (program, peer, given) in programs().items():
        args = [jnp.asarray(x) for x in given]
        ours = bridge.xla(bridge.value_and_grad(program, (0, 1)))
        theirs = jax.jit(jax.value_and_grad(peer, (0, 1)))
        (first, best), (peers_first, peers_best) = timed(ours, args), timed(theirs, args)
        pairs = zip(ours(*args)[1], theirs(*args)[1], strict=True)
        difference = max(float(jnp.linalg.norm(a - b) / jnp.linalg.norm(b)) for a, b in pairs)
        row = f"{best * 1e3:.1f} ms", f"{peers_best * 1e3:.1f} ms", f"{best / peers_best:.2f}"
        table.add_row(name, *row, f"{first:.1f} s", f"{peers_first:.1f} s", f"{difference:.0e}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
