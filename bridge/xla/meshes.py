"""Meshes of JAX around a compiled program: axes that are manual (`jax.shard_map`) or explicit, and where arguments lie.

A program is traced and lowered without a mesh: what it does to the part of an array that it is given depends on nothing
else, and so one trace serves every mesh. What JAX's types say of meshes, of what goes in and comes out, is said here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.sharding import AbstractMesh, AxisType, Mesh, NamedSharding, PartitionSpec

from bridge.errors import ArgumentError

_NO_MESH = AbstractMesh((), ())


def without_mesh() -> AbstractContextManager[Any]:
    """Inside, JAX knows of no mesh."""
    return jax.sharding.use_abstract_mesh(_NO_MESH)


def described(shape: tuple[int, ...], dtype: Any, among: Sequence[Any]) -> Any:
    """JAX's type of a result of operands of the types `among`: on their mesh, and varying over their axes."""
    like = next((aval for aval in among if not aval.sharding.mesh.empty), None)
    if like is None:
        return jax.core.ShapedArray(shape, dtype)
    sharding = NamedSharding(like.sharding.mesh, PartitionSpec(*[None] * len(shape)))
    return like.update(shape=shape, dtype=dtype, weak_type=False, sharding=sharding)


def plain(aval: Any) -> Any:
    """JAX's type of a value without what it says of a mesh."""
    return jax.core.ShapedArray(aval.shape, aval.dtype)


def varying_alike(values: Sequence[Any]) -> list[Any]:
    """Values inside of `jax.shard_map` that vary over the same axes: all those over which one of them does."""
    axes = [_varying(x) for x in values]
    every = frozenset().union(*axes)
    return [x if own == every else _pcast(x, tuple(sorted(every - own))) for x, own in zip(values, axes, strict=True)]


def _varying(x: Any) -> frozenset[str]:
    aval = jax.typeof(x)
    return aval.mat.varying if hasattr(aval, "mat") else aval.vma


def _pcast(x: Any, axes: tuple[str, ...]) -> Any:
    known: Any = lax
    return known.pcast(x, axes, to="varying") if hasattr(lax, "pcast") else known.pvary(x, axes)


def on_explicit_axes(run: Callable[..., Any], values: Sequence[Any], outputs: Sequence[Any]) -> Any:
    """`run(*values)` inside of a JAX program, for values some of which lie on a mesh with explicit axes.

    Inside, XLA is left to place everything. A result lies as the values of its shape do; one without axes everywhere.

    Raises
    ------
    ArgumentError : no value has the shape of a result, or those that have it lie differently.
    """
    specs: dict[tuple[int, ...], set[Any]] = {(): {PartitionSpec()}}
    mesh: Any = None
    for x in values:
        sharding = jax.typeof(x).sharding
        if AxisType.Explicit in sharding.mesh.axis_types:
            mesh = sharding.mesh
            specs.setdefault(x.shape, set()).add(sharding.spec)
    if mesh is None:
        return run(*values)
    found = []
    for number, one in enumerate(outputs):
        choice = specs.get(one.shape, set())
        if len(choice) != 1:
            raise ArgumentError(
                f"a compiled program in a JAX program on a mesh with explicit axes: its result {number}, of shape "
                f"{one.shape}, has the shape of "
                + (f"arguments that lie as {', '.join(map(str, sorted(choice, key=str)))}" if choice else "no argument")
                + ", and how it is to lie is not known",
                remedy="say it: jax.sharding.auto_axes(f, out_sharding=...), or make the mesh's axes AxisType.Auto",
            )
        found.append(next(iter(choice)))
    with jax.sharding.use_abstract_mesh(mesh):
        return jax.sharding.auto_axes(run, axes=mesh.explicit_axes, out_sharding=found)(*values)


class Placed:
    """A jitted program `run(never, values)`, for arrays at hand wherever they lie; `names` says what each is called.

    It runs on meshes whose axes are all `Auto`; results of arrays on explicit axes are put back on these.

    Raises
    ------
    ArgumentError : arguments lie on different devices.
    """

    def __init__(self, run: Any, names: Callable[[], Sequence[str]]) -> None:
        self.run, self.names = run, names

    def __call__(self, never: Any, values: Sequence[Any]) -> Any:
        explicit = any(map(_is_explicit, values))
        try:
            return self._on_auto_axes(never, values) if explicit else self.run(never, values)
        except ValueError as error:
            named = apart(list(zip(self.names(), values, strict=True)))
            if named is None:
                raise
            raise named from error

    def lower(self, never: Any, values: Sequence[Any]) -> Any:
        """What `jax.jit` lowers the program to for these arguments."""
        if not any(map(_is_explicit, values)):
            return self.run.lower(never, values)
        with without_mesh():
            return self.run.lower(never, [_moved(x, _auto) if _is_explicit(x) else x for x in values])

    def _on_auto_axes(self, never: Any, values: Sequence[Any]) -> Any:
        before = {_auto(x.sharding.mesh): x.sharding.mesh for x in values if _is_explicit(x)}
        with without_mesh():
            outputs, *rest = self.run(never, [_moved(x, _auto) if _is_explicit(x) else x for x in values])
            return [_moved(x, lambda mesh: before.get(mesh, mesh)) for x in outputs], *rest


def _is_explicit(x: Any) -> bool:
    if type(x) in _NEVER_PLACED:
        return False
    sharding = getattr(x, "sharding", None)
    return isinstance(sharding, NamedSharding) and AxisType.Explicit in sharding.mesh.axis_types


_NEVER_PLACED = frozenset({np.ndarray, float, complex})


def _moved(x: Any, to: Callable[[Any], Any]) -> Any:
    """An array on another mesh of the same devices, where it lies as before."""
    sharding = x.sharding
    return jax.device_put(x, NamedSharding(to(sharding.mesh), sharding.spec)) if hasattr(sharding, "spec") else x


def _auto(mesh: Any) -> Mesh:
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def apart(named: Sequence[tuple[str, Any]]) -> ArgumentError | None:
    """The error of arguments that were put on different devices; None if they were not."""
    groups: dict[frozenset[Any], str] = {}
    for name, x in named:
        if isinstance(x, jax.Array) and x.committed:
            groups.setdefault(frozenset(x.sharding.device_set), name)
    if len(groups) < 2:
        return None
    (devices, first), (others, second), *_ = groups.items()
    return ArgumentError(
        f"arguments lie on different devices: {first} on {_shown(devices)}, {second} on {_shown(others)}",
        remedy="put them on one device, or on one mesh: jax.device_put(x, sharding)",
    )


def _shown(devices: frozenset[Any]) -> str:
    names = [str(device) for device in sorted(devices, key=lambda device: device.id)]
    return ", ".join(names if len(names) < 4 else [*names[:2], f"... ({len(names)} devices)"])
