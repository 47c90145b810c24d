"""Arrays that may go to a file and come back, and where entries of a log hold them and views of them.

An array goes with all views of it that are known, and only while nobody else can see it: whether that is so, its count
of references says.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

LARGE = 1 << 14
"""Bytes of an array from which on it may go to the file; smaller ones stay."""


class ViewLayout(NamedTuple):
    """How a view lies in an array: its distance from the array's first byte, and the rest."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    writeable: bool


class Away:
    """Stands where an entry held an array, or a view of one (`layout`), which lies in the file."""

    __slots__ = ("block", "layout")

    def __init__(self, block: Block, layout: ViewLayout | None) -> None:
        self.block = block
        self.layout = layout


class Slot(NamedTuple):
    """Where an entry holds an array: an attribute, or an element of a tuple there."""

    holder: Any
    name: str
    position: int | None

    def get(self) -> Any:
        value = getattr(self.holder, self.name)
        if self.position is None:
            return value
        return value[self.position] if type(value) is tuple and self.position < len(value) else None

    def set(self, value: Any) -> None:
        if self.position is not None:
            parts = list(getattr(self.holder, self.name))
            parts[self.position] = value
            value = tuple(parts)
        setattr(self.holder, self.name, value)

    @property
    def key(self) -> tuple[int, str, int | None]:
        return id(self.holder), self.name, self.position


class Block:
    """An array that owns its memory, in memory or in the file, and where entries hold it or views of it."""

    __slots__ = ("array", "changed", "dtype", "in_c_order", "nbytes", "offset", "shape", "slots")

    def __init__(self, array: np.ndarray) -> None:
        self.array: np.ndarray | None = array
        self.shape, self.dtype, self.nbytes = array.shape, array.dtype, array.nbytes
        self.in_c_order = bool(array.flags.c_contiguous)
        # Whether the file does not hold what memory holds.
        self.changed = True
        self.offset: int | None = None
        self.slots: dict[Any, Slot] = {}

    @property
    def is_alone(self) -> bool:
        """Whether nobody but the slots can see the array; slots that hold something else by now are dropped."""
        return self.strangers == (0, 0)

    @property
    def strangers(self) -> tuple[int, int]:
        """References to the array, and to views of it, that are no slot's."""
        direct, stale = 0, []
        views: dict[int, list[Any]] = {}
        value: Any = None
        for key, slot in self.slots.items():
            value = slot.get()
            if value is self.array:
                direct += 1
            elif type(value) is np.ndarray and value.base is self.array:
                views.setdefault(id(value), [value, 0])[1] += 1
            else:
                stale.append(key)
        value = None
        for key in stale:
            del self.slots[key]
        if not self.slots:
            return 1, 1
        of_views = sum(sys.getrefcount(pair[0]) - pair[1] - _OF_VIEW for pair in views.values())
        return sys.getrefcount(self.array) - direct - len(views) - _OF_ARRAY, of_views

    def leave(self, write: Any) -> None:
        """Go to the file; `write` stores bytes and returns where."""
        array = self.array
        assert array is not None
        if self.changed:
            self.offset = write(_bytes_of(array), self.offset)
            self.changed = False
        start = array.__array_interface__["data"][0]
        away: dict[int, tuple[Any, Away]] = {}
        for slot in self.slots.values():
            value = slot.get()
            if id(value) not in away:
                away[id(value)] = value, Away(self, None if value is array else _layout(value, start))
            slot.set(away[id(value)][1])
        self.array = None

    def come_back(self, read: Any) -> None:
        """Be in memory again, in every slot; `read` fills bytes."""
        array = np.empty(self.shape, self.dtype, order="C" if self.in_c_order else "F")
        read(_bytes_of(array), self.offset)
        whole = array if self.in_c_order else array.T
        back: dict[int, np.ndarray] = {}
        for slot in self.slots.values():
            value = slot.get()
            if type(value) is not Away or value.block is not self:
                continue
            if id(value) not in back:
                back[id(value)] = array if value.layout is None else _view(whole, value.layout)
            slot.set(back[id(value)])
        self.array = array


def _bytes_of(array: np.ndarray) -> memoryview:
    in_order = array if array.flags.c_contiguous else array.T
    flat: Any = in_order.reshape(-1).view(np.uint8)
    return memoryview(flat)


def _layout(view: np.ndarray, start: int) -> ViewLayout:
    distance = view.__array_interface__["data"][0] - start
    return ViewLayout(distance, view.shape, view.strides, view.dtype, bool(view.flags.writeable))


def _view(whole: np.ndarray, layout: ViewLayout) -> np.ndarray:
    made: np.ndarray = np.ndarray(layout.shape, layout.dtype, whole, layout.offset, layout.strides)
    made.flags.writeable = layout.writeable
    return made


def owner_of(value: Any) -> np.ndarray | None:
    """The array that owns the memory of a large plain one, if it may go to the file; else None."""
    if type(value) is not np.ndarray:
        return None
    found = value if value.base is None else value.base
    if type(found) is not np.ndarray or found.base is not None or found.nbytes < LARGE or found.dtype.hasobject:
        return None
    flags = found.flags
    return found if flags.owndata and (flags.c_contiguous or flags.f_contiguous) else None


class _SampleEntry:
    """Holds one array as an entry of a log does, to calibrate reference counts."""

    def __init__(self, held: Any) -> None:
        self.held = held


def _calibrated() -> tuple[int, int]:
    """What is counted beside slots, for arrays and for views that nobody else holds: interpreters differ in that."""
    made = np.empty(2)
    block = Block(made)
    for slot in (Slot(_SampleEntry(made), "held", None), Slot(_SampleEntry(made[:1]), "held", None)):
        block.slots[slot.key] = slot
    del made
    return block.strangers


_OF_ARRAY = _OF_VIEW = 0
_OF_ARRAY, _OF_VIEW = _calibrated()
