"""Arrays put together and taken apart."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import weak_dtype
from bridge.xla.lowering.register import entry


@entry("np.unstack")
def unstack(x: Any, axis: int = 0) -> tuple[Any, ...]:
    """In a tuple."""
    return tuple(jnp.unstack(jnp.asarray(x), axis=axis))


@entry("np.block")
def block(arrays: Any) -> Any:
    """Nested lists, in one dtype."""

    def leaves(x: Any) -> list[Any]:
        return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list) else [x]

    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in leaves(arrays)))

    def converted(x: Any) -> Any:
        return [converted(part) for part in x] if isinstance(x, list) else jnp.asarray(x, kind)

    return jnp.block(converted(arrays))
