"""Functions without a derivative that have another name in jax.numpy."""

from __future__ import annotations

import jax.numpy as jnp

from bridge.xla.lowering.register import entry

entry("np.fix")(jnp.trunc)
