"""Functions of Python's and NumPy's that take functions, which they call read, or hand out elements one by one.

`np.vectorize` calls what it is given element by element.
"""

from __future__ import annotations

import builtins
import functools
import itertools
from collections.abc import Callable, Container
from typing import Any

import numpy as np

from bridge.arrays import creation, dispatch
from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import RefusedError
from bridge.rewind.interpreter import ARRAYS, current_context
from bridge.source import callees
from bridge.source.callees import OF_KIND, SPECIAL
from bridge.source.creating import tracked_array
from bridge.source.iterating import elements
from bridge.source.keeping import any_tracked, holds_tracked


def with_functions(plain: Callable[..., Any], *where: int | str, over: Container[int] = ()) -> Callable[..., Any]:
    """A function that takes functions, at these positions or under these names: they are read.

    They may write into what is iterated over, which is at the positions `over`.
    """

    @functools.wraps(plain, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(callees.of(x) if k in where and callable(x) else x for k, x in enumerate(args))
        args = tuple(_over(x) if k in over else x for k, x in enumerate(args)) if over else args
        kwargs = {name: callees.of(x) if name in where and callable(x) else x for name, x in kwargs.items()}
        return plain(*args, **kwargs)

    return call


def _over(value: Any) -> Any:
    """What a function goes over. That of a length which is not known raises here: `reduce` has another error for it."""
    return iter(value) if type(value) is ARRAYS.bounded else elements(value)


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kwargs: Any) -> Any:
    """`np.piecewise` with functions that are read."""
    read = [callees.of(one) if callable(one) else one for one in funclist]
    if any(map(holds_tracked, read)):
        return dispatch.call(np.piecewise, (x, condlist, read, *args), kwargs)
    return np.piecewise(x, condlist, read, *args, **kwargs)


def _with_elements(plain: Callable[..., Any], first: int = 0) -> Callable[..., Any]:
    """A function that takes elements of arrays, from this position on, when it is asked for the next one."""

    @functools.wraps(plain, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        return plain(*args[:first], *map(elements, args[first:]), **kwargs)

    return call


def _vectorized(made: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of `np.vectorize(f)`: element by element, in NumPy's order."""
    if current_context() is None or not callable(made.pyfunc):
        return made(*args, **kwargs)
    if made.signature is not None or made.excluded or kwargs:
        if any_tracked(args, kwargs):
            raise RefusedError(
                "np.vectorize with signature=, excluded= or keywords, of tracked arrays",
                where=resolve(here()),
                remedy="write the loop, or give it positional arguments only",
            )
        return made(*args, **kwargs)
    f = callees.of(made.pyfunc)
    arrays = np.broadcast_arrays(*(x if is_tracked(x) else tracked_array(x) for x in args))
    shape = np.shape(arrays[0])
    rows = [f(*(x[at] for x in arrays)) for at in np.ndindex(*shape)]
    if not rows:
        return made(*map(np.empty_like, arrays))
    if isinstance(rows[0], tuple):
        return tuple(_gathered(made, list(column), shape, k) for k, column in enumerate(zip(*rows, strict=True)))
    return _gathered(made, rows, shape, 0)


def _gathered(made: Any, values: list[Any], shape: tuple[int, ...], k: int) -> Any:
    dtype = made.otypes[k] if made.otypes else None
    first = values[0]
    if dtype is None and not holds_tracked(values):
        dtype = np.asarray(first).dtype
    found = creation.array(values, dtype) if holds_tracked(values) else np.array(values, dtype)
    return np.reshape(found, shape)[()] if shape == () else np.reshape(found, shape)


SPECIAL.update(
    {
        builtins.map: with_functions(_with_elements(map, 1), 0),
        builtins.filter: with_functions(_with_elements(filter, 1), 0),
        builtins.sorted: with_functions(sorted, "key"),
        functools.reduce: with_functions(functools.reduce, 0, over=(1,)),
        itertools.accumulate: with_functions(itertools.accumulate, 1, "func", over=(0,)),
        itertools.starmap: with_functions(itertools.starmap, 0, over=(1,)),
        np.apply_along_axis: with_functions(np.apply_along_axis, 0, "func1d"),
        np.apply_over_axes: with_functions(np.apply_over_axes, 0, "func"),
        np.piecewise: _piecewise,
        builtins.zip: _with_elements(zip),
        builtins.enumerate: _with_elements(enumerate),
    }
)
OF_KIND[np.vectorize] = _vectorized
