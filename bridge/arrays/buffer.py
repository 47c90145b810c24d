"""Buffer and Scalar: what a program holds in place of an array or a number while it is differentiated."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from threading import get_ident
from typing import Any

import numpy as np

from bridge.arrays import assignment, dispatch, views
from bridge.arrays.operators import InPlace
from bridge.arrays.tracked import Tracked, matched_as_array
from bridge.arrays.unknown_text import unknown_text
from bridge.arrays.views import AbstractFlags, Flat
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.in_c import quick
from bridge.rewind.escapes import escape, note_text, noted
from bridge.rewind.indices import ADVANCED, BOUNDS, ELEMENT, VIEW, frozen, is_of_integers, kind_of
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.lean import FLOATS
from bridge.rewind.memory import Strides, grounded
from bridge.rewind.places import DEEP, Element, Gathered, Layout, View, shortened
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded, recorded_at
from bridge.rewind.values import is_abstract, is_abstract_mask, known, needs_value

_DOUBLE = np.dtype(float)


class Scalar(Tracked):
    """A tracked number: immutable, a copy of what it was read from."""

    __slots__ = ()

    def item(self) -> Any:
        """The number as one of Python's, still tracked."""
        return ARRAYS.own_number(self)

    tolist = item

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """Itself: NumPy makes an array of a subclass of a number, and a number of that again."""
        if not (ARRAYS.of_subclass(dtype) or ARRAYS.of_subclass(type)):
            raise RefusedError(
                f"a view of a tracked number as {dtype}", where=resolve(here()), remedy="use x.astype(dtype)"
            )
        return self

    def __getitem__(self, key: Any) -> Any:
        return self if key == () else dispatch.call(np.reshape, (self, (1,)), {})[0, ...][key]

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("iteration over a 0-d array")

    def __hash__(self) -> int:  # type: ignore[override]
        if is_abstract(self):
            found = known(self)
            if found is not None:
                return hash(found)
            raise needs_value(
                self,
                "hash(), of the key of a dictionary or a set,",
                "use an array or a list of numbers in the place of the dictionary: np.array(values)[k]; or np.where",
            )
        raise RefusedError(
            f"hash() of a tracked number, as the key of a dictionary or a set (value {grounded(self)})",
            where=resolve(here()),
            remedy="use its plain value: bridge.detach(x)",
        )


def _of_integers(name: str) -> property:
    """What Python's integers have, and floats have not; an integer is tracked only while its value is not known."""

    def get(self: Any) -> Any:
        if self.dtype.kind != "i":
            raise AttributeError(f"'{type(grounded(self)).__name__}' object has no attribute {name!r}")
        raise needs_value(self, f".{name}")

    return property(get)


class WeakScalar(Scalar):
    """A tracked Python float or complex: like Python's own, it does not widen the dtype of what it meets."""

    __slots__ = ()

    shape = ()
    ndim = 0
    size = 1

    @property
    def dtype(self) -> np.dtype[Any]:
        return _DOUBLE if type(self.value) is float else np.result_type(grounded(self.value))

    @property
    def item(self) -> Any:
        # Compiled code that calls it until it gets a number without it would never end.
        raise AttributeError(f"'{type(grounded(self)).__name__}' object has no attribute 'item' or 'tolist'")

    tolist = item
    bit_length, bit_count, to_bytes = map(_of_integers, ("bit_length", "bit_count", "to_bytes"))
    numerator, denominator = map(_of_integers, ("numerator", "denominator"))

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    def __repr__(self) -> str:
        # As a part of a list, it is written as the number of Python's that it stands for.
        note_text(self)
        return unknown_text(self) if is_abstract(self) else repr(grounded(self))

    def copy(self, order: str = "C") -> Scalar:
        """A tracked copy, a number of NumPy's."""
        if OPEN and (found := recorded(WeakScalar.copy, self, order)) is not NOT_RECORDED:
            return found
        value = self.value.copy() if hasattr(self.value, "place") else self.dtype.type(self.value)
        return self.place.context.copied(value, self.place)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A tracked copy in another dtype."""
        return self.copy().astype(dtype, *args, **kwargs)

    def __round__(self, digits: int | None = None) -> Any:
        if digits is None or is_abstract(self):
            rounded = super().__round__(digits)
            return rounded if digits is None else ARRAYS.own_number(rounded)
        # Python rounds the digits that the number would be written with, NumPy what it is times a power of ten.
        return round(grounded(self), digits)


def weak(number: Any, kind: type[WeakScalar] | None = None) -> WeakScalar:
    """A tracked number as one of Python's own, which does not widen what it meets."""
    kind, inner = kind or WeakScalar, number.value
    if hasattr(inner, "place"):
        inner = weak(inner, kind)
    elif isinstance(inner, (np.generic, np.ndarray)):
        inner = inner.item()
    return kind(inner, number.place)


def own_number(number: Any) -> Any:
    """A number, tracked or not, as one of Python's: weak, and a float in double precision."""
    if not hasattr(number, "place"):
        return number.item() if isinstance(number, np.generic) else number
    if is_weak(number) or number.dtype not in _OWN:
        return number
    wide = _OWN[number.dtype]
    return weak(number) if number.dtype == wide else own_number(number.astype(wide))


_KINDS = ((float, "efd"), (complex, "FD"), (np.int64, "bhilqBHI"))
_OWN = {np.dtype(one): np.dtype(kind) for kind, ones in _KINDS for one in ones}
"""The dtypes in which Python's own numbers are computed, by those whose elements `item` makes such numbers of."""


def is_weak(value: Any) -> bool:
    """Whether a tracked number is one of Python's, through every level of nesting."""
    while hasattr(value, "place"):
        if isinstance(value, WeakScalar):
            return True
        value = value.value
    return type(value) in (float, complex)


class Buffer(Tracked, InPlace):
    """A tracked array: NumPy's indexing, operators and functions work on it and are logged.

    Views of a Buffer are Buffers on the same memory. Made by the transforms for every array argument, by
    `Context.buffer`, and by operations on other Buffers.
    """

    __slots__ = ()

    def __len__(self) -> int:
        if not self.value.shape:
            raise TypeError("len() of unsized object")
        return self.value.shape[0]

    def __getitem__(self, key: Any) -> Any:
        place = self.place
        context = place.context
        if context.thread != get_ident():
            context.check_usable()
        if OPEN and (found := recorded_at(key, operator.getitem, self)) is not NOT_RECORDED:
            return found
        if place.depth > DEEP:
            place = shortened(self)
        array = self.value
        if type(key) is slice and type(key.start) in BOUNDS and type(key.stop) in BOUNDS and type(key.step) in BOUNDS:
            value = array[key]
            return shown(value, View(place, key, value))
        if context.lean and is_of_integers(key):
            value = array[key]
            if type(value) is np.ndarray:
                return shown(value, View(place, key, value))
            return context.element(value, place, key, here()) if type(value) in FLOATS else self._copied(value, key)
        if context.home.is_abstract:
            key = context.home.key(key, array.shape)
            if context.home.is_windowed(key):
                return context.home.window(self, key)
        kind = kind_of(key, len(array.shape))
        if kind is ADVANCED:
            if is_abstract_mask(key):
                return context.home.selected(self, key)
            key = frozen(key)
            kind = kind_of(key, len(array.shape))
        value = array[key]
        if kind is VIEW:
            return shown(value, View(place, key, value))
        return self._copied(value, key) if kind is ELEMENT else context.copied(value, Gathered(place, key, value))

    def _copied(self, value: Any, key: Any) -> Any:
        return self.place.context.copied(value, Element(self.place, key, value))

    def __setitem__(self, key: Any, value: Any) -> None:
        assignment.assign(self, key, value)

    __getitem__ = quick(__getitem__, "__getitem__")
    __setitem__ = quick(__setitem__, "__setitem__")

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def view_as(self, offset: int, like: Strides) -> Buffer:
        """The view that starts `offset` bytes after this one and lies as `like` says."""
        self.place.context.check_usable()
        if OPEN and (found := recorded(Buffer.view_as, self, offset, like)) is not NOT_RECORDED:
            return found
        value = self.place.context.memory.view(self.value, offset, like)
        return shown(value, Layout(self.place if self.place.depth < DEEP else shortened(self), (offset, like), value))

    @property
    def T(self) -> Any:
        return dispatch.call(np.transpose, (self,), {})

    @property
    def mT(self) -> Any:
        return dispatch.call(np.matrix_transpose, (self,), {})

    @property
    def strides(self) -> tuple[int, ...]:
        return grounded(self).strides

    @property
    def flags(self) -> Any:
        return AbstractFlags(self) if is_abstract(self) else grounded(self).flags

    @property
    def ctypes(self) -> Any:
        raise self.no_memory("ctypes")

    @property
    def data(self) -> Any:
        raise self.no_memory("data")

    @property
    def base(self) -> Any:
        raise self.no_memory("base")

    def no_memory(self, name: str) -> Any:
        """The error of what would give out memory, which a program may read, or write into, unseen."""
        return noted(
            self,
            RefusedError(
                f"{name} of a tracked array of shape {self.shape}: its memory is not given out",
                where=resolve(here()),
                remedy="ask np.shares_memory(a, b) whose it is; give other code bridge.detach(x), a copy, and code "
                "that writes into it a rule, by bridge.mutating_rule",
            ),
        )

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat.replace(value)

    def view(self, dtype: Any = None, type: Any = None) -> Any:
        """The same memory seen as another dtype, real and complex of one precision only, or as a subclass's."""
        self.place.context.check_usable()
        if ARRAYS.of_subclass(dtype) or ARRAYS.of_subclass(type):
            return ARRAYS.view(self, dtype, type)
        if OPEN and (found := recorded(Buffer.view, self, dtype, type)) is not NOT_RECORDED:
            return found
        seen = views.view_as_dtype(self, dtype)
        return seen if type is None else views.view_as_dtype(seen, type)

    def reshape(self, *shape: Any, order: str = "C", copy: bool | None = None) -> Any:
        given = {"order": order} if copy is None else {"order": order, "copy": copy}
        return dispatch.call(np.reshape, (self, shape[0] if len(shape) == 1 else shape), given)

    def transpose(self, *axes: Any) -> Any:
        return dispatch.call(np.transpose, (self, axes[0] if len(axes) == 1 else axes or None), {})

    def ravel(self, order: str = "C") -> Any:
        return dispatch.call(np.ravel, (self,), {"order": order})

    def flatten(self, order: str = "C") -> Any:
        """A 1-d tracked copy."""
        return self.ravel(order).copy()

    def fill(self, value: Any) -> None:
        """Write one value everywhere."""
        self[...] = value

    def item(self, *index: Any) -> Any:
        """One element as a number of Python's, still tracked."""
        if not index and self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        if len(index) == 1 and isinstance(index[0], (int, np.integer)):
            return ARRAYS.own_number(self.flat[index[0]])
        return ARRAYS.own_number(self[(index[0] if len(index) == 1 else index) if index else (0,) * self.ndim])

    def tolist(self) -> Any:
        """Nested lists of Python's numbers, still tracked; one number if there are no axes."""
        if not self.shape:
            return ARRAYS.own_number(self[()])
        return [part.tolist() if type(part) is Buffer else ARRAYS.own_number(part) for part in self]

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **how: Any) -> None:
        """Sort in place; `how` is `stable`, and since NumPy 2.5 `descending`."""
        self[...] = dispatch.call(np.sort, (self,), {"axis": axis, "kind": kind, **how})

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect") -> None:
        """Partition in place."""
        self[...] = dispatch.call(np.partition, (self, kth), {"axis": axis, "kind": kind})

    def dot(self, other: Any, out: Any = None) -> Any:
        if type(other) is ARRAYS.bounded:
            return np.dot(self, other) if out is None else np.dot(self, other, out)
        return dispatch.call(np.dot, (self, other), {} if out is None else {"out": out})

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at flat indices."""
        dispatch.call(np.put, (self, indices, values), {"mode": mode})

    def tobytes(self, order: str = "C") -> bytes:
        return escape(self, "tobytes()").tobytes(order)


def shown(value: Any, place: Any) -> Buffer:
    """A view of memory that is there already."""
    made = Buffer(value, place)
    root = place.root
    if root.borrowed:
        root.note(made)
    return made


matched_as_array(Buffer)
ARRAYS.shown, ARRAYS.buffer, ARRAYS.scalar, ARRAYS.weak_scalar = shown, Buffer, Scalar, WeakScalar
ARRAYS.own_number, ARRAYS.weak = own_number, weak
