"""What a Buffer and a Scalar share."""

from __future__ import annotations

import operator
from abc import ABCMeta
from itertools import dropwhile, groupby
from typing import Any

import numpy as np

from bridge.arrays import creation, dispatch, ufuncs
from bridge.arrays.operators import Operators
from bridge.arrays.unknown_text import unknown_text
from bridge.code_position import callers_frame, frames, here, resolve
from bridge.errors import ArgumentError, RefusedError
from bridge.in_c import quick
from bridge.rewind.escapes import escape, note_text, rounds
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded, lies_in_order
from bridge.rewind.tape import NOT_RECORDED, OPEN, recorded
from bridge.rewind.values import concrete, is_abstract, is_of_subclass
from bridge.rulebook.book import GIVING_WAY, read_book

_SEQUENCE = 1 << 5
"""CPython's flag of a class whose objects match `case [a, *rest]`. A class of Python's gets it by being registered."""


class _LikeSequences(metaclass=ABCMeta):  # noqa: B024, there is nothing to override
    __abc_tpflags__ = _SEQUENCE


def matched_as_array(kind: type) -> None:
    """Let objects of a class match the patterns of sequences if NumPy's arrays do: since NumPy 2.5."""
    if np.ndarray.__flags__ & _SEQUENCE:
        _LikeSequences.register(kind)


def is_tracked(value: Any) -> bool:
    """Whether a value is tracked; nothing of it is asked, since an object may say that it has every attribute."""
    return issubclass(type(value), Tracked)


class Tracked(Operators):
    """A value, the place of that value, operators, and NumPy's protocols."""

    __slots__ = ("__weakref__", "place", "value")

    __array_priority__ = 1000.0
    __pandas_priority__ = 10_000

    def __init__(self, value: Any, place: Any) -> None:
        self.value = value
        self.place = place

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__" and not kwargs:
            if len(inputs) == 1:
                return dispatch.operate_one(ufunc, ufunc, self)
            operate = dispatch.operate_pair if len(inputs) == 2 else dispatch.operate
            return operate(ufunc, ufunc, *inputs)
        # An array of a subclass computes itself what it is an operand of.
        if any(type(x) is ARRAYS.bounded or is_of_subclass(x) for x in (*inputs, *(kwargs.get("out") or ()))):
            return NotImplemented
        return ufuncs.ufunc_call(ufunc, method, inputs, kwargs)

    __array_ufunc__ = quick(__array_ufunc__, "__array_ufunc__")

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if ARRAYS.bounded in types or any(getattr(kind, "is_array_of_subclass", False) for kind in types):
            return NotImplemented
        if function in creation.WITH_LIKE:
            return creation.like(self.place.context, function, args, kwargs)
        return dispatch.call(function, args, kwargs)

    __array_function__ = quick(__array_function__, "__array_function__")

    @property
    def __array_namespace__(self) -> Any:
        """What gives `bridge.numpy`, as the Python array API standard has it."""
        if callers_frame().f_globals.get("__name__", "").startswith("xarray."):
            # An element of an array without the standard is a view to xarray, as one of NumPy's is.
            raise AttributeError("__array_namespace__")
        return _namespace

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """Itself: tracked arrays are where NumPy's are."""
        np.empty(0).to_device(device, stream=stream)
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if _asked_by_operator():
            return np.array(None, dtype=object)
        plain = escape(self, "np.asarray(...) or a write into a plain array")
        if copy or not hasattr(self, "view_as") or is_abstract(self) or dtype not in (None, self.dtype):
            return np.array(plain, dtype=dtype)
        # In the plain program this is the array itself.
        return self.place.context.hand_out(self)

    def __float__(self) -> float:
        return float(escape(self, "float(...), math.* or a write into a plain array"))

    def __int__(self) -> int:
        return int(escape(self, "int(...)"))

    def __complex__(self) -> complex:
        return complex(escape(self, "complex(...)"))

    def __index__(self) -> int:
        return operator.index(escape(self, "an index, or what Python counts by,"))

    def __bool__(self) -> bool:
        self.place.context.check_usable()
        return bool(concrete(self, "a condition (if, while, and, or, in)"))

    def __repr__(self) -> str:
        note_text(self)
        return unknown_text(self) if is_abstract(self) else f"{type(self).__name__}({grounded(self)!r})"

    def __format__(self, spec: str) -> str:
        if not rounds(spec):
            note_text(self)
        return unknown_text(self) if is_abstract(self) else format(grounded(self), spec)

    def __str__(self) -> str:
        note_text(self)
        return unknown_text(self) if is_abstract(self) else str(grounded(self))

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

    @shape.setter
    def shape(self, shape: Any) -> None:
        if not is_abstract(self) and self.dtype.kind == "b":
            # A mask, of which masked arrays take a view first.
            shown: Any = np.reshape(self, shape)
            if shown.place.root is self.place.root:
                self.value, self.place = shown.value, shown.place
                return
        raise RefusedError(
            f"the shape of a tracked {type(self).__name__} is set to {shape}: its memory keeps its layout",
            where=resolve(here()),
            remedy="rebind it: x = np.reshape(x, shape), which shares its memory where NumPy's does",
        )

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
        self.place.context.check_usable()
        if OPEN and (found := recorded(Tracked.copy, self, order)) is not NOT_RECORDED:
            return found
        return self.place.context.copied(_copy_of(self.value, order), self.place)

    def astype(
        self, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
    ) -> Any:
        """A tracked copy in another dtype."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype and not copy and lies_in_order(grounded(self), order):
            return self
        if dtype.kind not in "fciub":
            raise ArgumentError(
                f"astype({dtype}) of a tracked array",
                where=resolve(here()),
                remedy="use a float, complex, integer or boolean dtype",
            )
        context = self.place.context
        context.check_usable()
        if OPEN:
            found = recorded(Tracked.astype, self, dtype, order, casting, subok, copy)
            if found is not NOT_RECORDED:
                return found
        value = self.value.astype(dtype, order, casting) if self.shape else self.value.astype(dtype)
        return context.copied(value, self.place) if context.carries(dtype) else context.inactive(value)


def _namespace(*, api_version: Any = None) -> Any:
    """`bridge.numpy`; ValueError for a version of the standard that NumPy has not."""
    np.empty(0).__array_namespace__(api_version=api_version)
    return ARRAYS.namespace


def _asked_by_operator() -> bool:
    """Whether an operator of a class asks that gives way to an operand that is no array (`bridge.extend.operators`)."""
    read_book()
    callers = dropwhile(lambda one: one.f_globals is globals(), frames())
    _, of_library = next(groupby(callers, lambda one: one.f_globals.get("__package__")))
    return any(one.f_code in GIVING_WAY for one in of_library)


def _copy_of(value: Any, order: str) -> Any:
    if isinstance(value, np.generic):
        return value
    return value.copy(order)
