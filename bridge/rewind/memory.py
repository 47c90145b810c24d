"""Where cotangents live: roots, the places inside them, and the memory interface.

A *root* is memory that a context owns; its *shadow* is the reference gradient, an array of the same
layout. A *place* names a part of a root, and finds the same part of the shadow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bridge.errors import AliasError

if TYPE_CHECKING:
    from bridge.rewind.context import Context


class ArrayMemory:
    """The memory interface on NumPy arrays."""

    __slots__ = ()

    def alloc(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return np.zeros(shape, dtype)

    def copy(self, array: Any) -> Any:
        return array.copy()

    def view(self, base: Any, offset: int, like: Any) -> Any:
        """The view of `base` that starts `offset` bytes after it, with the shape, strides and dtype of `like`."""
        view = np.asarray(_Window(base, offset, like))
        low, high = np.lib.array_utils.byte_bounds(owner(base))
        first, last = np.lib.array_utils.byte_bounds(view)
        if view.size and not low <= first <= last <= high:
            raise AliasError(f"a view of shape {view.shape} reaches outside the memory that it is a view of")
        return view

    def swap(self, array: Any, key: Any, saved: Any) -> Any:
        """Write `saved` into `array[key]` and return what was there."""
        current = array[key]
        if type(current) is not np.ndarray:
            array[key] = saved
            return current
        if key is Ellipsis and array.nbytes > _BLOCK:
            return _swap_by_blocks(array, saved)
        current = current.copy()
        array[key] = saved
        return current


_BLOCK = 1 << 18


def _swap_by_blocks(array: np.ndarray, saved: np.ndarray) -> np.ndarray:
    """Exchange two large arrays piece by piece: the pieces stay in the cache, and no memory is asked for."""
    rows = max(1, len(array) * _BLOCK // array.nbytes)
    for start in range(0, len(array), rows):
        piece = array[start : start + rows].copy()
        array[start : start + rows] = saved[start : start + rows]
        saved[start : start + rows] = piece
    return saved


class OuterMemory(ArrayMemory):
    """The memory interface on an outer context's Buffers: every operation is logged there."""

    __slots__ = ("outer",)

    def __init__(self, outer: Context) -> None:
        self.outer = outer

    def alloc(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.outer.blank(shape, dtype)

    def view(self, base: Any, offset: int, like: Any) -> Any:
        return base.view_as(offset, like)

    def swap(self, array: Any, key: Any, saved: Any) -> Any:
        current = array[key]
        if current.shape and current.place.root is array.place.root:
            current = current.copy()
        array[key] = saved
        return current


class _Window:
    """What NumPy needs to make an array at an address inside another array."""

    def __init__(self, base: Any, offset: int, like: Any) -> None:
        self.base = base
        data, read_only = base.__array_interface__["data"]
        self.__array_interface__ = {
            "version": 3,
            "shape": like.shape,
            "typestr": like.dtype.str,
            "strides": like.strides,
            "data": (data + offset, read_only),
        }


class Strides(NamedTuple):
    """How a view lies in memory."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]


def grounded(value: Any) -> Any:
    """The NumPy array or scalar under a value, through every level of nesting."""
    while hasattr(value, "place"):
        value = value.value
    return value


def holds_arrays(x: Any) -> bool:
    """Whether `x` is an array or a number of NumPy's or ours, or a nested sequence with one in it."""
    return hasattr(x, "dtype") if not isinstance(x, (list, tuple)) else any(map(holds_arrays, x))


def owner(array: np.ndarray) -> np.ndarray:
    """The array whose memory a view shows."""
    while True:
        base: Any = array.base
        if isinstance(base, _Window):
            base = base.base
        if not isinstance(base, np.ndarray):
            return array
        array = base


def address(array: Any) -> int:
    """Address of an array's first element."""
    return grounded(array).__array_interface__["data"][0]


def in_dtype(ct: Any, dtype: np.dtype[Any]) -> Any:
    """A cotangent in the dtype of the value that it belongs to; the real part for a real value."""
    if ct.dtype == dtype:
        return ct
    if ct.dtype.kind == "c" and dtype.kind != "c":
        ct = ct.real
    return ct.astype(dtype)


def lies_in_order(array: Any, order: str) -> bool:
    """Whether an array lies in C or Fortran order, if that is what `order` asks for."""
    return order not in ("C", "F") or bool(array.flags.c_contiguous if order == "C" else array.flags.f_contiguous)


def overlaps_itself(array: Any) -> bool:
    """Whether two elements of a strided view may share memory (broadcasts, sliding windows)."""
    extent = 0
    for stride, length in sorted((abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1):
        if stride < extent + array.dtype.itemsize:
            return True
        extent += stride * (length - 1)
    return False
