"""Gradients of in-place programs on eight devices; without that many, eight simulated ones on the CPU.

    python examples/sharded_gradient.py

First a network whose batch is spread over the devices, then a rod that is. Prints what the devices exchange.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

DEVICES = 8

# JAX reads this once, when it starts: it must be set before the import. The last word on a flag counts.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={DEVICES}".strip()

import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.sharding import Mesh, NamedSharding, PartitionSpec  # noqa: E402

import bridge  # noqa: E402


def network(w1: Any, b1: Any, w2: Any, b2: Any, inputs: Any, targets: Any, hidden: Any) -> Any:
    """Mean squared error of two layers; `hidden` is a buffer, overwritten three times."""
    np.matmul(inputs, w1, out=hidden)
    hidden += b1
    np.tanh(hidden, out=hidden)
    errors = hidden @ w2
    errors += b2
    errors -= targets
    return np.mean(errors**2)


def rod(u: Any) -> Any:
    """Twenty steps of the heat equation with a source, in place; the loss is the squared norm of the result."""

    def step(_: Any, u: Any) -> Any:
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) + 0.01 * np.sin(u[1:-1])
        return u

    return np.sum(bridge.fori_loop(0, 20, step, u.copy()) ** 2)


def exchanged(compiled: Any) -> str:
    """The collective operations in the text of a compiled program, counted."""
    names = r" (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\("
    found = Counter(re.findall(names, compiled.as_text()))
    return ", ".join(f"{count} {name}" for name, count in sorted(found.items())) or "nothing"


def difference(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """Largest difference of any element, relative to the largest element of its array."""
    return max(
        float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b))) for a, b in zip(found, expected, strict=True)
    )


def main() -> None:
    """Run both programs, placed and not."""
    mesh = Mesh(np.array(jax.devices()[:DEVICES]), ("shards",))
    everywhere = NamedSharding(mesh, PartitionSpec())
    spread = NamedSharding(mesh, PartitionSpec("shards"))
    rng = np.random.default_rng(0)
    print(f"{mesh.size} devices, {jax.devices()[0].platform}")

    # Without this, device_put would make single precision of the arrays.
    with jax.enable_x64(True):
        parameters = [rng.normal(0, 0.2, shape) for shape in ((64, 32), (32,), (32, 10), (10,))]
        batch = [rng.random((4096, 64)), rng.random((4096, 10)), np.zeros((4096, 32))]
        placed = [jax.device_put(x, everywhere) for x in parameters] + [jax.device_put(x, spread) for x in batch]
        gradient = bridge.xla(bridge.grad(network, argnums=(0, 1, 2, 3)))
        found = gradient(*placed)
        print("network, batch spread, parameters on every device")
        print(f"  difference to one device: {difference(found, gradient(*parameters, *batch)):.1e}")
        print(f"  exchanged: {exchanged(gradient.compile(*placed))}")

        u = rng.random(8192)
        placed_rod = jax.device_put(u, spread)
        rod_gradient = bridge.xla(bridge.grad(rod))
        spread_result = rod_gradient(placed_rod)
        print("rod, spread")
        print(f"  difference to one device: {difference([spread_result], [rod_gradient(u)]):.1e}")
        print(f"  exchanged: {exchanged(rod_gradient.compile(placed_rod))}")
        print(f"  elements of the gradient on each device: {spread_result.addressable_shards[0].data.size}")


if __name__ == "__main__":
    main()
