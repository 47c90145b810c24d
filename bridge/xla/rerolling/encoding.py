"""How a tape notes the operands of an operation, and how they are made again.

A note is a nested tuple that says what an operand looks like; the integers of index keys and the memory that is
meant are noted beside it, in lists, and so are plain floats and arrays of them, each by the number of a constant:
operations that differ only in these have the same note.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import Strides
from bridge.rewind.places import Layout, View
from bridge.rewind.snapshots import Snapshots, constant
from bridge.rewind.values import ground_floor, is_abstract
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.abstract import AbstractArray
from bridge.xla.tracing.outlines import Outline

_SMALL = 1024
_PLAIN = (str, bytes, bool, float, complex, type(None), type(Ellipsis), np.generic)
_EXACT = frozenset({str, bytes, bool, int, type(None), type(Ellipsis)})


Datum = tuple[int, tuple[Any, ...]]
"""The number of a constant or a table, and the indices into the table."""


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
        self._snapshots = Snapshots()

    def number(self, note: Any) -> int:
        """The same number for equal notes."""
        return self._numbers.setdefault(note, len(self._numbers))

    def constant(self, x: Any) -> tuple[Any, ...]:
        """The note of a value that is the same whenever the tape is run."""
        if isinstance(x, np.ndarray):
            return self._array(x)
        if isinstance(x, (np.dtype, type, np.ufunc)):
            return self.the(x)
        if not isinstance(x, _PLAIN) and type(x) is not int:
            # A function may do something else the next time.
            raise NotRepeatable
        return self._kept_as(("number", type(x), x if type(x) in _EXACT else np.asarray(x).tobytes()), x)

    def _kept_as(self, key: Any, x: Any) -> tuple[Any, ...]:
        number = self.number(key)
        self._kept.setdefault(number, x)
        return ("constant", number)

    def the(self, x: Any) -> tuple[Any, ...]:
        """The note of this very object, which does not change."""
        return self._kept_as(("the", id(x)), x)  # kept: nothing else gets its id

    def _array(self, x: np.ndarray) -> tuple[Any, ...]:
        if isinstance(x, constant):
            return self.the(x)
        if x.dtype.kind not in "fciub" or isinstance(x, AbstractArray):
            raise NotRepeatable
        x = x.view(np.ndarray)
        if x.nbytes <= _SMALL:
            x = np.array(x, order="K")
            x.flags.writeable = False
            return self._kept_as(("array", x.dtype.str, x.shape, x.strides, x.tobytes()), x)
        value = x[(0,) * x.ndim]
        if all(_is_uniform(part) for part in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))):
            return self._kept_as(("full", x.dtype.str, x.shape, value.tobytes()), np.broadcast_to(value, x.shape))
        return self.the(self._snapshots.of(x))

    def value(self, number: int) -> Any:
        """The constant of a number; an array is not to be written."""
        return self._kept[number]

    def table(self, numbers: tuple[int, ...]) -> int:
        """The number of a table of constants, or of tables."""
        return self._kept_as(("table", numbers), Table(numbers))[1]

    def looked_up(self, number: int, indices: tuple[Any, ...]) -> Any:
        """What lies in a table; a constant is a table without axes."""
        while indices and type(indices[0]) is int:
            number, indices = self.value(number).numbers[indices[0]], indices[1:]
        return tabled(self._stacked(number), self._first(number), indices) if indices else self.value(number)

    def _stacked(self, number: int) -> Any:
        kept = self.value(number)
        return np.stack([self._stacked(one) for one in kept.numbers]) if type(kept) is Table else np.asarray(kept)

    def _first(self, number: int) -> Any:
        kept = self.value(number)
        return self._first(kept.numbers[0]) if type(kept) is Table else kept


class Table:
    """Constants, by their numbers, one for each repetition."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self.numbers = numbers


def tabled(table: np.ndarray, like: Any, indices: tuple[Any, ...]) -> Any:
    """The part of a table at traced indices, as a traced constant that looks as `like` does."""
    context = current_context()
    assert context is not None
    trace = context.home.trace
    contents = Outline(table.shape, table.dtype) if trace.is_dry else jnp.asarray(table)
    for index in indices:
        if trace.is_dry:
            contents = Outline(contents.shape[1:], contents.dtype)
            continue
        contents = lax.dynamic_index_in_dim(contents, trace.read(ground_floor(index).place), keepdims=False)
    if isinstance(like, np.ndarray):
        return trace.entered(like, contents)
    integer = Affine.unknown(contents, int(table.min()), int(table.max())) if table.dtype.kind in "iu" else None
    return trace.number(like, contents, integer)


class Writer:
    """Notes the operands of one operation."""

    def __init__(self, tape: Any, notes: Notes) -> None:
        self.tape = tape
        self.notes = notes
        self.integers: list[int] = []
        self.roots: list[int] = []
        self.data: list[int] = []

    def operand(self, x: Any, counts: bool) -> Any:
        """The note of an operand; numbers may differ from one operation to the next where it `counts`."""
        if hasattr(x, "place"):
            if x.place.context is self.tape:
                return self.place(x.place)
            if x.place.root.serial > self.notes.since or not is_abstract(x):
                raise NotRepeatable
            return ("foreign", *self.notes.the(x.place), *self.notes.the(x))
        if type(x) in (list, tuple):
            return (type(x), *(self.operand(part, counts) for part in x))
        if type(x) is dict:
            return (dict, tuple(x), *(self.operand(part, counts) for part in x.values()))
        if type(x) is int and counts:
            self.integers.append(x)
            return ("integer",)
        if type(x) is slice:
            return (slice, *(self.operand(part, False) for part in (x.start, x.stop, x.step)))
        return self._datum(x) if _is_datum(x, counts) else self.notes.constant(x)

    def _datum(self, x: Any) -> Any:
        self.data.append(self.notes.constant(x)[1])
        if isinstance(x, np.ndarray):
            x = self.notes.value(self.data[-1])
            return ("datum", np.ndarray, x.dtype, x.shape, x.strides)
        return ("datum", type(x))

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
        if type(part) is not slice or is_abstract(part.start) or is_abstract(part.stop):
            return self.operand(part, False)
        start, stop, step = part.indices(length)
        if step < 0 or (part.start is None and part.stop is None):
            return (slice, *map(self.notes.constant, (part.start, part.stop, part.step)))
        self.integers.append(start)
        return ("window", max(stop - start, 0), step)


def _is_datum(x: Any, counts: bool) -> bool:
    """Whether a plain value may be another one in the next repetition."""
    if isinstance(x, np.ndarray):
        return x.ndim > 0 and x.dtype.kind in "fc" and not isinstance(x, AbstractArray)
    return counts and isinstance(x, (float, complex, np.floating, np.complexfloating))


def _is_uniform(x: np.ndarray) -> bool:
    first = x[(0,) * x.ndim]
    return bool((x == first).all() and (x.dtype.kind != "f" or (np.signbit(x) == np.signbit(first)).all()))


def _axes(part: Any) -> int:
    """How many axes a part of a key stands for."""
    if part is None or part is Ellipsis or isinstance(part, (bool, np.bool_)):
        return 0
    if getattr(getattr(part, "dtype", None), "kind", "") == "b":
        return len(part.shape)
    return 1


class Reader:
    """Makes the operands of one operation again, from their notes, integers, and memory."""

    def __init__(self, notes: Notes, integers: list[Any], roots: list[Any], data: list[Datum]) -> None:
        self.notes = notes
        self.data: Iterator[Datum] = iter(data)
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
            return self.notes.value(note[1])
        if kind == "foreign":
            return self.notes.value(note[4])
        if kind == "datum":
            return self.notes.looked_up(*next(self.data))
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
