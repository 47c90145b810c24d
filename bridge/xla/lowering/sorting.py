"""Sorting, and the distinct elements in NumPy's named tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.register import entry


@entry("np.partition")
def partition(a: Any, kth: Any, axis: int | None = -1) -> Any:
    """The sorted array is partitioned at every `kth`; NumPy's order elsewhere is unspecified, and another one."""
    return jnp.sort(a, axis=axis)


def _unique(name: str) -> Callable[..., Any]:
    """With NumPy's named tuple."""

    def unique(x: Any) -> Any:
        return type(getattr(np, name)(np.zeros(1)))(*getattr(jnp, name)(jnp.asarray(x)))

    return unique


for _name in ("unique_all", "unique_counts", "unique_inverse"):
    entry(f"np.{_name}")(_unique(_name))
