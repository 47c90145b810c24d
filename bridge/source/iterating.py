"""Iterating over a plain array that may be lent meanwhile: each element is what the array shows when its turn comes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.rewind.interpreter import current_context
from bridge.source.exchanging import look_through
from bridge.source.lending import COUNT, LENT, lent_to


class Elements:
    """The elements, or rows, of an array."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __iter__(self) -> Iterator[Any]:
        array = self._array
        for k in range(len(array)):
            yield self[k] if COUNT.number else array[k]

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = lent_to(self._array) if COUNT.number else None
        return self._array[key] if found is None else found[key]


def elements(value: Any) -> Any:
    """What is iterated over in the place of `value`, which may be an array."""
    if type(value) is np.ndarray:
        may_be_lent = value.ndim and value.dtype.kind in "fc" and current_context() is not None
        return Elements(value) if may_be_lent else value
    if LENT and hasattr(type(value), "__next__"):
        look_through(value)
    return value
