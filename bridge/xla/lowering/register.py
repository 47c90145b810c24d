"""The register of functions whose lowering is written by hand, by the names that messages have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from bridge.xla.lowering.calls import weak_for_result_type

TABLE: dict[str, Callable[..., Any]] = {}


def entry(*names: str, into: dict[str, Callable[..., Any]] = TABLE) -> Callable[[Callable[..., Any]], Any]:
    """Make the decorated function the lowering of the NumPy functions of these names."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        into.update(dict.fromkeys(names, function))
        return function

    return register


def common(*operands: Any) -> np.dtype[Any]:
    """NumPy's dtype of several operands together; Python numbers are weak."""
    return np.result_type(*map(weak_for_result_type, operands))


def known(x: Any) -> np.ndarray | None:
    """The values of an array, if they are known while JAX traces; also those of one that is differentiated."""
    if not isinstance(x, jax.core.Tracer):
        return np.asarray(x)
    try:
        return np.asarray(jax.lax.stop_gradient(x))
    except jax.errors.TracerArrayConversionError:
        return None
