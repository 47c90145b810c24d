"""The array itself: a part of one of static shape, and who computes with it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.arrays.tracked import matched_as_array
from bridge.code_position import here, resolve
from bridge.errors import BridgeError, RefusedError, TraceError
from bridge.rewind.interpreter import ARRAYS
from bridge.rulebook.facts import METHODS
from bridge.signatures import operation_name
from bridge.source.python_functions import SUBSTITUTES
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import number, product
from bridge.xla.regions.affine import Affine

Extents = tuple[Extent | None, ...]

FUNCTIONS: dict[Any, Callable[..., Any]] = {}
"""Who computes a function of these arrays; what is not here is refused."""


BY_FACTS: list[Callable[[Any], Callable[..., Any] | None]] = []
"""Each returns the implementation of a function, if the facts of its rule determine one; else None."""


def knows(*functions: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the decorated function what computes these functions of arrays of run-time length."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        FUNCTIONS.update(dict.fromkeys(functions, function))
        return function

    return register


def _function(function: Any) -> Callable[..., Any]:
    def method(self: Bounded, *args: Any, **kwargs: Any) -> Any:
        return computed(function, (self, *args), kwargs)

    method.__name__ = function.__name__
    method.__doc__ = f"`np.{function.__name__}` of this array."
    return method


class Bounded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array whose length is known only when the program runs.

    Parameters
    ----------
    whole : Buffer of static shape; a view of the program's memory, or memory of its own.
    extents : for each axis the part of it that is there; None where it is all of it.
    source : the array and the key that it is a view of, where it is one.
    """

    __slots__ = ("extents", "source", "whole")

    __array_priority__ = 2000.0
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, whole: Any, extents: Extents, source: Any = None) -> None:
        self.whole, self.extents, self.source = whole, extents, source

    @property
    def trace(self) -> Any:
        return self.whole.place.context.home.trace

    @property
    def lengths(self) -> tuple[Affine, ...]:
        """The shape, as linear forms."""
        both = zip(self.extents, self.whole.shape, strict=True)
        return tuple(Affine.of(size) if one is None else one.length for one, size in both)

    @property
    def shape(self) -> tuple[Any, ...]:
        return tuple(number(self.trace, form) for form in self.lengths)

    @property
    def size(self) -> Any:
        return number(self.trace, product(self.trace, list(self.lengths)))

    @property
    def nbytes(self) -> Any:
        return self.size * self.itemsize

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.whole.dtype
        return dtype

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def ndim(self) -> int:
        return len(self.extents)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method == "__call__":
            return computed(ufunc, inputs, kwargs)
        function = METHODS.get((ufunc, method))
        if function is None or len(inputs) > 1:
            return computed(getattr(ufunc, method), inputs, kwargs)
        return computed(function, inputs, {"axis": 0, **kwargs})

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return computed(function, args, kwargs)

    def __getitem__(self, key: Any) -> Any:
        return FUNCTIONS[operator.getitem](self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        FUNCTIONS[operator.setitem](self, key, value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        raise unknown("np.asarray(...) or a write into a plain array")

    def __len__(self) -> int:
        form = self.lengths[0]
        if form.is_constant:
            return form.constant
        raise unknown("len() as an integer of Python's", "use x.shape[0], which is a traced integer")

    def __iter__(self) -> Iterator[Any]:
        raise unknown("iteration", "use bridge.fori_loop(0, x.shape[0], ...) with indices")

    def __contains__(self, value: Any) -> bool:
        raise unknown("`in`", "use np.any(x == value)")

    def __bool__(self) -> bool:
        raise unknown("a condition (if, while, and, or)", "use bridge.cond or np.where")

    def __float__(self) -> float:
        raise unknown("float()", "use x[0]")

    __int__ = __index__ = __complex__ = __float__

    def __repr__(self) -> str:
        lengths = ", ".join(str(f.constant) if f.is_constant else f"up to {f.bounds()[1]}" for f in self.lengths)
        return f"a traced {self.dtype} array of run-time shape ({lengths})"

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise unknown("pickling")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("place", "view_as"):
            raise AttributeError(name)
        raise unknown(f".{name}")

    T = property(lambda self: computed(np.transpose, (self,), {}))
    mT = property(lambda self: computed(np.matrix_transpose, (self,), {}))
    real = property(lambda self: computed(np.real, (self,), {}))
    imag = property(lambda self: computed(np.imag, (self,), {}))

    sum, prod, mean, var, std = map(_function, (np.sum, np.prod, np.mean, np.var, np.std))
    max, min, argmax, argmin = map(_function, (np.max, np.min, np.argmax, np.argmin))
    any, all, cumsum, cumprod, round = map(_function, (np.any, np.all, np.cumsum, np.cumprod, np.round))
    dot, swapaxes, squeeze, clip = map(_function, (np.dot, np.swapaxes, np.squeeze, np.clip))
    conj = conjugate = _function(np.conj)
    ravel = flatten = _function(np.ravel)

    def transpose(self, *axes: Any) -> Any:
        return computed(np.transpose, (self, axes[0] if len(axes) == 1 else axes or None), {})

    def reshape(self, *shape: Any, **kwargs: Any) -> Any:
        return computed(np.reshape, (self, shape[0] if len(shape) == 1 else shape), kwargs)

    def copy(self, order: str = "C") -> Any:
        """A copy, on memory of its own."""
        return Bounded(self.whole.copy(), self.extents)

    def astype(self, dtype: Any, *args: Any, **kwargs: Any) -> Any:
        """A copy in another dtype."""
        return Bounded(self.whole.astype(dtype, *args, **kwargs), self.extents)

    def update(self, ufunc: np.ufunc, target: Any) -> Any:
        """An augmented assignment of this into a Buffer, which is returned."""
        return computed(ufunc, (target, self), {"out": target})

    def sort(self, axis: int = -1, kind: Any = None, order: Any = None, **how: Any) -> None:
        """Sort in place."""
        self[...] = computed(np.sort, (self, axis, kind, order), how)

    def fill(self, value: Any) -> None:
        """Write one value everywhere."""
        self[...] = value


matched_as_array(Bounded)
ARRAYS.bounded = Bounded
SUBSTITUTES[Bounded] = np.ndarray


def shown(whole: Any, extents: Extents) -> Any:
    """An array of this part of `whole`: a Buffer, if all of it is there."""
    kept = tuple(
        None if one is None or one.is_all_of(size) else one for one, size in zip(extents, np.shape(whole), strict=True)
    )
    return Bounded(whole, kept) if any(kept) else whole


def computed(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function of arrays some of which have a run-time length; RefusedError if nobody knows it of such arrays."""
    own = FUNCTIONS.get(function) or next((found for by in BY_FACTS if (found := by(function)) is not None), None)
    if own is None and isinstance(function, np.ufunc) and not function.signature:
        own = FUNCTIONS[np.ufunc]
        args = (function, *args)
    if own is None:
        raise unknown(operation_name(function))
    try:
        return own(*args, **kwargs)
    except TypeError as error:
        if isinstance(error, BridgeError) or "argument" not in str(error):
            raise
        # The call names arguments that `own` does not have.
        raise unknown(f"{operation_name(function)} called like this") from error


def unknown(how: str, remedy: str | None = None) -> TraceError:
    """The error of a program that needs a length as a plain number, or a function that is not known of such arrays."""
    return TraceError(
        f"{how} of an array whose length is known only when the program runs, like x[i:j], is not known to a program "
        "that is compiled",
        where=resolve(here()),
        remedy=remedy
        or "use elementwise functions, reductions, products and slices of it; or arrays of a fixed length with "
        'np.where; or engine="native"',
    )


def unbounded(how: str, remedy: str) -> TraceError:
    """The error of an array that is made of a length which nobody knows a bound of."""
    return TraceError(
        f"{how} of a length that is known only when the program runs, and has no bound that is known before",
        where=resolve(here()),
        remedy=remedy,
    )


def refused(what: str, remedy: str) -> RefusedError:
    """The error of a call that cannot be made right."""
    return RefusedError(what, where=resolve(here()), remedy=remedy)
