"""Tracked numbers that the program has made floats of: `float(x)` loses no gradient, and leaves a plain float."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays import buffer
from bridge.arrays.buffer import WeakScalar
from bridge.arrays.labelled_calls import number
from bridge.arrays.tracked import is_tracked
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.memory import grounded
from bridge.rewind.values import is_abstract


class Float(WeakScalar):
    """What `float(x)` of a tracked number gives: the same number, as one of Python's.

    Where it is put into a list, an attribute or an array that outlives the differentiated call, a plain float stays.
    """

    __slots__ = ()


def as_float(*args: Any, **kwargs: Any) -> Any:
    """`float(x)`."""
    if len(args) == 1 and type(args[0]) is ARRAYS.labelled:
        args = (number(args[0], "float()"),)
    if len(args) != 1 or kwargs or not is_tracked(args[0]):
        return float(*args, **kwargs)
    x = args[0]
    x.place.context.check_usable()
    if hasattr(x, "view_as"):
        if x.size != 1:
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        x = x.item()
    if not is_tracked(x) or x.dtype.kind == "c" or not _is_active(x):
        return float(x)
    return own_number(x if x.dtype == np.float64 else x.astype(np.float64))


def own_number(x: Any) -> Any:
    """What `item` gives of a tracked number: what `float` gives, where that is known."""
    found = buffer.own_number(x)
    return weak(found) if is_tracked(found) and found.dtype.kind in "fc" and not is_abstract(found) else found


def weak(x: Any) -> Float:
    """A number of NumPy's as one of Python's, which does not widen what it meets."""
    plain = grounded(x)
    return Float(weak(x.value) if is_tracked(x.value) else getattr(plain, "item", lambda: plain)(), x.place)


def _is_active(x: Any) -> bool:
    while is_tracked(x):
        if x.place.active or is_abstract(x):
            return True
        x = x.value
    return False


ARRAYS.own_number = own_number
