"""What does the coarse grid not see? A network of Flux.jl's learns the fluxes that a NumPy solver misses.

Waves steepen into shocks (Burgers' equation), which 32 cells smear. Between each two cells a network of Julia's adds to
the flux what the four cells around suggest; NumPy's time steps overwrite the state. `destructure` gives the network's
weights as one vector: the gradient by it goes back through all steps, and `optax` follows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge

NETWORK = """
using Flux, Random
let init = Flux.glorot_uniform(Xoshiro(3))
    Flux.destructure(f64(Chain(Dense(4 => 16, tanh; init), Dense(16 => 1; init))))
end
"""
CELLS, FINER, STEP = 32, 8, 0.01
WAVES, KEPT_BACK = 8, 3


def march(u: Any, cells: int, steps: int, network: Any = None) -> Any:
    """The states after each step of `STEP / (cells / CELLS)`, one wave a row; `u` is overwritten."""
    seen = np.zeros((steps, *u.shape))
    for k in range(steps):
        right = np.roll(u, -1, axis=1)
        flux = np.maximum(np.maximum(u, 0) ** 2, np.minimum(right, 0) ** 2) / 2  # Godunov's
        if network is not None:
            around = np.stack([np.roll(u, 1, axis=1), u, right, np.roll(u, -2, axis=1)])
            flux += np.reshape(network(np.reshape(around, (4, -1))), u.shape)
        u -= STEP * CELLS * (flux - np.roll(flux, 1, axis=1))
        seen[k] = u
    return seen


def waves(steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Starts of waves on the coarse grid, and what a grid that is `FINER` times finer makes of them."""
    rng = np.random.default_rng(7)
    x = (np.arange(CELLS * FINER) + 0.5) / (CELLS * FINER)
    heights, shifts = rng.normal(size=(2, WAVES, 3, 1)) * [[[[0.4]]], [[[3.0]]]]
    fine = np.sum(heights * np.sin(2 * np.pi * np.arange(1, 4)[:, None] * x + shifts), axis=1)
    start = _coarse(fine)
    return start, _coarse(march(fine, CELLS * FINER, steps * FINER)[FINER - 1 :: FINER])


def _coarse(fine: np.ndarray) -> np.ndarray:
    return fine.reshape(*fine.shape[:-1], CELLS, FINER).mean(axis=-1)


def learning(steps: int) -> tuple[Any, Any, np.ndarray, np.ndarray, np.ndarray]:
    """The loss by weights, states by weights and starts, the first weights; the waves' starts, and what they become."""
    weights, rebuild = bridge.julia.eval(NETWORK)
    weights = weights / 10  # begin near the scheme as it stands
    network = bridge.julia.function("(rebuild, weights, around) -> vec(rebuild(weights)(around))")
    start, truth = waves(steps)

    def states(weights: Any, start: np.ndarray) -> Any:
        return march(start.copy(), CELLS, steps, lambda around: network(rebuild, weights, around))

    def loss(weights: Any) -> Any:
        return np.mean((states(weights, start[KEPT_BACK:]) - truth[:, KEPT_BACK:]) ** 2)

    return loss, states, weights, start, truth


def run(updates: int = 120, steps: int = 20) -> tuple[str, Any]:
    """Train the network; what was found, in words, and a picture."""
    import jax.numpy as jnp
    import optax

    loss, states, weights, start, truth = learning(steps)
    gradient = bridge.value_and_grad(loss)
    optimiser = optax.adam(optax.cosine_decay_schedule(0.01, updates))
    state, losses = optimiser.init(jnp.asarray(weights)), []
    for _ in range(updates):
        value, slope = gradient(weights)
        change, state = optimiser.update(jnp.asarray(slope), state)
        weights = weights + np.asarray(change)
        losses.append(float(value))
    start, truth = start[:KEPT_BACK], truth[:, :KEPT_BACK]
    found = {"32 cells": march(start.copy(), CELLS, steps), "32 cells and network": states(weights, start)}
    before, after = (np.sqrt(np.mean((one - truth) ** 2)) for one in found.values())
    text = (
        f"{weights.size} weights, {updates} gradients through {steps} calls of Julia each\n"
        f"waves that were not learned from: off by {before:.4f} on the coarse grid, {after:.4f} with the network"
    )
    return text, _picture(start, truth, found, losses)


def _picture(start: np.ndarray, truth: np.ndarray, found: dict[str, np.ndarray], losses: list[float]) -> Any:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", width_ratios=(2, 1))
    x = (np.arange(CELLS) + 0.5) / CELLS
    left.plot(x, start[0], "0.8", label="start")
    left.plot(x, truth[-1, 0], "k", label=f"{CELLS * FINER} cells, averaged")
    for (name, states), style in zip(found.items(), ("C0--", "C3."), strict=True):
        left.plot(x, states[-1, 0], style, label=name)
    left.set(xlabel="x", ylabel="u", title="A wave that was not learned from")
    left.legend(fontsize=8)
    right.semilogy(losses)
    right.set(xlabel="update", title="Loss")
    return figure
