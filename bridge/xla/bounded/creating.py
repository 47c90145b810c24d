"""Arrays of run-time length from nothing: `np.zeros(k)`, `np.arange(i, j)`."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.rewind.interpreter import current_context
from bridge.rewind.values import concrete_key, is_abstract_integer
from bridge.xla.bounded.bounded import shown, unbounded
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import maximum, number, quotient
from bridge.xla.regions.affine import Affine
from bridge.xla.tracing.compiled_home import WINDOWS
from bridge.xla.tracing.integers import affine_of

_BY_SHAPE = (np.zeros, np.ones, np.empty, np.full)


def sized(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a creation function returns whose shape is known only when the program runs; else NotImplemented."""
    if function is np.arange:
        return _ranged(*map(concrete_key, args), **kwargs)
    if function not in _BY_SHAPE:
        return NotImplemented
    shape, *rest = (kwargs.pop("shape"), *args) if "shape" in kwargs else args
    lengths = concrete_key(tuple(shape) if isinstance(shape, (list, tuple)) else (shape,))
    if not any(map(is_abstract_integer, lengths)):
        return NotImplemented
    trace = _trace()
    static: list[int] = []
    extents: list[Extent | None] = []
    for one in lengths:
        form = affine_of(one)
        low, high = form.bounds()
        if high is None:
            raise unbounded(f"np.{function.__name__}", "bound it: np.minimum(k, 100), or the index of a loop")
        if low is None or low < 0:
            trace.faults.check_not_negative(form)
        static.append(max(0, high))
        extents.append(None if form.is_constant else Extent(Affine.of(0), maximum(trace, Affine.of(0), form)))
    context: Any = current_context()
    fill = rest.pop(0) if function is np.full and rest else kwargs.pop("fill_value", None)
    whole = context.constant_buffer(np.zeros(static, *_dtype(function, fill, rest, kwargs)))
    if function in (np.ones, np.full):
        whole[...] = 1 if function is np.ones else fill
    return shown(whole, tuple(extents))


def _dtype(function: Any, fill: Any, rest: list[Any], kwargs: dict[str, Any]) -> list[Any]:
    given = rest[0] if rest else kwargs.get("dtype")
    if given is None and function is np.full:
        given = np.result_type(getattr(fill, "dtype", type(fill)))
    return [] if given is None else [given]


def _ranged(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Any:
    """`np.arange` of integers, some of them traced."""
    start, stop = (0, start) if stop is None else (start, stop)
    ends = (start, stop)
    integers = all(is_abstract_integer(one) or isinstance(one, (int, np.integer)) for one in ends)
    if not integers or not isinstance(step, (int, np.integer)) or not step or not any(map(is_abstract_integer, ends)):
        return NotImplemented
    trace = _trace()
    first, end = affine_of(start), affine_of(stop)
    apart = end - first if step > 0 else first - end
    length = quotient(trace, maximum(trace, Affine.of(0), apart), abs(int(step)))
    most = length.bounds()[1]
    if most is None:
        raise unbounded("np.arange", "bound it: np.minimum(k, 100)")
    whole = trace.constant_buffer(np.arange(most) * int(step)) + number(trace, first)
    whole = whole if dtype is None else whole.astype(dtype)
    return shown(whole, (Extent(Affine.of(0), length),))


def _trace() -> Any:
    context: Any = current_context()
    return context.home.trace


WINDOWS.sized = sized
