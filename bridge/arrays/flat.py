"""`buffer.flat`: one-dimensional access in C order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from bridge.arrays.operands import operand
from bridge.rewind.values import value_of

if TYPE_CHECKING:
    from bridge.arrays.buffer import Buffer


class Flat:
    """`buffer.flat`: one-dimensional access in C order, reading and writing."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer

    def __len__(self) -> int:
        return self.buffer.size

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def _picked(self, key: Any) -> tuple[Buffer, Any]:
        """An array of one axis or more, and where in it the key of the flat one leads."""
        array = self.buffer if self.buffer.shape else self.buffer[None]
        positions = np.arange(array.size)[value_of(key, "an index of .flat")]
        picked = np.unravel_index(positions, array.shape)
        return array, tuple(map(int, picked)) if np.ndim(positions) == 0 else picked

    def __getitem__(self, key: Any) -> Any:
        array, picked = self._picked(key)
        return array[picked]

    def __setitem__(self, key: Any, value: Any) -> None:
        array, picked = self._picked(key)
        value = operand(value)
        if np.ndim(picked[0]) and np.ndim(value):
            if not np.size(value):
                return
            value = np.resize(value, np.shape(picked[0]))
        array[picked] = value
