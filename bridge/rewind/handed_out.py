"""Plain arrays that stand, for code that is not read, for memory without a gradient.

In the plain program such an array is the memory itself: a write into one of the two is seen in the other. Here it is a
copy, so a write into either is found, and raises.
"""

from __future__ import annotations

import sys

import numpy as np
from numpy.lib.array_utils import byte_bounds

from bridge.code_position import here, resolve
from bridge.errors import AliasError
from bridge.rewind.snapshots import same_bits


class HandedOut:
    """One plain array that code which is not read got in place of a Buffer.

    Parameters
    ----------
    memory : the Buffer's memory, of any layout; the plain array is a copy of the same layout.
    """

    __slots__ = ("array", "memory", "position", "span")

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory
        self.position = here()
        self.span: np.ndarray | None = None
        if memory.flags.c_contiguous:
            self.array = memory.copy()
            return
        first, end = byte_bounds(memory)
        self.span = np.empty(end - first, np.uint8)
        start = memory.__array_interface__["data"][0] - first
        self.array = np.ndarray(memory.shape, memory.dtype, self.span, start, memory.strides)
        self.array[...] = memory

    def shows(self, memory: np.ndarray) -> bool:
        """Whether it is a copy of just this memory."""
        mine, its = self.memory.__array_interface__, memory.__array_interface__
        return all(mine[key] == its[key] for key in ("data", "shape", "strides", "typestr"))

    @property
    def is_held(self) -> bool:
        """Whether the program still holds a reference to the plain array, or to a view of it."""
        if _ALONE < 0:
            return True
        # Views refer to the memory that they show, as the array itself does where that is a span.
        return _references(self) > _ALONE or (self.span is not None and _references_of_span(self) > _ALONE + 1)

    def check_unwritten(self) -> None:
        """Raise AliasError if the plain array does not hold any more what the Buffer's memory holds."""
        if not same_bits(self.array, self.memory):
            raise AliasError(
                f"code that is not read wrote into the plain array of shape {self.array.shape} that it got in place of "
                "a tracked one: the program would not see that",
                where=resolve(self.position),
                remedy="give that code a copy (np.array(x)) and write what it returns into the array, or write a rule "
                "for it (bridge.mutating_rule)",
            )

    def check_dropped(self) -> None:
        """Raise AliasError if the plain array is still held, when the Buffer's memory is about to be written."""
        self.check_unwritten()
        if self.array.size and self.is_held:
            raise AliasError(
                f"an array of shape {self.array.shape} is written after code that is not read got a plain array in "
                f"place of it ({resolve(self.position)}), which the program still holds, and which would not follow",
                where=resolve(here()),
                remedy="give that code a copy (np.array(x)), or write into a copy: x = x.copy()",
            )


def _references(one: HandedOut) -> int:
    return sys.getrefcount(one.array)


def _references_of_span(one: HandedOut) -> int:
    return sys.getrefcount(one.span)


# The reference count of an array that the program does not hold. It differs between versions of Python.
_ALONE = _references(HandedOut(np.zeros(1))) if hasattr(sys, "getrefcount") else -1
