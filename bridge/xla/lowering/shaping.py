"""Shapes, containers and dtypes: functions that are spelled otherwise in jax.numpy, or return something else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp

from bridge.errors import NoRuleError
from bridge.xla.lowering.calls import operand
from bridge.xla.lowering.casting import converted
from bridge.xla.lowering.register import entry


@entry("np.reshape")
def reshape(a: Any, shape: Any, order: str = "C", copy: bool | None = None) -> Any:
    """In an order that does not depend on how memory lies."""
    return jnp.reshape(a, shape, _fixed(order, "np.reshape"))


@entry("np.ravel")
def ravel(a: Any, order: str = "C") -> Any:
    """Likewise."""
    return jnp.ravel(a, _fixed(order, "np.ravel"))


def _fixed(order: str, name: str) -> str:
    if order in ("K", "A"):
        raise NoRuleError(f"{name} with order={order!r}", remedy='give order="C" or "F"')
    return order


@entry("np.copy")
def copy(a: Any) -> Any:
    """Arrays of JAX are never written."""
    return jnp.asarray(a)


@entry("np.astype")
def astype(x: Any, dtype: Any) -> Any:
    """The real part, where complex numbers become real."""
    return converted(jnp.asarray(x), dtype)


@entry("np.broadcast_arrays")
def broadcast_arrays(*args: Any) -> tuple[Any, ...]:
    """In a tuple."""
    return tuple(jnp.broadcast_arrays(*map(jnp.asarray, map(operand, args))))


@entry("np.meshgrid")
def meshgrid(*xi: Any, sparse: bool = False, indexing: str = "xy", copy: bool = True) -> Any:
    """Also of numbers; in the container that NumPy has."""
    found = jnp.meshgrid(*(jnp.ravel(operand(x)) for x in xi), sparse=sparse, indexing=indexing)
    return list(found) if sparse and not copy else tuple(found)


def _at_least(function: Callable[..., Any]) -> Callable[..., Any]:
    def each(*arys: Any) -> Any:
        parts = tuple(function(operand(x)) for x in arys)
        return parts[0] if len(parts) == 1 else parts

    return each


for _n in (1, 2, 3):
    entry(f"np.atleast_{_n}d")(_at_least(getattr(jnp, f"atleast_{_n}d")))
