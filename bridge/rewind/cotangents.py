"""Arithmetic of cotangents; those that come from outside, and what may receive them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.errors import CotangentError
from bridge.rewind.interpreter import current_context
from bridge.rewind.memory import in_dtype, numpy_number
from bridge.rewind.values import Shaped


def conj(x: Any) -> Any:
    """Complex conjugate; the same object if `x` is real."""
    if type(x) is np.float64 or type(x) is float:
        return x
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return x.conjugate() if type(x) is complex else x
    return np.conj(x) if dtype.kind == "c" else x


def sum_to_shape(ct: Any, shape: tuple[int, ...]) -> Any:
    """Sum `ct` over the axes along which an operand of `shape` was broadcast.

    Returns an array of `shape`; `ct` itself if nothing was broadcast.
    """
    if ct.shape == shape:
        return ct
    if shape == () and type(ct) is np.ndarray:
        return ct.sum()
    extra = len(ct.shape) - len(shape)
    if extra < 0:
        return sum_to_shape(np.reshape(ct, (1,) * -extra + ct.shape), shape)
    axes = tuple(range(extra)) + tuple(
        k + extra for k, length in enumerate(shape) if length == 1 and ct.shape[k + extra] != 1
    )
    return np.sum(ct, axis=axes, keepdims=True).reshape(shape)


def zeros(shape: int | tuple[int, ...], like: Any, dtype: Any = None) -> Any:
    """Zeros of `shape` where `like` lives (tracked if it is tracked), with its dtype unless given.

    In a program that is being compiled they are always tracked: what is added into them may be known only later.
    """
    kind = like.dtype if dtype is None else dtype
    context = current_context()
    if context is not None and not hasattr(like, "place"):
        return context.home.scratch(context, (shape,) if isinstance(shape, int) else shape, kind)
    return np.zeros(shape, kind, like=like) if hasattr(like, "__array_function__") else np.zeros(shape, kind)


def places_of(out: Any) -> Any:
    """The roots of an operation's results; None if no gradient can reach them."""
    if isinstance(out, (tuple, list)):
        places = tuple([part.place if getattr(part, "place", None) is not None else None for part in out])
        return places if any(p is not None and p.active for p in places) else None
    place = getattr(out, "place", None)
    return place if place is not None and place.active else None


_WEAK = frozenset({float, complex})


def numpy_numbers(args: tuple[Any, ...], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands as a function's pull may ask them for shape and dtype: tracked Python numbers as NumPy's."""
    if _WEAK.isdisjoint(map(type, args)):
        return args
    return tuple(
        [
            numpy_number(x) if place is not None and type(x) in (float, complex) else x
            for x, place in zip(args, inputs, strict=True)
        ]
    )


def looks_of(value: Any) -> Any:
    """Shape and dtype of an output that its rule does not read."""
    if isinstance(value, (tuple, list)):
        return tuple(map(looks_of, value))
    return Shaped(value.shape, value.dtype) if hasattr(value, "dtype") else value


def conforming(ct: Any, value: Any, what: str = "cotangent") -> Any:
    """A cotangent in the shape and dtype of its value; CotangentError if it cannot be."""
    if not hasattr(ct, "place"):
        ct = np.array(ct)
    if ct.shape != value.shape:
        raise CotangentError(
            f"the {what} has shape {ct.shape}, its value has shape {value.shape}",
            remedy=f"give an array of shape {value.shape}",
        )
    if ct.dtype.kind not in "fciub" or (ct.dtype.kind == "c" and value.dtype.kind != "c"):
        raise CotangentError(
            f"the {what} has dtype {ct.dtype}, its value has dtype {value.dtype}",
            remedy=f"give an array of dtype {value.dtype}",
        )
    return in_dtype(ct, value.dtype)
