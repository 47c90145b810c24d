"""What an entry keeps of its operands: tracked memory by reference, plain arrays as snapshots.

Memory of the context is put back before a pull reads it; a plain array that the program changes later is
not, so it is copied when an operation reads it: small ones always, large ones once per change. A large one that is
read-only is kept as it is; that it was made writable, and changed, is found before pulls read it.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

import numpy as np

from bridge.errors import AliasError
from bridge.rewind.borrowed import mark_of
from bridge.rewind.values import Shaped

SMALL = 16 * 1024
_FEW_BYTES = 2048
"""Bytes up to which two arrays are compared faster as copies than in place."""


class constant(np.ndarray):
    """An array that is promised not to change: operations refer to it without a snapshot.

    `constant(array)` is a read-only view of `array` (any shape and dtype); the promise is the caller's.
    """

    def __new__(cls, array: Any) -> constant:
        view = np.asarray(array).view(cls)
        view.flags.writeable = False
        return view

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(hasattr(x, "place") for x in inputs):
            return NotImplemented
        plain = (x.view(np.ndarray) if isinstance(x, constant) else x for x in inputs)
        return getattr(ufunc, method)(*plain, **kwargs)


class Snapshots:
    """Copies of the plain arrays that operations of one context have read."""

    __slots__ = ("_frozen", "_large", "_outer", "_sums")

    def __init__(self) -> None:
        self._frozen: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray | None]] = {}
        self._large: dict[tuple[Any, ...], tuple[np.ndarray, np.ndarray]] = {}
        self._sums: dict[tuple[Any, ...], int] = {}
        self._outer: dict[int, tuple[Any, int, Any]] = {}

    def of(self, array: Any) -> Any:
        """An array with the present contents of `array` that nobody will change.

        A Buffer of an outer context is one that the program may change: its copy is logged there.
        """
        if hasattr(array, "place"):
            return self._of_outer(array)
        if array.nbytes <= SMALL:
            return array.copy()
        key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if is_frozen(array):
            self._frozen.setdefault(key, (array, None))
            return array
        found = self._large.get(key)
        if found is None or not same_bits(found[1], array):
            found = self._large[key] = (array, array.copy())
            self._sums.pop(key, None)
        return found[1]

    def mark_frozen(self) -> None:
        """Before the program may change read-only arrays: remember what those hold that were kept as they are."""
        for key, (array, mark) in self._frozen.items():
            if mark is None:
                self._frozen[key] = array, mark_of(array)

    def check_frozen(self) -> None:
        """Before pulls read them: AliasError if a read-only array that was kept as it is may have been changed."""
        for array, mark in self._frozen.values():
            if is_frozen(array) if mark is None else np.array_equal(mark, mark_of(array)):
                continue
            raise AliasError(
                f"a read-only array of shape {array.shape} was changed after an operation has read it, or made "
                "writable where that is not seen: the gradient would be of what it holds now",
                remedy="leave it read-only until the backward pass is over; or write into a copy of it",
            )

    def checksum(self, array: np.ndarray) -> int | None:
        """A number that tells the contents of a snapshot from others; None for large arrays that are none.

        That of a large snapshot is kept: many operations may have read it.
        """
        if array.nbytes <= SMALL:
            return crc32(array.tobytes())
        key = next((key for key, (_, copy) in self._large.items() if copy is array), None)
        if key is None:
            return None
        if key not in self._sums:
            self._sums[key] = crc32(array.tobytes())
        return self._sums[key]

    def _of_outer(self, array: Any) -> Any:
        if not hasattr(array, "view_as"):
            return array
        place = array.place
        writes = place.context.writes
        found = self._outer.get(id(place))
        if found is None or found[0] is not place or found[1] != writes:
            found = self._outer[id(place)] = (place, writes, array.copy())
        return found[2]

    def forget_outer(self) -> None:
        """Forget the copies of outer contexts' Buffers: the next read makes new ones."""
        self._outer.clear()

    def keep(self, rule: Any, reads: frozenset[Any], args: tuple[Any, ...], plain: tuple[int, ...]) -> tuple[Any, ...]:
        """`args` as the pull will get them: read ones kept, the others reduced to what they look like."""
        if rule.broadcasts:
            if not reads:
                return (None,) * len(args)
            if not plain and len(args) == 2:
                return (args[0] if 0 in reads else None, args[1] if 1 in reads else None)
            return tuple([(self.of(x) if k in plain else x) if k in reads else None for k, x in enumerate(args)])
        named = len(rule.parameters)
        return tuple(
            [self.kept(x, k in reads or (k >= named and "*" in reads), k in plain) for k, x in enumerate(args)]
        )

    def kept(self, x: Any, read: bool, plain: bool) -> Any:
        """One operand as a pull will get it."""
        if type(x) in (list, tuple):
            return type(x)(self.kept(part, read, isinstance(part, np.ndarray) or hasattr(part, "place")) for part in x)
        if read:
            return self.of(x) if plain else x
        if isinstance(x, np.ndarray) or hasattr(x, "place"):
            return Shaped(x.shape, x.dtype)
        return x


def copy_of_list(x: Any) -> Any:
    """A list with nested lists copied; anything else as it is."""
    return type(x)(map(copy_of_list, x)) if type(x) in (list, tuple) else x


def is_frozen(array: np.ndarray) -> bool:
    """Whether an array, and all that its memory belongs to, is read-only."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return False
        owner = owner.base
    return (owner is None or isinstance(owner, bytes)) and not array.dtype.hasobject


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one shape and dtype hold the same bytes."""
    if a.nbytes > _FEW_BYTES and not a.dtype.hasobject and a.flags.c_contiguous and b.flags.c_contiguous:
        return bool(np.array_equal(a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)))
    return a.tobytes() == b.tobytes()
