"""Padding, with widths in every spelling of NumPy."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import operand
from bridge.xla.lowering.register import entry


@entry("np.pad")
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    """Widths as pairs, as numbers, or by axis."""
    if isinstance(pad_width, dict):
        pad_width = [pad_width.get(k, pad_width.get(k - array.ndim, 0)) for k in range(array.ndim)]
        pad_width = [(w, w) if np.ndim(w) == 0 else tuple(w) for w in pad_width]
    widths = _tuples(np.asarray(pad_width).astype(int).tolist())
    return jnp.pad(jnp.asarray(array), widths, mode, **{key: _tuples(operand(x)) for key, x in kwargs.items()})


def _tuples(x: Any) -> Any:
    """Nested sequences as tuples, which JAX can use as keys."""
    x = x.tolist() if isinstance(x, np.ndarray) else x
    return tuple(map(_tuples, x)) if isinstance(x, (list, tuple)) else x
