"""Arrays of other libraries as arguments: a gradient comes back as what its argument was, where that is known."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def in_kind_of(leaf: Any, gradient: Any) -> Any:
    """A gradient as the kind of array that its argument is: of JAX on its devices, of xarray or pandas with its labels.

    NumPy's array for any other library, and for what a derivative around this one differentiates.
    """
    if type(gradient) is not np.ndarray:
        return gradient
    module = type(leaf).__module__.partition(".")[0]
    make = _MADE.get("jax" if module == "jaxlib" else module)
    return gradient if make is None else make(leaf, gradient)


def _of_jax(leaf: Any, gradient: np.ndarray) -> Any:
    jax = sys.modules["jax"]
    return jax.device_put(gradient, leaf.sharding) if isinstance(leaf, jax.Array) else gradient


def _of_xarray(leaf: Any, gradient: np.ndarray) -> Any:
    return leaf.copy(data=gradient)


def _of_pandas(leaf: Any, gradient: np.ndarray) -> Any:
    return type(leaf)(gradient, index=leaf.index, name=leaf.name)


_MADE = {"jax": _of_jax, "xarray": _of_xarray, "pandas": _of_pandas}
