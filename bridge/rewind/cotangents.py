"""Cotangents and tangents that come from outside, and what may receive them."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.errors import CotangentError
from bridge.rewind.memory import in_dtype
from bridge.rewind.rule import Shaped


def places_of(out: Any) -> Any:
    """The roots of an operation's results; None if no gradient can reach them."""
    if isinstance(out, (tuple, list)):
        places = tuple([part.place if getattr(part, "place", None) is not None else None for part in out])
        return places if any(p is not None and p.active for p in places) else None
    place = getattr(out, "place", None)
    return place if place is not None and place.active else None


def numpy_numbers(args: tuple[Any, ...], inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Operands as a function's pull may ask them for shape and dtype: tracked Python numbers as NumPy's."""
    return tuple(
        [
            np.result_type(x).type(x) if place is not None and type(x) in (float, complex) else x
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
