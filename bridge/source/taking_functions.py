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
    """A call of `np.vectorize(f)`: element by element, or slice by slice with a signature, in NumPy's order."""
    if current_context() is None or not callable(made.pyfunc):
        return made(*args, **kwargs)
    f = callees.of(made.pyfunc)
    if made.excluded or kwargs:
        f, args = _of_what_varies(f, made.excluded, args, kwargs)
        if not args and made.signature is None:
            return f()
    if made.signature is not None:
        return _over_slices(made, f, args)
    arrays = np.broadcast_arrays(*(x if is_tracked(x) else tracked_array(x) for x in args))
    shape = np.shape(arrays[0])
    rows = [f(*(x[at] for x in arrays)) for at in np.ndindex(*shape)]
    if not rows:
        return np.vectorize(made.pyfunc, otypes=made.otypes)(*(np.empty(np.shape(x), x.dtype) for x in arrays))
    otypes = made.otypes or ""
    if isinstance(rows[0], tuple):
        return tuple(
            _gathered(list(column), shape, otypes[k : k + 1]) for k, column in enumerate(zip(*rows, strict=True))
        )
    found = _gathered(rows, shape, otypes[:1])
    return found[()] if shape == () else found


def _of_what_varies(
    f: Callable[..., Any], excluded: Container[int | str], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """`f` of the arguments that are not excluded, by position and then by name, and these arguments."""
    numbers = [k for k in range(len(args)) if k not in excluded]
    names = [name for name in kwargs if name not in excluded]

    def of_them(*varying: Any) -> Any:
        given = dict(zip((*numbers, *names), varying, strict=True))
        by_name = {name: given.get(name, x) for name, x in kwargs.items()}
        return f(*(given.get(k, x) for k, x in enumerate(args)), **by_name)

    return of_them, (*(args[k] for k in numbers), *(kwargs[name] for name in names))


def _over_slices(made: Any, f: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A call of `np.vectorize(f, signature=...)`: NumPy cuts slices from arrays of labels, and checks the results."""
    arrays = [x if is_tracked(x) else tracked_array(x) if any_tracked((x,), {}) else np.asanyarray(x) for x in args]
    rows = []

    def recorded(*slices: np.ndarray) -> Any:
        found = f(*(np.ravel(x)[at] for x, at in zip(arrays, slices, strict=True)))
        rows.append(found if isinstance(found, tuple) else (found,))
        blank = tuple(np.zeros(np.shape(one), _dtype(one)) for one in rows[-1])
        return blank if isinstance(found, tuple) else blank[0]

    labels = [np.arange(np.size(x)).reshape(np.shape(x)) for x in arrays]
    blanks = np.vectorize(recorded, otypes=made.otypes, signature=made.signature)(*labels)
    if not rows:
        return blanks
    columns = zip(blanks if isinstance(blanks, tuple) else (blanks,), zip(*rows, strict=True), strict=True)
    found = tuple(_gathered(list(column), blank.shape, blank.dtype) for blank, column in columns)
    return found if isinstance(blanks, tuple) else found[0]


def _dtype(x: Any) -> Any:
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def _gathered(values: list[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """The array of what a function has returned; without a dtype, the first value decides it, as in NumPy."""
    # Its letter: it has no length of texts.
    dtype = dtype or _dtype(values[0]).char
    found = creation.array(values, dtype) if holds_tracked(values) else np.array(values, dtype)
    return np.reshape(found, shape)


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
