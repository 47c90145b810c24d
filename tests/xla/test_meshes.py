"""Compiled programs inside of `jax.shard_map` and `jax.pmap`, on meshes with explicit axes, and on devices apart.

All cases run in a process that sees eight simulated devices: this file, as a program, which prints what it found.
"""

from __future__ import annotations

import importlib.util
import json
from typing import Any

import numpy as np
import pytest

import bridge
from tests.xla.test_sharding import DEVICES, largest_difference, output_of, process

pytestmark = pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="JAX is not installed")

LINE = np.linspace(0.1, 1.3, 32)


def energy(u: Any) -> Any:
    """Of the part of an array that one device has."""
    y = u.copy()
    y[1:] *= u[:-1]
    return np.sum(y * y) + u[0]


def step(padded: Any) -> Any:
    """One step of the heat equation, in place, on a part of a rod with a border of its neighbours."""
    padded[1:-1] += 0.2 * (padded[2:] - 2 * padded[1:-1] + padded[:-2]) + 0.05 * np.sin(padded[1:-1])
    return padded[1:-1]


def whole_rod(u: Any) -> Any:
    """Four steps on the rod as a whole, which is closed to a ring."""
    for _ in range(4):
        u = step(np.concatenate([u[-1:], u, u[:1]]))
    return np.sum(u * u)


def parts(f: Any) -> np.ndarray:
    """What `f` gives for the part of each device, joined."""
    return np.concatenate([np.atleast_1d(f(part)) for part in LINE.reshape(DEVICES, -1)])


def shard_maps() -> dict[str, float]:
    """Largest differences inside of `jax.shard_map`, and of `jax.pmap` between two meshes."""
    import jax
    from jax.sharding import Mesh
    from jax.sharding import PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("d",))
    other = Mesh(np.array(jax.devices()).reshape(4, 2), ("a", "b"))
    compiled, gradient = bridge.xla(energy), bridge.xla(bridge.grad(energy))
    local = bridge.xla(step)
    expected = parts(bridge.grad(energy))
    ring = [(k, (k + 1) % DEVICES) for k in range(DEVICES)]

    def mapped(f: Any, spread: bool = True, **options: Any) -> Any:
        return jax.shard_map(f, mesh=mesh, in_specs=P("d"), out_specs=P("d") if spread else P(), **options)

    def with_borders(u: Any) -> Any:
        for _ in range(4):
            left = jax.lax.ppermute(u[-1:], "d", ring)
            right = jax.lax.ppermute(u[:1], "d", [(b, a) for a, b in ring])
            u = local(jax.numpy.concatenate([left, u, right]))
        return jax.lax.psum(jax.numpy.sum(u * u), "d")

    def total(u: Any) -> Any:
        return jax.lax.psum(compiled(u), "d")

    def scaled(u: Any, w: Any) -> Any:
        return jax.lax.psum(compiled(u) * energy_of_both(u, w), "d")

    energy_of_both = bridge.xla(lambda u, w: energy(u * w))
    w = np.array([0.7, 1.1, 0.9, 1.2])
    both = jax.shard_map(scaled, mesh=mesh, in_specs=(P("d"), P()), out_specs=P())

    def plainly(u: Any, w: Any) -> Any:
        return sum(energy(part) * energy(part * w) for part in u.reshape(DEVICES, -1))

    found = {
        "a gradient": (mapped(gradient)(LINE), expected),
        "a gradient, jitted": (jax.jit(mapped(gradient))(LINE), expected),
        "without JAX's check": (jax.jit(mapped(gradient, check_vma=False))(LINE), expected),
        "a sum over devices": (jax.jit(mapped(total, False))(LINE), np.sum(parts(energy))),
        "its gradient": (jax.jit(jax.grad(mapped(total, False)))(LINE), expected),
        "borders exchanged": (jax.jit(mapped(with_borders, False))(LINE), whole_rod(LINE)),
        "their gradient": (jax.jit(jax.grad(mapped(with_borders, False)))(LINE), bridge.grad(whole_rod)(LINE)),
        "an argument that all have": (jax.jit(jax.grad(both, 1))(LINE, w), bridge.grad(plainly, 1)(LINE, w)),
        "pmap": (np.ravel(jax.pmap(gradient)(LINE.reshape(DEVICES, -1))), expected),
        "after pmap": (jax.jit(mapped(gradient))(LINE), expected),
        "rows in each part": (
            jax.jit(jax.shard_map(jax.vmap(gradient), mesh=mesh, in_specs=P("d"), out_specs=P("d")))(
                LINE.reshape(2 * DEVICES, -1)
            ),
            np.stack([bridge.grad(energy)(row) for row in LINE.reshape(2 * DEVICES, -1)]),
        ),
        "another mesh": (
            jax.jit(jax.shard_map(gradient, mesh=other, in_specs=P("a"), out_specs=P("a")))(LINE),
            np.concatenate([bridge.grad(energy)(part) for part in LINE.reshape(4, -1)]),
        ),
        "without a mesh": (gradient(jax.numpy.asarray(LINE)), bridge.grad(energy)(LINE)),
    }
    return {name: largest_difference([got], [np.asarray(wanted)]) for name, (got, wanted) in found.items()}


def explicit_axes() -> dict[str, Any]:
    """The same on a mesh with explicit axes: differences, how results lie, and what cannot be known."""
    import jax
    from jax.sharding import AxisType, NamedSharding
    from jax.sharding import PartitionSpec as P

    mesh = jax.make_mesh((DEVICES,), ("e",), axis_types=(AxisType.Explicit,))
    compiled, gradient = bridge.xla(energy), bridge.xla(bridge.grad(energy))
    expected = bridge.grad(energy)(LINE)
    placed = jax.device_put(LINE, NamedSharding(mesh, P("e")))
    halves = bridge.xla(lambda u: u[:16] * 2)
    results = {"called": gradient(placed), "jitted": jax.jit(gradient)(placed)}
    with jax.set_mesh(mesh):
        results |= {
            "called in the mesh": gradient(placed),
            "jitted in the mesh": jax.jit(gradient)(placed),
            "JAX's gradient": jax.jit(jax.grad(compiled))(placed),
            "told": jax.jit(jax.sharding.auto_axes(gradient, out_sharding=P("e")))(placed),
        }
        value = jax.jit(compiled)(placed)
        try:
            jax.jit(halves)(placed)
        except bridge.errors.ArgumentError as error:
            refusal = str(error)
    return {
        "differences": {name: largest_difference([got], [expected]) for name, got in results.items()},
        "lie": {name: str(got.sharding.spec) for name, got in results.items()},
        "value": abs(float(value) - energy(LINE)),
        "collectives": gradient.lower(placed).compile().as_text().count(" all-gather("),
        "refusal": refusal,
    }


def devices_apart() -> list[str]:
    """What is said of arguments on different devices."""
    import jax
    from jax.sharding import Mesh, NamedSharding
    from jax.sharding import PartitionSpec as P

    first, second, *_ = jax.devices()
    mesh = NamedSharding(Mesh(np.array(jax.devices()), ("d",)), P("d"))
    product = bridge.xla(lambda u, v, *, more: u * v["w"] + more)
    said = []
    for places in ((first, second, first), (first, first, second), (mesh, first, mesh)):
        u, w, more = (jax.device_put(LINE, place) for place in places)
        try:
            product(u, {"w": w}, more=more)
        except bridge.errors.ArgumentError as error:
            said.append(str(error))
    u = jax.device_put(LINE, second)
    assert product(u, {"w": LINE}, more=1.0).device == second
    return said


@pytest.fixture(scope="module")
def meshes() -> dict[str, Any]:
    """What the cases gave on eight devices."""
    return json.loads(output_of(process(__file__, devices=DEVICES)).splitlines()[-1])


@pytest.mark.ci
def test_inside_of_shard_map_each_part_is_a_program_of_its_own(meshes: dict[str, Any]) -> None:
    differences = meshes["shard_map"]
    assert len(differences) == 13
    assert {name: one for name, one in differences.items() if not one <= 1e-12} == {}


@pytest.mark.ci
def test_on_explicit_axes_numbers_are_those_of_one_device(meshes: dict[str, Any]) -> None:
    explicit = meshes["explicit"]
    assert len(explicit["differences"]) == 6
    assert max(explicit["differences"].values()) <= 1e-12
    assert explicit["value"] <= 1e-12


def test_on_explicit_axes_results_lie_as_arguments_of_their_shape(meshes: dict[str, Any]) -> None:
    assert set(meshes["explicit"]["lie"].values()) <= {"P('e',)", "PartitionSpec('e',)"}
    assert meshes["explicit"]["collectives"] == 0


def test_on_explicit_axes_what_is_not_known_is_asked_for(meshes: dict[str, Any]) -> None:
    refusal = meshes["explicit"]["refusal"]
    assert "its result 0, of shape (16,), has the shape of no argument" in refusal
    assert "jax.sharding.auto_axes(f, out_sharding=...)" in refusal


def test_arguments_on_different_devices_are_named(meshes: dict[str, Any]) -> None:
    one, other, mesh = meshes["apart"]
    assert "arguments lie on different devices: args[0] on TFRT_CPU_0, args[1]['w'] on TFRT_CPU_1" in one or (
        "arguments lie on different devices: args[0] on cpu:0, args[1]['w'] on cpu:1" in one
    )
    assert "kwargs['more'] on " in other
    assert "(8 devices), args[1]['w'] on " in mesh
    assert "jax.device_put(x, sharding)" in mesh


if __name__ == "__main__":
    import jax

    jax.config.update("jax_enable_x64", True)
    print(json.dumps({"shard_map": shard_maps(), "explicit": explicit_axes(), "apart": devices_apart()}))
