"""Polynomials that NumPy computes together with integers of 64 bits."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.register import entry


def _beside_integers(x: Any) -> Any:
    """An array in which single precision has become double."""
    return jnp.asarray(x, np.result_type(jnp.asarray(x).dtype, np.int64))


@entry("np.polyder")
def polyder(p: Any, m: int = 1) -> Any:
    """The zeroth derivative is what it was."""
    return jnp.polyder(_beside_integers(p) if m else p, m)


@entry("np.polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    """The zeroth integral is what it was."""
    return jnp.polyint(_beside_integers(p) if m else p, m, k)


@entry("np.vander")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    """Powers by products with integers."""
    return jnp.vander(_beside_integers(x), N, increasing)
