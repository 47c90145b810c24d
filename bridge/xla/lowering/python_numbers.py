"""Numbers of Python's, as XLA computes them: see `rules/python_numbers.py`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from bridge.xla.lowering.register import entry


@entry("bridge.rules.python_numbers._number")
def number(x: Any) -> Any:
    """A number of the width that Python's have."""
    return jnp.asarray(x).astype(complex if jnp.iscomplexobj(x) else float)
