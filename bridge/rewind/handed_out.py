"""Plain arrays that code which is not read gets in place of memory without a gradient.

In the plain program such an array is the memory itself: a write into one of the two is seen in the other. So the array
shows the memory. What is written through it is logged as a write before the next operation that reads the memory. Where
the array cannot show it, it is a copy, so a write into either is found, and raises.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds

from bridge.code_position import here, resolve
from bridge.errors import AliasError
from bridge.rewind.memory import address, grounded
from bridge.rewind.snapshots import same_bits


class _Memory:
    """Gives an array the memory of another one. Views of that array refer to it, so its references can be counted."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (address(array), False)}


class HandedOut:
    """One plain array that code which is not read got in place of a Buffer.

    Parameters
    ----------
    tracked : the Buffer, of any layout.
    shares : whether the plain array shows the Buffer's memory; else it is a copy of the same layout.

    Attributes
    ----------
    before : of an array that shows the memory, what that holds as far as the log knows.
    """

    __slots__ = ("array", "before", "memory", "position", "shares", "tracked")

    def __init__(self, tracked: Any, shares: bool) -> None:
        self.tracked = tracked
        own = np.asarray(grounded(tracked))
        # Memory is put back also where the Buffer may only read it.
        self.memory = own if own.flags.writeable else np.asarray(_Memory(own))
        self.position = here()
        self.shares = shares
        self.array = np.asarray(_Memory(own if shares else _copied_alike(own)))
        if shares:
            self.follow()
            if own is not self.memory:
                self.array.flags.writeable = False

    def shows(self, memory: np.ndarray) -> bool:
        """Whether it was made for exactly this memory: address, shape, strides and dtype."""
        mine, its = grounded(self.tracked).__array_interface__, memory.__array_interface__
        return all(mine[key] == its[key] for key in ("data", "shape", "strides", "typestr"))

    @property
    def is_held(self) -> bool:
        """Whether the program still holds a reference to the plain array, or to a view of it."""
        return bool(self.array.size) and (_ALONE < 0 or _references(self) > _ALONE)

    def follow(self) -> None:
        """After a logged write: what the memory holds now, the log knows."""
        self.before = self.memory.copy()

    def is_written(self, part: Any = None) -> bool:
        """Whether the memory holds something that the log does not know of, at a `part` of it if one is given."""
        now, before = self.memory, self.before
        if part is not None and part is not now:
            if not np.may_share_memory(part, now):
                return False
            (low, high), (first, last) = byte_bounds(now), byte_bounds(part)
            if now.flags.c_contiguous and low <= first and last <= high:
                before = np.ndarray(part.shape, part.dtype, before, address(part) - address(now), part.strides)
                now = part
        return not same_bits(now, before)

    def check_unwritten(self) -> None:
        """Raise AliasError if a copy does not hold any more what the Buffer's memory holds."""
        if not self.shares and not same_bits(self.array, self.memory):
            raise AliasError(
                f"code that is not read wrote into the plain array of shape {self.array.shape} that it got in place of "
                "a tracked one: the program would not see that",
                where=resolve(self.position),
                remedy="give that code a copy (np.array(x)) and write what it returns into the array, or write a rule "
                "for it (bridge.mutating_rule)",
            )

    def check_dropped(self) -> None:
        """Raise AliasError if the array is held when memory is written, and cannot show what is written."""
        self.check_unwritten()
        if self.is_held:
            raise AliasError(
                f"an array of shape {self.array.shape} is written after code that is not read got a plain array in "
                f"place of it ({resolve(self.position)}), which the program still holds, and which would not follow",
                where=resolve(here()),
                remedy="give that code a copy (np.array(x)), or write into a copy: x = x.copy()",
            )

    def refuse_search(self) -> None:
        """Raise AliasError: the memory was written while a solver searches, which is not kept."""
        raise AliasError(
            f"code that is not read wrote into a plain array of shape {self.array.shape} that shows memory of the "
            f"program ({resolve(self.position)}), while a solver calls the program's function: what that holds depends "
            "on how often it is called",
            where=resolve(here()),
            remedy="give that code a copy (np.array(x))",
        )

    def check_left_alone(self) -> None:
        """Raise AliasError if the memory was written after the differentiated call, when a pull needs it."""
        if self.shares and self.is_written():
            raise AliasError(
                f"a plain array of shape {self.array.shape} that shows memory of a differentiated call "
                f"({resolve(self.position)}) was written after the call, and its pull reads that memory",
                remedy="write into a copy of it: v = v.copy()",
            )


def _copied_alike(memory: np.ndarray) -> np.ndarray:
    """A copy with the strides of the memory."""
    if memory.flags.c_contiguous:
        return memory.copy()
    first, end = byte_bounds(memory)
    span = np.empty(end - first, np.uint8)
    copy: np.ndarray = np.ndarray(memory.shape, memory.dtype, span, address(memory) - first, memory.strides)
    copy[...] = memory
    return copy


def _references(one: HandedOut) -> int:
    return sys.getrefcount(one.array)


# The reference count of an array that the program does not hold. It differs between versions of Python.
_ALONE = _references(HandedOut(np.zeros(1), False)) if hasattr(sys, "getrefcount") else -1
