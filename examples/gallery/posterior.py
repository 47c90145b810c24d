"""What do we know, and how well? Hamiltonian Monte Carlo over a simulation that overwrites its state.

Foxes and rabbits, by a leapfrog scheme in place, counted once a year with an error. The program is compiled and is one
operation of JAX: the sampler, written in JAX, takes its gradient under `jax.jit` and runs four chains by `jax.vmap`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge

TRUTH = np.array([0.9, 0.05, 0.04, 0.7])
NAMES = ("births", "hunts", "feeds", "deaths")
YEARS, EACH = 20, 12
NOISE = 0.15


def populations(log_rates: Any) -> Any:
    """Rabbits and foxes, year by year, from the logarithms of four rates; their own logarithms are the state."""
    births, hunts, feeds, deaths = np.exp(log_rates)
    state, seen = np.log(np.array([20.0, 8.0])), np.zeros((YEARS, 2))
    for k in range(YEARS):
        for _ in range(EACH):
            state[0] += (births - hunts * np.exp(state[1])) / EACH / 2
            state[1] += (feeds * np.exp(state[0]) - deaths) / EACH
            state[0] += (births - hunts * np.exp(state[1])) / EACH / 2
        seen[k] = state
    return seen


def log_density(log_rates: Any, counts: Any) -> Any:
    """Of the posterior: lognormal counts, and a wide prior around one in ten."""
    off = populations(log_rates)
    off -= np.log(counts)
    return -0.5 * np.sum((off / NOISE) ** 2) - 0.5 * np.sum((log_rates - np.log(0.2)) ** 2)


def sample(density: Any, start: Any, key: Any, draws: int, step: float = 0.012, leaps: int = 12) -> Any:
    """Hamiltonian Monte Carlo: `draws` points, and how many proposals were taken."""
    import jax
    import jax.numpy as jnp

    slope = jax.grad(density)

    def leap(_: Any, both: Any) -> Any:
        q, p = both
        q = q + step * p
        return q, p + step * slope(q)

    def draw(q: Any, key: Any) -> tuple[Any, Any]:
        kick, accept = jax.random.split(key)
        p = jax.random.normal(kick, q.shape)
        before = density(q) - 0.5 * p @ p
        p = p + 0.5 * step * slope(q)
        new, p = jax.lax.fori_loop(0, leaps, leap, (q, p))
        p = p - 0.5 * step * slope(new)
        taken = jnp.log(jax.random.uniform(accept)) < density(new) - 0.5 * p @ p - before
        q = jnp.where(taken, new, q)
        return q, (q, taken)

    _, (points, taken) = jax.lax.scan(draw, start, jax.random.split(key, draws))
    return points, jnp.mean(taken)


def run(draws: int = 600) -> tuple[str, Any]:
    """Sample the posterior; what was found, in words, and a picture."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(2)
    counts = np.exp(populations(np.log(TRUTH)) + NOISE * rng.standard_normal((YEARS, 2)))
    density = bridge.xla(log_density)
    chains = jax.jit(jax.vmap(lambda q, key: sample(lambda x: density(x, counts), q, key, draws)))
    starts = jnp.log(jnp.asarray(TRUTH)) + 0.05 * jax.random.normal(jax.random.key(0), (4, 4))
    points, taken = chains(starts, jax.random.split(jax.random.key(1), 4))
    kept = np.exp(np.asarray(points))[:, draws // 3 :]
    spread = _between_chains(kept)
    lines = [f"{'':8} {'true':>7} {'mean':>7} {'5 %':>7} {'95 %':>7} {'R-hat':>6}"]
    for k, name in enumerate(NAMES):
        low, high = np.quantile(kept[..., k], (0.05, 0.95))
        lines.append(f"{name:8} {TRUTH[k]:7.3f} {kept[..., k].mean():7.3f} {low:7.3f} {high:7.3f} {spread[k]:6.3f}")
    lines.append(f"4 chains of {draws} draws, {float(taken.mean()):.0%} of the proposals taken")
    return "\n".join(lines), _picture(kept, counts)


def _between_chains(kept: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's R-hat: 1 where the chains agree."""
    count = kept.shape[1]
    within, between = kept.var(axis=1, ddof=1).mean(axis=0), kept.mean(axis=1).var(axis=0, ddof=1)
    return np.sqrt((count - 1) / count + between / within)


def _picture(kept: np.ndarray, counts: np.ndarray) -> Any:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    years, flat = np.arange(1, YEARS + 1), kept.reshape(-1, 4)
    for rates in flat[:: max(1, len(flat) // 60)]:
        seen = np.exp(populations(np.log(rates)))
        left.plot(years, seen[:, 0], color="C0", alpha=0.08)
        left.plot(years, seen[:, 1], color="C3", alpha=0.08)
    left.plot(years, counts[:, 0], "C0o", label="rabbits, counted")
    left.plot(years, counts[:, 1], "C3o", label="foxes, counted")
    left.set(xlabel="year", ylabel="animals", title="60 draws of the posterior")
    left.legend()
    for chain in kept:
        right.plot(chain[:, 1], chain[:, 2], ".", markersize=2)
    right.plot(*TRUTH[1:3], "k+", markersize=14, markeredgewidth=2, label="true")
    right.set(xlabel=NAMES[1], ylabel=NAMES[2], title="Four chains")
    right.legend()
    return figure
