"""The matrix exponential, as XLA computes it: see `rules/scipy_matrix_functions.py`."""

from __future__ import annotations

from typing import Any

from jax.scipy import linalg

from bridge.xla.lowering.register import entry


@entry("bridge.rules.scipy_matrix_functions.expm")
def expm(a: Any) -> Any:
    """The exponential of one matrix or several."""
    return linalg.expm(a)
