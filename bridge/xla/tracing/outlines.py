"""What a dry run has in place of JAX values: shapes and dtypes.

A body is run dry for what it does to Python's objects and to memory; NumPy on abstract arrays says how its values look,
and nothing of it is handed to JAX.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np


class Outline:
    """The shape and dtype of a value that nobody computes."""

    __slots__ = ("dtype", "shape")

    weak_type = False

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self.shape = tuple(shape)
        self.dtype = np.dtype(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"Outline({self.shape}, {self.dtype})"


def outline_of(value: Any) -> Any:
    """The outlines of a function's result, in its containers; texts and None are themselves."""
    if isinstance(value, (list, tuple)):
        parts = list(map(outline_of, value))
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if value is None or isinstance(value, (str, bytes)):
        return value
    return Outline(np.shape(value), np.result_type(value))
