"""Numbers between two ends, in the dtype of the ends together, of which Python numbers are weak."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from bridge.xla.lowering.calls import common
from bridge.xla.lowering.register import entry


@entry("np.linspace")
def linspace(start: Any, stop: Any, num: int = 50, **options: Any) -> Any:
    """Evenly spaced."""
    start, stop = _ends(start, stop)
    return jnp.linspace(start, stop, num, **options)


@entry("np.logspace")
def logspace(start: Any, stop: Any, num: int = 50, base: Any = 10.0, **options: Any) -> Any:
    """Evenly spaced logarithms, to a base that counts in the dtype."""
    start, stop, base = _ends(start, stop, base)
    return jnp.logspace(start, stop, num, base=base, **options)


def _ends(*numbers: Any) -> Any:
    kind = common(*numbers)
    return [jnp.asarray(x, kind if kind.kind in "fc" else np.float64) for x in numbers]
