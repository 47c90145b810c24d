"""Large arguments that are the caller's own memory until the program writes them.

The caller's array is never written. When the program is about to write such an argument, its memory is copied, and the
Buffers that show it show the copy from there on. What the log holds shows the caller's array still, which holds what
the argument held then. That somebody else has changed it is found by its mark, when it is copied and in the end.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any
from weakref import WeakSet, ref

import numpy as np

from bridge.errors import AliasError
from bridge.rewind.memory import ArrayMemory, Strides, address, owner
from bridge.rewind.roots import Entered

LARGE = 1 << 20
"""Bytes from which on an argument is worth it: smaller ones are copied."""

_WIDTH = 4096
_ROWS = 8

_lent: WeakSet[Borrowed] = WeakSet()


class Borrowed(Entered):
    """A root whose memory is the caller's array, as long as `borrowed` says so."""

    __slots__ = ("__weakref__", "_buffers", "_limit", "borrowed", "mark", "original")

    def __init__(self, context: Any, value: np.ndarray, active: bool) -> None:
        super().__init__(context, value, active)
        self.borrowed = True
        self.original = value
        self.mark = mark_of(value)
        self._buffers: list[ref[Any]] = []
        self._limit = 64
        _lent.add(self)

    def note(self, buffer: Any) -> None:
        """Remember a Buffer that shows this memory, as long as it lives."""
        self._buffers.append(ref(buffer))
        if len(self._buffers) > self._limit:
            self._buffers = [one for one in self._buffers if one() is not None]
            self._limit = 64 + 2 * len(self._buffers)

    def is_unchanged(self) -> bool:
        """Whether the caller's array holds what it held on entry."""
        return np.array_equal(self.mark, mark_of(self.original))

    def own(self) -> None:
        """Move to memory of the context's own, with all Buffers that show this one."""
        if not self.borrowed:
            return
        own = self.original.copy()
        if not np.array_equal(self.mark, mark_of(own)):
            raise changed(self.original)
        self.borrowed = False
        start = address(self.original)
        for one in self._buffers:
            buffer = one()
            if buffer is None:
                continue
            if buffer.place is self:
                buffer.value = own
                continue
            shown = buffer.value
            like = Strides(shown.shape, shown.strides, shown.dtype)
            buffer.value = ArrayMemory().view(own, address(shown) - start, like) if shown.size else shown.copy()
            if not shown.flags.writeable:
                buffer.value.flags.writeable = False
        self._buffers = []


def may_be_borrowed(array: Any) -> bool:
    """Whether an argument is large, and lies such that its memory can stand for a copy of it."""
    return (
        type(array) is np.ndarray
        and array.nbytes >= LARGE
        and array.dtype.kind in "fc"
        and array.dtype.isnative
        and array.flags.c_contiguous
        and array.flags.writeable
        and array.flags.aligned
        and owner(array).nbytes == array.nbytes
    )


def settle(array: np.ndarray) -> None:
    """Before this memory is written by the package itself: whoever has borrowed it gets a copy."""
    for root in list(_lent):
        if root.borrowed and np.may_share_memory(root.original, array):
            root.own()


def changed(array: np.ndarray) -> AliasError:
    """The error of a caller's array that somebody has written during the call."""
    return AliasError(
        f"the function wrote into an argument of shape {array.shape} under a global or captured name, "
        "which is the caller's array itself: the argument did not follow, and the gradient is of neither",
        remedy="write into the argument under its own name, or pass a copy (x.copy())",
    )


@cache
def _weights() -> np.ndarray:
    # Not from NumPy's generators, whose state is the program's.
    return np.frombuffer(os.urandom(8 * _WIDTH), np.uint64)


def mark_of(array: np.ndarray) -> np.ndarray:
    """Numbers that tell what an array holds from anything else, one for each 32 KiB of its bytes.

    They are sums of the words, each times a random one, modulo 2**64. Before that the upper half of each word goes into
    its lower one as well: of words that differ in a high bit alone, the sums would be the same too often.
    """
    data = array.reshape(-1).view(np.uint8)
    count = len(data) // (8 * _WIDTH)
    words = data[: 8 * _WIDTH * count].view(np.uint64).reshape(count, _WIDTH)
    rest = np.zeros((1, _WIDTH), np.uint64)
    rest.view(np.uint8)[0, : len(data) - 8 * _WIDTH * count] = data[8 * _WIDTH * count :]
    into, weights = np.empty((_ROWS, _WIDTH), np.uint64), _weights()
    sums = []
    for part in (*(words[k : k + _ROWS] for k in range(0, count, _ROWS)), rest):
        mixed = np.right_shift(part, 32, out=into[: len(part)])
        np.bitwise_xor(part, mixed, out=mixed)
        sums.append(np.einsum("ij,j->i", mixed, weights))
    return np.concatenate(sums)
