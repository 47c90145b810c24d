"""How a tape notes the operands of an operation, and how they are made again.

A note is a nested tuple that says what an operand looks like; the integers of index keys and the memory that is
meant are noted beside it, in lists, so that operations that differ only in these have the same note.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.memory import Strides
from bridge.places import Layout, View
from bridge.snapshots import Snapshots
from bridge.tracing import is_traced

_SMALL = 1024
_PLAIN = (str, bytes, bool, float, complex, type(None), type(Ellipsis), np.generic)


class NotRepeatable(BaseException):
    """Something of a program is not to be run from a tape; never seen outside.

    Not an Exception: a program that swallows its own errors must not swallow this.
    """


class Notes:
    """The constants of tapes, each known by a number, and the numbers of notes."""

    def __init__(self, since: int) -> None:
        self.since = since
        self._numbers: dict[Any, int] = {}
        self._kept: dict[int, Any] = {}
        self._alive: dict[int, Any] = {}
        self._snapshots = Snapshots()

    def number(self, note: Any) -> int:
        """The same number for equal notes."""
        return self._numbers.setdefault(note, len(self._numbers))

    def constant(self, x: Any) -> tuple[Any, ...]:
        """The note of a value that is the same whenever the tape is run."""
        if isinstance(x, np.ndarray):
            key, x = self._array(x)
        elif isinstance(x, _PLAIN) or type(x) is int:
            key = ("number", type(x), np.asarray(x).tobytes() if isinstance(x, (float, complex, np.generic)) else x)
        else:
            key = self._object(x)
        found = self._numbers.get(key)
        if found is None:
            found = self._numbers[key] = len(self._numbers)
            self._kept[found] = x
        return ("constant", found)

    def _object(self, x: Any) -> Any:
        self._alive[id(x)] = x  # nothing else gets its id
        return ("object", id(x))

    def _array(self, x: np.ndarray) -> tuple[Any, Any]:
        if x.dtype.hasobject or type(x) is not np.ndarray:
            return self._object(x), x
        if x.nbytes <= _SMALL:
            x = np.array(x, order="K")
            x.flags.writeable = False
            return ("array", x.dtype.str, x.shape, x.strides, x.tobytes()), x
        value = x[(0,) * x.ndim]
        if (x == value).all():
            x = np.broadcast_to(value, x.shape)
            return ("full", x.dtype.str, x.shape, value.tobytes()), x
        x = self._snapshots.of(x)
        return self._object(x), x

    def value(self, note: tuple[Any, ...]) -> Any:
        """What a noted constant is; an array is not to be written."""
        return self._kept[note[1]]


class Writer:
    """Notes the operands of one operation."""

    def __init__(self, tape: Any, notes: Notes) -> None:
        self.tape = tape
        self.notes = notes
        self.integers: list[int] = []
        self.roots: list[int] = []

    def operand(self, x: Any, counts: bool) -> Any:
        """The note of an operand; Python's integers may differ from one operation to the next where it `counts`."""
        if hasattr(x, "place"):
            if x.place.context is self.tape:
                return self.place(x.place)
            if x.place.root.serial > self.notes.since or not is_traced(x):
                raise NotRepeatable
            return ("foreign", *self.notes.constant(x.place), *self.notes.constant(x))
        if type(x) in (list, tuple):
            return (type(x), *(self.operand(part, counts) for part in x))
        if type(x) is dict:
            return (dict, tuple(x), *(self.operand(part, counts) for part in x.values()))
        if type(x) is int and counts:
            self.integers.append(x)
            return ("integer",)
        if type(x) is slice:
            return (slice, *(self.operand(part, False) for part in (x.start, x.stop, x.step)))
        return self.notes.constant(x)

    def place(self, place: Any) -> Any:
        """The note of a part of the tape's memory."""
        steps = []
        while place is not place.root:
            if type(place) not in (View, Layout):
                raise NotRepeatable
            steps.append(place)
            place = place.parent
        self.roots.append(place.number)
        return ("memory", *map(self._step, reversed(steps)))

    def _step(self, part: Any) -> Any:
        if type(part) is Layout:
            offset, like = part.key
            return ("layout", offset, tuple(like.shape), tuple(like.strides), like.dtype)
        return ("view", self.key(part.key, part.parent.shape))

    def key(self, key: Any, shape: tuple[int, ...]) -> Any:
        """The note of an index key of an array of `shape`, with integers counted from the start of each axis."""
        parts = key if type(key) is tuple else (key,)
        taken = sum(map(_axes, parts))
        axis = 0
        noted = []
        for part in parts:
            length = shape[axis] if axis < len(shape) else 0
            noted.append(self._part(part, length))
            axis += len(shape) - taken if part is Ellipsis else _axes(part)
        return (tuple, *noted) if type(key) is tuple else noted[0]

    def _part(self, part: Any, length: int) -> Any:
        if isinstance(part, (int, np.integer)) and not isinstance(part, (bool, np.bool_)):
            self.integers.append(int(part) + length if part < 0 else int(part))
            return ("integer",)
        if type(part) is not slice or is_traced(part.start) or is_traced(part.stop):
            return self.operand(part, False)
        start, stop, step = part.indices(length)
        if step < 0 or (part.start is None and part.stop is None):
            return (slice, *map(self.notes.constant, (part.start, part.stop, part.step)))
        self.integers.append(start)
        return ("window", max(stop - start, 0), step)


def _axes(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    if getattr(getattr(part, "dtype", None), "kind", "") == "b":
        return len(part.shape)
    return 1


class Reader:
    """Makes the operands of one operation again, from their notes, integers, and memory."""

    def __init__(self, notes: Notes, integers: list[Any], roots: list[Any]) -> None:
        self.notes = notes
        self.integers: Iterator[Any] = iter(integers)
        self.roots: Iterator[Any] = iter(roots)

    def operand(self, note: Any) -> Any:
        """What was noted."""
        kind = note[0]
        if kind == "memory":
            value = next(self.roots)
            for step in note[1:]:
                value = value[self.operand(step[1])] if step[0] == "view" else _laid_out(value, *step[1:])
            return value
        if kind == "constant":
            return self.notes.value(note)
        if kind == "foreign":
            return self.notes.value(note[3:])
        if kind == "integer":
            return next(self.integers)
        if kind == "window":
            start = next(self.integers)
            return slice(start, start + note[1], note[2])
        if kind is dict:
            return dict(zip(note[1], map(self.operand, note[2:]), strict=True))
        parts = map(self.operand, note[1:])
        return slice(*parts) if kind is slice else kind(parts)


def _laid_out(value: Any, offset: int, shape: Any, strides: Any, dtype: Any) -> Any:
    return value.view_as(offset, Strides(shape, strides, dtype))
