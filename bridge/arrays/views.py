"""Views: whether a result is one is decided by where its bytes lie; and `buffer.flat`, an array seen in C order."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.arrays.operands import operand
from bridge.arrays.overlapping import as_read, shares
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import Strides, address, grounded, overlaps_itself
from bridge.rewind.places import DEEP, Layout, shortened
from bridge.rewind.values import concrete


def wrap_result(context: Any, value: Any, args: Any, fresh: Callable[[Any], Any]) -> Any:
    """Wrap what a function returned: views of arguments as views, by address; the rest by `fresh`."""
    if not isinstance(value, (list, tuple)):
        view = _as_view(context, value, args)
        return fresh(value) if view is None else view
    parts = [_as_view(context, part, _rotated(args, k)) for k, part in enumerate(value)]
    whole = value if parts and all(part is not None for part in parts) else fresh(value)
    chosen = (one if part is None else part for part, one in zip(parts, whole, strict=True))
    return type(value)(*chosen) if hasattr(value, "_fields") else type(value)(chosen)


def _rotated(args: Any, k: int) -> Any:
    """The arguments, the one that a list's part number `k` probably belongs to first."""
    return (*args[k : k + 1], *args[:k], *args[k + 1 :])


def _as_view(context: Any, value: Any, args: Any) -> Any:
    """`value` as a view of the argument whose memory it shows; a plain argument's stays plain; else None."""
    if not isinstance(value, (np.ndarray, ARRAYS.buffer)):
        return None
    ground = grounded(value)
    for x in args:
        if type(x) in (list, tuple):
            view = _as_view(context, value, x)
            if view is not None:
                return view
        elif type(x) is ARRAYS.buffer and x.place.context is context:
            if value is x.value:
                return x
            if np.may_share_memory(ground, grounded(x)):
                return view_at(x, value)
        elif isinstance(x, np.ndarray) and ground.size and np.may_share_memory(ground, x):
            return value
    return None


def view_at(buffer: Any, value: Any) -> Any:
    """`value`, which lies in the memory of `buffer`, as a Buffer on the same root."""
    ground = grounded(value)
    if overlaps_itself(ground):
        ground.flags.writeable = False
    like = Strides(ground.shape, ground.strides, ground.dtype)
    place = buffer.place if buffer.place.depth < DEEP else shortened(buffer)
    return ARRAYS.shown(value, Layout(place, (address(ground) - address(buffer.value), like), value))


def view_as_dtype(buffer: Any, dtype: Any) -> Any:
    """`buffer.view(dtype)`: between real and complex of one precision."""
    if dtype is None or dtype is np.ndarray:
        return view_at(buffer, buffer.value[...])
    asked = np.dtype(dtype)
    own = buffer.dtype
    if asked == own:
        return view_at(buffer, buffer.value[...])
    pair = {own.char, asked.char}
    if own.isnative != asked.isnative or pair not in ({"f", "F"}, {"d", "D"}, {"g", "G"}):
        raise RefusedError(
            f"a view of a {own} array as {asked}",
            where=resolve(here()),
            remedy="only real and complex of one precision share memory with a meaning; use astype for a copy"
            if asked.kind != "O"
            else f"a subclass or an object is not tracked: leave .view({getattr(dtype, '__name__', dtype)}) out",
        )
    return view_at(buffer, buffer.value.view(asked))


class Flat:
    """`buffer.flat`: one-dimensional access in C order, reading and writing.

    As NumPy's it is an iterator, which goes through the elements once and begins again when it is indexed.
    """

    __slots__ = ("buffer", "index")

    def __init__(self, buffer: Any) -> None:
        self.buffer = buffer
        self.index = 0

    def __len__(self) -> int:
        return self.buffer.size

    @property
    def base(self) -> Any:
        return self.buffer

    @property
    def coords(self) -> tuple[int, ...]:
        """Where the next element lies; one beyond along the first axis at the end."""
        found: Any = np.unravel_index(self.index, (self.buffer.shape[0] + 1, *self.buffer.shape[1:]))
        return tuple(map(int, found))

    def copy(self) -> Any:
        """The elements, as an array of their own."""
        return self.buffer.flatten()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.buffer.flatten().__array__(dtype, copy)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        array, picked = self._picked(self.index)
        self.index += 1
        return array[picked]

    def _picked(self, key: Any) -> tuple[Any, Any]:
        """An array of one axis or more, and where in it the key of the flat one leads."""
        array = self.buffer if self.buffer.shape else self.buffer[None]
        positions = np.arange(array.size)[concrete(key, "an index of .flat")]
        picked = np.unravel_index(positions, array.shape)
        return array, tuple(map(int, picked)) if np.ndim(positions) == 0 else picked

    def __getitem__(self, key: Any) -> Any:
        array, picked = self._picked(key)
        self.index = 0
        return array[picked]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.index = 0
        plain = concrete(key, "an index of .flat")
        indices = np.asarray(plain) if isinstance(plain, (list, np.ndarray)) else np.zeros(0)
        if indices.dtype.kind in "iu" and indices.ndim == 1:
            outside = np.flatnonzero((indices < -len(self)) | (indices >= len(self)))
            if outside.size:
                # NumPy looks at an index when it has written at the ones before it.
                self[indices[: outside[0]]] = value
                raise IndexError(f"index {indices[outside[0]]} is out of bounds for size {len(self)}")

        def write(ours: Any, theirs: Any) -> None:
            ours.flat[plain] = theirs

        self._write(plain, value, write)

    def _compared(self, function: Any, other: Any) -> Any:
        return function(self.copy(), other.copy() if isinstance(other, Flat) else other)

    def __eq__(self, other: object) -> Any:
        return self._compared(operator.eq, other)

    def __ne__(self, other: object) -> Any:
        return self._compared(operator.ne, other)

    def __lt__(self, other: Any) -> Any:
        return self._compared(operator.lt, other)

    def __le__(self, other: Any) -> Any:
        return self._compared(operator.le, other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(operator.gt, other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(operator.ge, other)

    __hash__ = None  # type: ignore[assignment]

    def replace(self, value: Any) -> None:
        """`buffer.flat = value`."""

        def write(ours: Any, theirs: Any) -> None:
            ours.flat = theirs

        self._write(slice(None), value, write)

    def _write(self, key: Any, value: Any, write: Callable[[Any, Any], None]) -> None:
        """Store values, repeated as needed; `write` is what NumPy does, which reads and writes element by element."""
        array, picked = self._picked(key)
        value = operand(value)
        if np.ndim(picked[0]):
            if type(value) is ARRAYS.buffer and shares(self.buffer, value):
                value = as_read(array, value, write, picked)
            if np.ndim(value):
                if not np.size(value):
                    return
                value = np.resize(value, np.shape(picked[0]))
        array[picked] = value


class AbstractFlags:
    """`x.flags` in a program that is compiled: how an array lies; whose its memory is, nobody knows there."""

    __slots__ = ("_array", "_flags")

    def __init__(self, array: Any) -> None:
        object.__setattr__(self, "_array", array)
        object.__setattr__(self, "_flags", grounded(array).flags)

    def __getattr__(self, name: str) -> Any:
        if name in ("owndata", "num"):
            raise self._array.no_memory(f"flags.{name}")
        return getattr(self._flags, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._flags, name, value)

    def __getitem__(self, name: str) -> Any:
        if name in ("OWNDATA", "O"):
            raise self._array.no_memory(f"flags[{name!r}]")
        return self._flags[name]

    def __setitem__(self, name: str, value: Any) -> None:
        self._flags[name] = value

    def __repr__(self) -> str:
        return repr(self._flags)
