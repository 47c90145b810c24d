"""Compiled gradients of arrays that lie on several devices: the same numbers, and only the collectives that must be.

JAX takes the number of simulated devices when it starts, so that all cases run in a process of their own: this file,
as a program, which prints what it found as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bridge
import bridge.numpy as bnp

ROOT = Path(__file__).parents[2]
DEVICES = 8
STEPS = 10
COLLECTIVE = re.compile(r" (all-gather|all-reduce|all-to-all|collective-permute|reduce-scatter)(?:-start)?\(")

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")


def network(w1: Any, b1: Any, w2: Any, b2: Any, inputs: Any, targets: Any, hidden: Any) -> Any:
    """Squared error of two layers; `hidden` is overwritten, and then a part of it once more."""
    np.matmul(inputs, w1, out=hidden)
    hidden += b1
    np.tanh(hidden, out=hidden)
    hidden[:, 0] *= hidden[:, 1]
    errors = bnp.zeros(targets.shape)
    np.matmul(hidden, w2, out=errors)
    errors += b2
    errors -= targets
    errors *= errors
    return np.mean(errors)


def heat(u: Any) -> Any:
    """The heat equation along a rod."""

    def step(_: Any, u: Any) -> Any:
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        return u

    return np.sum(bridge.fori_loop(0, STEPS, step, u.copy()) ** 2)


def reaction(u: Any) -> Any:
    """The same with a source, whose pull needs what the rod held: the overwritten slices are kept, and sharded too."""

    def step(_: Any, u: Any) -> Any:
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) + 0.05 * np.sin(u[1:-1])
        return u

    return np.sum(bridge.fori_loop(0, STEPS, step, u.copy()) ** 2)


def rods(u: Any) -> Any:
    """Many rods, one a row: no step needs another row."""

    def step(_: Any, u: Any) -> Any:
        u[:, 1:-1] += 0.1 * (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]) + 0.05 * np.sin(u[:, 1:-1])
        return u

    return np.sum(bridge.fori_loop(0, STEPS, step, u.copy()) ** 2)


def ring(u: Any, coefficient: Any) -> Any:
    """The heat equation on a ring, with whole arrays and `np.roll`."""

    def step(_: Any, u: Any) -> Any:
        u += coefficient * (np.roll(u, -1) - 2 * u + np.roll(u, 1))
        return u

    return np.sum(bridge.fori_loop(0, STEPS, step, u.copy()) ** 2)


def plate(u: Any, source: Any) -> Any:
    """Jacobi's method on a plate that is split along both axes, with two arrays in turn, as benchmarks write it."""
    v = u.copy()

    def step(_: Any, both: Any) -> Any:
        u, v = both
        v[1:-1, 1:-1] = 0.2 * (u[1:-1, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] + u[2:, 1:-1] + u[:-2, 1:-1])
        v[1:-1, 1:-1] += source[1:-1, 1:-1] * np.sin(v[1:-1, 1:-1])
        u[1:-1, 1:-1] = v[1:-1, 1:-1]
        return u, v

    u, v = bridge.fori_loop(0, STEPS, step, (u.copy(), v))
    return np.sum(u * v)


def across(u: Any) -> Any:
    """Writes into parts that begin and end inside of what a device has, and with steps."""
    y = u.copy()
    y[100:900] *= u[101:901]
    y[::3] += u[5]
    y[-300:-20] = np.sin(y[20:300])
    y[3] = y[-1] * 2
    return np.sum(y * y)


def window(u: Any, start: Any) -> Any:
    """A write into a part that is known only at run time."""
    y, s = u.copy(), start[0]
    y[s : s + 200] *= y[s + 7 : s + 207]
    return np.sum(y * y)


def batch_of_network() -> list[np.ndarray]:
    """Parameters, and a batch with its buffer."""
    rng = np.random.default_rng(0)
    shapes = [(64, 32), (32,), (32, 10), (10,), (256, 64), (256, 10), (256, 32)]
    return [rng.normal(0, 0.2, shape) for shape in shapes]


def cases() -> dict[str, tuple[Any, tuple[int, ...], list[np.ndarray], list[Any]]]:
    """Program, differentiated arguments, all arguments, and the axes of each that lie across the devices, if any."""
    line = np.random.default_rng(1).random(1024)
    rectangle = np.random.default_rng(2).random((64, 40))
    square = np.random.default_rng(3).random((2, 48, 48))
    return {
        "network": (network, (0, 1, 2, 3), batch_of_network(), [None] * 4 + [0] * 3),
        "heat": (heat, (0,), [line], [0]),
        "reaction": (reaction, (0,), [line], [0]),
        "rods": (rods, (0,), [rectangle], [0]),
        "ring": (ring, (0,), [line, 0.1 * np.ones(1024)], [0, 0]),
        "plate": (plate, (0, 1), list(square), [(0, 1), (0, 1)]),
        "across": (across, (0,), [line], [0]),
        "window": (window, (0,), [line, np.array([420])], [0, None]),
    }


def largest_difference(found: Sequence[Any], expected: Sequence[Any]) -> float:
    """Largest difference of any element, relative to the largest element of its array."""
    return max(
        float(np.max(np.abs(np.asarray(a) - b)) / np.max(np.abs(b))) for a, b in zip(found, expected, strict=True)
    )


def collectives(text: str | None) -> dict[str, int]:
    """How often each collective stands in the text of a compiled program."""
    return dict(Counter(COLLECTIVE.findall(text or "")))


def run_on_devices() -> dict[str, Any]:
    """All cases on simulated devices: what is printed, as JSON, for the tests below."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.config.update("jax_enable_x64", True)
    mesh = Mesh(np.array(jax.devices()), ("shards",))
    grid = Mesh(np.array(jax.devices()).reshape(4, 2), ("rows", "columns"))

    def lying(axis: Any) -> NamedSharding:
        if axis == (0, 1):
            return NamedSharding(grid, PartitionSpec("rows", "columns"))
        return NamedSharding(mesh, PartitionSpec(*[None] * axis, "shards") if axis is not None else PartitionSpec())

    found: dict[str, Any] = {"devices": len(jax.devices())}
    for name, (program, argnums, arguments, axes) in cases().items():
        gradient = bridge.xla(bridge.grad(program, argnums=argnums))
        expected = gradient(*arguments)
        native = bridge.grad(program, argnums=argnums, engine="native")(*arguments)
        shardings = [lying(axis) for axis in axes]
        placed = [jax.device_put(x, sharding) for x, sharding in zip(arguments, shardings, strict=True)]
        results = gradient(*placed)
        around = jax.jit(gradient, in_shardings=tuple(shardings))
        found[name] = {
            "placed": largest_difference(results, expected),
            "native": largest_difference(results, native),
            "around": largest_difference(around(*arguments), expected),
            "like arguments": all(
                x.sharding.is_equivalent_to(shardings[k], x.ndim) for k, x in zip(argnums, results, strict=True)
            ),
            "collectives": collectives(gradient.compile(*placed).as_text()),
            "collectives around": collectives(around.lower(*arguments).compile().as_text()),
        }
    found["bounded"] = bounded(lying(0))
    return found


def bounded(sharding: Any) -> dict[str, Any]:
    """The gradient of `reaction` with snapshots in place of its whole log."""
    import jax

    line = cases()["reaction"][2][0]
    gradient = bridge.xla(bridge.grad(reaction), memory="40kB")
    placed = jax.device_put(line, sharding)
    result = gradient(placed)
    return {
        "told": gradient.bounded_loops,
        "difference": largest_difference([result], [bridge.grad(reaction)(line)]),
        "like arguments": result.sharding.is_equivalent_to(sharding, 1),
        "collectives": collectives(gradient.compile(placed).as_text()),
    }


def run_on_machine(address: str, count: str, number: str) -> dict[str, Any]:
    """The network's gradient by one of several processes, of its own part of the batch: the difference, as JSON."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.config.update("jax_enable_x64", True)
    jax.distributed.initialize(address, int(count), int(number))
    mesh = Mesh(np.array(jax.devices()), ("shards",))
    arguments = batch_of_network()
    argnums = (0, 1, 2, 3)
    rows = len(arguments[-1]) // int(count)
    own = slice(int(number) * rows, (int(number) + 1) * rows)
    placed = [
        jax.make_array_from_process_local_data(NamedSharding(mesh, spec), x)
        for spec, x in [(PartitionSpec(), x) for x in arguments[:4]]
        + [(PartitionSpec("shards"), x[own]) for x in arguments[4:]]
    ]
    results = bridge.xla(bridge.grad(network, argnums=argnums))(*placed)
    expected = bridge.grad(network, argnums=argnums, engine="native")(*arguments)
    difference = largest_difference([x.addressable_data(0) for x in results], expected)
    return {"devices": len(jax.devices()), "difference": difference}


def process(*command: str, devices: int) -> subprocess.Popen[str]:
    """A Python process that sees `devices` simulated devices."""
    environment = {
        **os.environ,
        "JAX_PLATFORMS": "cpu",
        "PYTHONPATH": str(ROOT),
        "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}",
    }
    return subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def output_of(started: subprocess.Popen[str]) -> str:
    """What a process printed; its errors are the test's."""
    try:
        output, errors = started.communicate(timeout=300)
    finally:
        started.kill()
    assert started.returncode == 0, errors
    return output


@pytest.fixture(scope="module")
def sharded() -> dict[str, Any]:
    """What the cases gave on eight devices."""
    return json.loads(output_of(process(__file__, devices=DEVICES)).splitlines()[-1])


@pytest.mark.ci
@pytest.mark.parametrize("name", cases())
@pytest.mark.parametrize("how", ["placed", "around"])
def test_the_gradient_is_that_of_one_device(sharded: dict[str, Any], name: str, how: str) -> None:
    assert sharded["devices"] == DEVICES
    assert sharded[name][how] <= 1e-12


@pytest.mark.ci
@pytest.mark.parametrize("name", cases())
def test_the_gradient_is_that_of_the_native_engine(sharded: dict[str, Any], name: str) -> None:
    assert sharded[name]["native"] <= 1e-12


@pytest.mark.ci
@pytest.mark.parametrize("name", cases())
def test_gradients_lie_where_their_arguments_do(sharded: dict[str, Any], name: str) -> None:
    assert sharded[name]["like arguments"]


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(cases().keys() - {"across", "window"}))
@pytest.mark.parametrize("how", ["collectives", "collectives around"])
def test_no_sharded_array_is_gathered(sharded: dict[str, Any], name: str, how: str) -> None:
    assert not {"all-gather", "all-to-all"} & set(sharded[name][how])


@pytest.mark.ci
def test_parameter_gradients_are_summed_over_the_batch(sharded: dict[str, Any]) -> None:
    assert set(sharded["network"]["collectives"]) == {"all-reduce"}


@pytest.mark.ci
@pytest.mark.parametrize("name", ["heat", "reaction", "ring", "plate"])
def test_stencils_exchange_borders(sharded: dict[str, Any], name: str) -> None:
    assert sharded[name]["collectives"]["collective-permute"] >= 2


@pytest.mark.ci
def test_snapshots_are_sharded_too(sharded: dict[str, Any]) -> None:
    found = sharded["bounded"]
    assert "snapshots of 8.19 kB" in found["told"][0]
    assert found["difference"] <= 1e-12
    assert found["like arguments"]
    assert not {"all-gather", "all-to-all"} & set(found["collectives"])


@pytest.mark.ci
def test_rows_that_need_no_other_rows_exchange_nothing(sharded: dict[str, Any]) -> None:
    assert set(sharded["rods"]["collectives"]) <= {"all-reduce"}


@pytest.mark.nightly
def test_several_processes_give_the_gradient_of_one() -> None:
    with socket.socket() as found:
        found.bind(("localhost", 0))
        address = f"localhost:{found.getsockname()[1]}"
    started = [process(__file__, address, "2", str(number), devices=2) for number in range(2)]
    for each in started:
        result = json.loads(output_of(each).splitlines()[-1])
        assert result["devices"] == 4
        assert result["difference"] <= 1e-12


@pytest.mark.ci
def test_the_example_runs() -> None:
    output = output_of(process("examples/sharded_gradient.py", devices=1))
    assert "8 devices" in output
    assert "all-reduce" in output
    assert "collective-permute" in output
    assert "all-gather" not in output


@pytest.mark.ci
def test_the_page_shows_what_happens() -> None:
    page = (ROOT / "docs" / "scaling.md").read_text(encoding="utf-8")
    placed, step, rod, seen, *_ = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    output = output_of(process("-c", placed + step + rod + seen, devices=1))
    assert output.splitlines()[0] == re.findall(r"# (Counter.*)", seen)[0]


if __name__ == "__main__":
    print(json.dumps(run_on_machine(*sys.argv[1:]) if sys.argv[1:] else run_on_devices()))
