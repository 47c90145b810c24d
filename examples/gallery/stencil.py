"""Waves that write: forty loudspeakers around a pool are told what to play, so that its waves show a heart at the end.

The wave equation in place, two fields that take turns, compiled with its loop; `optax` moves the 40 signals against the
gradient of the compiled program. Both work on JAX's arrays, so nothing is copied between them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge

SIZE, SPEAKERS, STEPS = 72, 40, 110
COURANT = 0.5


def target() -> np.ndarray:
    """A heart, one inside and nothing outside."""
    y, x = np.mgrid[1.6 : -1.6 : SIZE * 1j, -1.6 : 1.6 : SIZE * 1j]
    x, y = x * 1.15, y * 1.15 + 0.1
    return 1.0 * ((x**2 + y**2 - 1) ** 3 - x**2 * y**3 < 0)


def speakers() -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of the loudspeakers, on a circle."""
    angles = np.linspace(0, 2 * np.pi, SPEAKERS, endpoint=False)
    middle, radius = (SIZE - 1) / 2, 0.46 * SIZE
    return np.rint(middle + radius * np.sin(angles)).astype(int), np.rint(middle + radius * np.cos(angles)).astype(int)


def pool(signals: Any, places: Any) -> Any:
    """The water's height after the loudspeakers have played `signals`, one row a step."""
    now, before = np.zeros((SIZE, SIZE)), np.zeros((SIZE, SIZE))
    for k in range(len(signals)):
        bent = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        before[1:-1, 1:-1] *= -1
        before[1:-1, 1:-1] += 2 * now[1:-1, 1:-1] + COURANT**2 * bent
        before[places] += signals[k]
        before *= 0.998
        now, before = before, now
    return now


def loss(signals: Any, places: Any, wanted: Any) -> Any:
    """How far the water is from what is wanted, and a little for loud signals."""
    off = pool(signals, places)
    off -= wanted
    return np.mean(off**2) + 1e-5 * np.mean(signals**2)


def run(updates: int = 300) -> tuple[str, Any]:
    """Find the signals; what was found, in words, and a picture."""
    import jax
    import jax.numpy as jnp
    import optax

    places, wanted = speakers(), target()
    gradient = bridge.value_and_grad(loss, engine="xla")
    optimiser = optax.adam(optax.cosine_decay_schedule(0.05, updates))
    signals = jnp.zeros((STEPS, SPEAKERS))
    state, losses = optimiser.init(signals), []
    move = jax.jit(optimiser.update)
    for _ in range(updates):
        value, slope = gradient(signals, places, wanted)
        steps, state = move(slope, state)
        signals = optax.apply_updates(signals, steps)
        losses.append(float(value))
    inside = wanted > 0
    shown = pool(np.asarray(signals), places)
    text = (
        f"{signals.size} unknowns, {updates} updates: loss {losses[0]:.4f} to {losses[-1]:.4f}\n"
        f"the water stands at {shown[inside].mean():.2f} inside the heart, and at {shown[~inside].mean():.2f} outside"
    )
    return text, _picture(np.asarray(signals), places, losses)


def _picture(signals: np.ndarray, places: Any, losses: list[float]) -> Any:
    import matplotlib.pyplot as plt

    figure, parts = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    for axes, until in zip(parts, (STEPS // 3, 2 * STEPS // 3, STEPS), strict=False):
        axes.imshow(pool(signals[:until], places), cmap="RdBu_r", vmin=-1, vmax=1)
        axes.plot(places[1], places[0], "k.", markersize=3)
        axes.set(title=f"after {until} steps", xticks=[], yticks=[])
    parts[3].semilogy(losses)
    parts[3].set(title="loss", xlabel="update")
    return figure
