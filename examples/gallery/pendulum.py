"""A force that nobody wrote down: a Julia pendulum, and a JAX network for what its equation leaves out.

The right-hand side is Julia's and overwrites `du`; the network is JAX's, with its own derivative as its rule; the
integrator between them is NumPy's and overwrites its state. One gradient goes through all three; `optax` follows it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import bridge

RIGHT_HAND_SIDE = """
function pendulum!(du, u, torque, t)
    du[1] = u[2]
    du[2] = -9.81 * sin(u[1]) + torque
    return nothing
end
"""
HIDDEN, STEP = 12, 0.05
NOISE = 0.02


def friction(speed: Any) -> Any:
    """The torque that data were made with: dry and quadratic friction."""
    return -0.6 * np.tanh(4 * speed) - 0.25 * speed * np.abs(speed)


def network() -> Any:
    """A small network of JAX's, `torque(weights, speed)`, as a function with a rule."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)

    def forward(weights: Any, speed: Any) -> Any:
        first, bias, last = weights.reshape(3, HIDDEN)
        return jnp.dot(last, jnp.tanh(first * speed + bias))

    value = jax.jit(forward)
    gradient = jax.jit(lambda ct, *inputs: jax.vjp(forward, *inputs)[1](ct))

    def torque(weights: Any, speed: Any) -> Any:
        return np.float64(value(weights, speed))

    @bridge.rule(torque, orders=1, dtypes=np.float64, empty=False)
    def torque_rule(ct: Any, out: Any, weights: Any, speed: Any) -> Any:
        return tuple(map(np.asarray, gradient(ct, weights, speed)))

    return torque_rule


def swing(start: np.ndarray, torque: Any, pendulum: Any, steps: int) -> Any:
    """Angles after each step, by Heun's method; `torque(speed)` is what the pendulum feels beside its weight."""
    u, first, second, seen = np.array(start), np.zeros(2), np.zeros(2), np.zeros(steps)
    for k in range(steps):
        pendulum(first, u, torque(u[1]), k * STEP)
        ahead = u + STEP * first
        pendulum(second, ahead, torque(ahead[1]), (k + 1) * STEP)
        u += STEP / 2 * (first + second)
        seen[k] = u[0]
    return seen


STARTS = (np.array([1.8, 0.0]), np.array([0.6, 3.0]))


def run(updates: int = 300, steps: int = 60) -> tuple[str, Any]:
    """Train the network; what was found, in words, and a picture."""
    import jax.numpy as jnp
    import optax

    pendulum, net = bridge.julia.function(RIGHT_HAND_SIDE, mutates="du"), network()
    rng = np.random.default_rng(4)
    observed = [swing(start, friction, pendulum, steps) + NOISE * rng.standard_normal(steps) for start in STARTS]

    def loss(weights: Any) -> Any:
        off = [swing(start, lambda speed: net(weights, speed), pendulum, steps) for start in STARTS]
        return np.mean((np.concatenate(off) - np.concatenate(observed)) ** 2)

    gradient = bridge.value_and_grad(loss)
    optimiser = optax.adam(optax.cosine_decay_schedule(0.05, updates))
    weights = 0.3 * rng.standard_normal(3 * HIDDEN)
    state, losses = optimiser.init(jnp.asarray(weights)), []
    for _ in range(updates):
        value, slope = gradient(weights)
        change, state = optimiser.update(jnp.asarray(slope), state)
        weights += np.asarray(change)
        losses.append(float(value))
    speeds = np.linspace(-4, 4, 81)
    learned = np.array([net(weights, s) for s in speeds])
    error = np.sqrt(np.mean((learned - friction(speeds)) ** 2))
    text = (
        f"{weights.size} weights, {updates} gradients through {4 * steps} calls of Julia and as many of JAX\n"
        f"angles: off by {losses[0] ** 0.5:.3f} before, {losses[-1] ** 0.5:.4f} after; the noise is {NOISE}\n"
        f"torque: off by {error:.2f} N m (root mean square), of up to {np.abs(friction(speeds)).max():.1f}"
    )
    return text, _picture(
        observed, [swing(s, lambda v: net(weights, v), pendulum, steps) for s in STARTS], speeds, learned
    )


def _picture(observed: list[np.ndarray], found: list[np.ndarray], speeds: np.ndarray, learned: np.ndarray) -> Any:
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
    for k, (data, line) in enumerate(zip(observed, found, strict=True)):
        time = STEP * np.arange(1, len(data) + 1)
        left.plot(time, data, f"C{k}.", label="measured")
        left.plot(time, line, f"C{k}", label="pendulum and network")
    left.set(xlabel="seconds", ylabel="angle")
    left.legend(fontsize=8)
    right.plot(speeds, friction(speeds), "k", label="true")
    right.plot(speeds, learned, "C3--", label="learned")
    right.set(xlabel="speed", ylabel="torque", title="What the equation left out")
    right.legend()
    return figure
