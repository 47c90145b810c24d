"""Clipping."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import common
from bridge.xla.lowering.register import entry


@entry("np.clip")
def clip(
    a: Any,
    a_min: Any = None,
    a_max: Any = None,
    *,
    min: Any = None,
    max: Any = None,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
) -> Any:
    """By `maximum` and `minimum`, which share the derivative at a bound."""
    low, high = a_min if min is None else min, a_max if max is None else max
    bounds = [x for x in (low, high) if x is not None]
    kind = common(a, *bounds) if dtype is None else np.dtype(dtype)
    a = jnp.asarray(a, kind)
    if low is not None:
        a = jnp.maximum(a, jnp.asarray(low, kind))
    return a if high is None else jnp.minimum(a, jnp.asarray(high, kind))
