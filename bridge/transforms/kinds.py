"""Arrays of other libraries as arguments: a gradient comes back as what its argument was, where that is known."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def in_kind_of(leaf: Any, gradient: Any) -> Any:
    """A gradient as the kind of array that its argument is: of JAX on its devices, of xarray or pandas with its labels.

    NumPy's for what has no labels (an index of pandas), for any other library, and a value of the context outside for a
    derivative that is differentiated again.
    """
    if type(gradient) is not np.ndarray:
        return gradient
    modules = {kind.__module__.partition(".")[0] for kind in type(leaf).__mro__}
    make = next((make for name, make in _MADE.items() if name in modules), None)
    return gradient if make is None else make(leaf, gradient)


def _of_jax(leaf: Any, gradient: np.ndarray) -> Any:
    jax = sys.modules["jax"]
    return jax.device_put(gradient, leaf.sharding) if isinstance(leaf, jax.Array) else gradient


def _of_xarray(leaf: Any, gradient: np.ndarray) -> Any:
    return leaf.copy(data=gradient) if isinstance(leaf, sys.modules["xarray"].DataArray) else gradient


def _of_pandas(leaf: Any, gradient: np.ndarray) -> Any:
    pandas = sys.modules["pandas"]
    if not isinstance(leaf, pandas.Series):
        return gradient
    return pandas.Series(gradient, index=leaf.index, name=leaf.name)


_MADE = {"jaxlib": _of_jax, "xarray": _of_xarray, "pandas": _of_pandas}
