"""What cells hold: JAX values in the dtype and shape of their memory."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

_EMBEDDED = 64


def in_dtype(contents: Any, dtype: np.dtype[Any]) -> Any:
    """A value in a dtype, as an assignment in NumPy casts it; the real part of a complex one."""
    contents = jnp.asarray(contents)
    if contents.dtype == dtype and not contents.weak_type:
        return contents
    if contents.dtype.kind == "c" and dtype.kind != "c":
        contents = contents.real
    return lax.convert_element_type(contents, dtype)


def spread(contents: Any, shape: tuple[int, ...]) -> Any:
    """A value broadcast to a shape; itself if it has that shape."""
    return contents if contents.shape == shape else jnp.broadcast_to(contents, shape)


def constant_contents(array: np.ndarray) -> Any:
    """A plain array as a value of the program; a large one that is all alike is made where it is needed."""
    array = np.asarray(array)
    if array.size > _EMBEDDED and (array == array.flat[0]).all():
        return lax.full(array.shape, array.flat[0], array.dtype)
    return jnp.asarray(array)
