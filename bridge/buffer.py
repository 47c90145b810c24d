"""Buffer and Scalar: what a program holds in place of an array or a number while it is differentiated."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from threading import get_ident
from typing import Any

import numpy as np

from bridge import creation, dispatch, views
from bridge.errors import RefusedError
from bridge.escapes import escape
from bridge.flat import Flat
from bridge.indexing import ADVANCED, ELEMENT, VIEW, frozen, kind_of
from bridge.memory import Strides, grounded
from bridge.operators import InPlace, Operators
from bridge.places import Element, Gathered, Layout, Root, View
from bridge.position import here, resolve


class Tracked(Operators):
    """What a Buffer and a Scalar share: a value, the place of that value, operators, NumPy's protocols."""

    __slots__ = ("__weakref__", "place", "value")

    __array_priority__ = 1000.0

    def __init__(self, value: Any, place: Any) -> None:
        self.value = value
        self.place = place

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            if len(inputs) == 1:
                return dispatch.operate_one(ufunc, ufunc, self)
            operate = dispatch.operate_pair if len(inputs) == 2 else dispatch.operate
            return operate(ufunc, ufunc, *inputs)
        return dispatch.ufunc_call(ufunc, method, inputs, kwargs)

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function in creation.WITH_LIKE:
            return creation.like(self.place.context, function, args, kwargs)
        return dispatch.call(function, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(escape(self, "np.asarray(...) or a write into a plain array"), dtype=dtype)

    def __float__(self) -> float:
        return float(escape(self, "float(...), math.* or a write into a plain array"))

    def __int__(self) -> int:
        return int(escape(self, "int(...)"))

    def __complex__(self) -> complex:
        return complex(escape(self, "complex(...)"))

    def __index__(self) -> int:
        return operator.index(escape(self, "an index"))

    def __bool__(self) -> bool:
        self.place.context.check_usable()
        return bool(grounded(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({grounded(self)!r})"

    def __format__(self, spec: str) -> str:
        return format(grounded(self), spec)

    def __str__(self) -> str:
        return str(grounded(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise RefusedError(
            f"a {type(self).__name__} cannot be pickled: it belongs to a context of this process",
            where=resolve(here()),
            remedy="take its value out with bridge.detach(...) first",
        )

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.value.dtype

    @property
    def ndim(self) -> int:
        return len(self.value.shape)

    @property
    def size(self) -> int:
        return grounded(self).size

    @property
    def itemsize(self) -> int:
        return self.value.dtype.itemsize

    @property
    def nbytes(self) -> int:
        return self.size * self.itemsize

    @property
    def real(self) -> Any:
        return dispatch.call(np.real, (self,), {})

    @real.setter
    def real(self, value: Any) -> None:
        self.real[...] = value

    @property
    def imag(self) -> Any:
        return dispatch.call(np.imag, (self,), {})

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag[...] = value

    def copy(self, order: str = "C") -> Any:
        """A tracked copy, on memory of its own."""
        return self.place.context.copied(_copy_of(self.value, order), self.place)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """A tracked copy in another dtype."""
        return dispatch.astype(self, np.dtype(dtype), casting, copy)


def _copy_of(value: Any, order: str) -> Any:
    if isinstance(value, np.generic):
        return value
    return value.copy(order)


class Scalar(Tracked):
    """A tracked number: immutable, a copy of what it was read from."""

    __slots__ = ()

    def item(self) -> Scalar:
        """The number itself, still tracked."""
        return self

    def __getitem__(self, key: Any) -> Any:
        return self if key == () else dispatch.call(np.reshape, (self, (1,)), {})[0, ...][key]

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("iteration over a 0-d array")


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
        array = self.value
        if type(key) is slice:
            value = array[key]
            return Buffer(value, View(place, key, value))
        kind = kind_of(key, len(array.shape))
        if kind is ADVANCED:
            key = frozen(key)
            kind = kind_of(key, len(array.shape))
        value = array[key]
        if kind is VIEW:
            return Buffer(value, View(place, key, value))
        return context.copied(value, (Element if kind is ELEMENT else Gathered)(place, key, value))

    def __setitem__(self, key: Any, value: Any) -> None:
        place = self.place
        if type(value) is Buffer and _is_this_part(value.place, place, key):
            return
        place.context.check_usable()
        array = self.value
        kind = kind_of(key, len(array.shape))
        if kind is ADVANCED:
            key = frozen(key)
            kind = kind_of(key, len(array.shape))
        part = View if kind is VIEW else Element if kind is ELEMENT else Gathered
        dispatch.assign(self, key, part(place, key, array[key]), value)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(np.any(self == value))

    def view_as(self, offset: int, like: Strides) -> Buffer:
        """The view that starts `offset` bytes after this one and lies as `like` says."""
        value = self.place.context.memory.view(self.value, offset, like)
        return Buffer(value, Layout(self.place, (offset, like), value))

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
        return grounded(self).flags

    @property
    def flat(self) -> Flat:
        return Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self.flat[:] = value

    def view(self, dtype: Any = None) -> Any:
        """The same memory seen as another dtype: real and complex of one precision only."""
        return views.view_as_dtype(self, dtype)

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
        """One element, still tracked."""
        if index:
            return (
                self.flat[index[0]]
                if len(index) == 1 and type(index[0]) is int
                else self[index[0] if len(index) == 1 else index]
            )
        if self.size != 1:
            raise ValueError("can only convert an array of size 1 to a Python scalar")
        return self[(0,) * self.ndim]

    def tolist(self) -> list[Any]:
        """Nested lists of tracked numbers."""
        return [part.tolist() if isinstance(part, Buffer) else part for part in self]

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None) -> None:
        """Sort in place."""
        self[...] = dispatch.call(np.sort, (self,), {"axis": axis, "kind": kind})

    def partition(self, kth: Any, axis: int = -1, kind: str = "introselect") -> None:
        """Partition in place."""
        self[...] = dispatch.call(np.partition, (self, kth), {"axis": axis, "kind": kind})

    def dot(self, other: Any) -> Any:
        return dispatch.call(np.dot, (self, other), {})

    def put(self, indices: Any, values: Any, mode: str = "raise") -> None:
        """Write values at flat indices."""
        dispatch.call(np.put, (self, indices, values), {"mode": mode})

    def tobytes(self, order: str = "C") -> bytes:
        return escape(self, "tobytes()").tobytes(order)


def _is_this_part(source: Any, place: Any, key: Any) -> bool:
    """Whether an augmented assignment stores the view that it has just updated."""
    return type(source) is View and source.key is key and source.parent is place


def _dense(value: np.ndarray) -> np.ndarray:
    """Memory without gaps: a root's shadow lies as its memory does."""
    owner = value.base
    if isinstance(owner, np.ndarray) and owner.nbytes == value.nbytes and min(value.strides, default=0) >= 0:
        return value
    return value.copy("K")


def wrap(context: Any, value: Any, active: bool) -> Any:
    """A fresh result as a tracked one; integers, booleans and whatever is no array stay plain numbers."""
    kind = type(value)
    if kind is np.ndarray or kind is Buffer:
        if kind is np.ndarray and value.base is not None:
            value = _dense(value)
        return Buffer(value, Root(context, value, active and value.dtype.kind in "fc"))
    if kind is Scalar or isinstance(value, (np.floating, np.complexfloating)):
        return Scalar(value, Root(context, value, active))
    if isinstance(value, tuple):
        parts = [wrap(context, part, active) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [wrap(context, part, active) for part in value]
    if isinstance(value, np.ndarray):
        return wrap(context, value.view(np.ndarray), active)
    if kind is float or kind is complex:
        return wrap(context, np.result_type(value).type(value), active)
    return value
