"""Strategies of hypothesis for programs that mutate arrays: layouts, keys, writes, and views that overlap.

`import bridge.strategies` needs hypothesis. What is drawn is reproducible as hypothesis has it: a failing test prints
the smallest arrays and keys that it found.
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from bridge.errors import ArgumentError, EngineNotAvailable

try:
    from hypothesis import strategies as st
    from hypothesis.extra import numpy as of_numpy
except ImportError as error:
    raise EngineNotAvailable(
        "bridge.strategies needs hypothesis, which is not installed", remedy="pip install hypothesis"
    ) from error

__all__ = ["LAYOUTS", "Layout", "Overlap", "arrays", "elements", "keys", "overlapping", "values_for"]

Layout = Literal["C", "F", "strided", "reversed", "offset"]
LAYOUTS: tuple[Layout, ...] = ("C", "F", "strided", "reversed", "offset")
"""How an array may lie: in C's or Fortran's order, as every second element, backwards, or inside of another array."""

Key = Any
Shapes = tuple[int, ...] | st.SearchStrategy[tuple[int, ...]]


def elements(dtype: Any = np.float64, *, low: float = 0.25, high: float = 2.0, negative: bool = True) -> Any:
    """Numbers at which most functions are smooth: of magnitudes between `low` and `high`, exact in 12 bits.

    Parameters
    ----------
    dtype : a float or complex dtype.
    low, high : bounds of the magnitude, of each part of a complex number.
    negative : whether negative ones are among them.

    Returns
    -------
    hypothesis.strategies.SearchStrategy : of Python's floats, or complex numbers.

    Raises
    ------
    ArgumentError : for another dtype, or bounds that leave nothing.
    """
    kind = np.dtype(dtype).kind
    if kind not in "fc":
        raise ArgumentError(f"elements of dtype {np.dtype(dtype)}", remedy="use a float or complex dtype")
    if not 0 <= low < high < math.inf:
        raise ArgumentError(f"low={low}, high={high}", remedy="use 0 <= low < high, both finite")
    first, last = math.ceil(low * _STEPS), math.floor(high * _STEPS)
    sizes = st.integers(first, max(first, last)).map(lambda k: k / _STEPS)
    real = st.builds(lambda size, sign: sign * size, sizes, st.sampled_from((1.0, -1.0))) if negative else sizes
    return real if kind == "f" else st.builds(complex, real, real)


_STEPS = 1024


@st.composite
def arrays(
    draw: st.DrawFn,
    dtype: Any = np.float64,
    shape: Shapes | None = None,
    *,
    layouts: tuple[Layout, ...] = LAYOUTS,
    elements: Any = None,
) -> np.ndarray:
    """Arrays in every layout, as a program may be given them.

    Parameters
    ----------
    dtype : a float or complex dtype.
    shape : of the arrays, or a strategy for it; up to three axes of up to five elements if it is not given.
    layouts : which of `LAYOUTS` are drawn from.
    elements : a strategy for the numbers; `bridge.strategies.elements(dtype)` if it is not given.

    Returns
    -------
    hypothesis.strategies.SearchStrategy : of writeable `numpy.ndarray`s.

    Raises
    ------
    ArgumentError : when a value is drawn, for a layout that there is not.
    """
    unknown = [one for one in layouts if one not in LAYOUTS]
    if unknown or not layouts:
        raise ArgumentError(f"layouts={layouts!r}", remedy=f"use some of {', '.join(map(repr, LAYOUTS))}")
    if shape is None:
        shape = of_numpy.array_shapes(max_dims=3, max_side=5)
    numbers = globals()["elements"](dtype) if elements is None else elements
    plain = draw(of_numpy.arrays(dtype, shape, elements=numbers))
    return laid_out(plain, draw(st.sampled_from(layouts)))


def laid_out(array: np.ndarray, layout: Layout) -> np.ndarray:
    """A copy of an array that lies in another way."""
    if layout == "F":
        return np.array(array, order="F")
    steps = {"C": (1, 0), "strided": (2, 0), "reversed": (-1, 0), "offset": (1, 3)}[layout]
    step, before = steps
    if not array.ndim:
        step = 1
    memory = np.full(before + abs(step) * array.size + 1, 0.5, array.dtype)
    if step == -1:
        view = memory[: array.size][::-1].reshape(array.shape)
        view = np.lib.stride_tricks.as_strided(view, array.shape, view.strides)
    else:
        view = memory[before : before + step * array.size : step].reshape(array.shape)
    view[...] = array
    return view


@st.composite
def keys(draw: st.DrawFn, shape: tuple[int, ...], *, duplicates: bool = True) -> Key:
    """Keys that NumPy takes for an array of this shape: integers, slices, `...`, masks, arrays of integers.

    Parameters
    ----------
    shape : of the array that is indexed.
    duplicates : whether arrays of integers may name an element twice; what such a write leaves there is NumPy's.

    Returns
    -------
    hypothesis.strategies.SearchStrategy : of what may stand between brackets.
    """
    kinds = ["basic", "mask"]
    if shape and all(shape):
        kinds.append("integers")
    kind = draw(st.sampled_from(kinds))
    if kind == "basic":
        return draw(of_numpy.basic_indices(shape))
    if kind == "mask":
        return draw(of_numpy.arrays(bool, shape))
    if duplicates:
        return draw(of_numpy.integer_array_indices(shape, result_shape=of_numpy.array_shapes(max_dims=2, max_side=4)))
    first = draw(st.lists(st.integers(0, shape[0] - 1), max_size=shape[0], unique=True))
    return np.array(first, np.intp)


@st.composite
def values_for(draw: st.DrawFn, array: np.ndarray, key: Key, *, layouts: tuple[Layout, ...] = LAYOUTS) -> Any:
    """What may be assigned to `array[key]`: a number, or an array whose shape NumPy broadcasts to it.

    Parameters
    ----------
    array : what is written into.
    key : where; one of `keys(array.shape)`.
    layouts : as for `arrays`.

    Returns
    -------
    hypothesis.strategies.SearchStrategy : of NumPy arrays and floats.
    """
    whole = np.shape(array[key])
    shape = tuple(draw(st.sampled_from((side, 1))) if side else side for side in whole)
    shape = shape[draw(st.integers(0, len(shape))) :]
    found = draw(arrays(array.dtype, shape, layouts=layouts))
    return found if shape else found[()]


class Overlap(NamedTuple):
    """Two views of one array: `memory[first]` and `memory[second]` have the same shape and share elements."""

    memory: np.ndarray
    first: slice
    second: slice


@st.composite
def overlapping(draw: st.DrawFn, dtype: Any = np.float64, *, most: int = 8) -> Overlap:
    """Two windows of one array that share elements, forwards or backwards, as `x[1:] += x[:-1]` has them.

    Parameters
    ----------
    dtype : a float or complex dtype.
    most : elements of the array along its first axis, at most; at least 2.

    Returns
    -------
    hypothesis.strategies.SearchStrategy : of `Overlap`.
    """
    if most < 2:
        raise ArgumentError(f"most={most}", remedy="use at least 2")
    size = draw(st.integers(2, most))
    length = draw(st.integers(1, size))
    # Windows of more than half of the array share elements wherever they begin.
    starts = st.integers(0, size - length)
    first = draw(starts)
    second = draw(starts.filter(lambda start: abs(start - first) < length))
    memory = draw(arrays(dtype, st.sampled_from(((size,), (size, 2)))))
    return Overlap(memory, _window(draw, first, length), _window(draw, second, length))


def _window(draw: st.DrawFn, start: int, length: int) -> slice:
    if draw(st.booleans()):
        return slice(start, start + length)
    before = start - 1
    return slice(start + length - 1, before if before >= 0 else None, -1)
