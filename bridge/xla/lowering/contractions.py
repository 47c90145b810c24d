"""Contractions as NumPy spells them."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import operand, weak_dtype
from bridge.xla.lowering.register import entry


@entry("np.einsum", raw=True)
def einsum(*operands: Any, dtype: Any = None, **neutral: Any) -> Any:
    """In both spellings: by letters, and by lists of axes after each array."""
    letters: tuple[str, ...]
    axes: list[Any]
    if isinstance(operands[0], str):
        letters, axes = operands[:1], []
        arrays = [operand(x) for x in operands[1:]]
    else:
        count = len(operands) // 2
        letters, axes = (), [list(x) for x in (*operands[1 : 2 * count : 2], *operands[2 * count :])]
        arrays = [operand(x) for x in operands[: 2 * count : 2]]
    kind = np.result_type(*(np.dtype(weak_dtype(x)) for x in arrays)) if dtype is None else np.dtype(dtype)
    arrays = [jnp.asarray(x, kind) for x in arrays]
    if letters:
        return jnp.einsum(*letters, *arrays)
    pairs: list[Any] = [part for array, names in zip(arrays, axes, strict=False) for part in (array, names)]
    return jnp.einsum(*pairs, *axes[len(arrays) :])
