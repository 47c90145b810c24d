"""Reference derivatives that owe nothing to this package: finite differences and the complex step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

Function = Callable[..., Any]
Arrays = tuple[np.ndarray, ...]


def replica(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """A writable copy with the same strides, in elements.

    Whether `reshape` aliases depends on strides, so a program run on a contiguous copy
    of a strided argument may be another program.
    """
    array = np.asarray(array)
    kind = array.dtype if dtype is None else np.dtype(dtype)
    if 0 in array.strides or any(step % array.itemsize for step in array.strides):
        return np.array(array, kind, order="K")
    low, high = byte_bounds(array)
    storage = np.zeros(max((high - low) // array.itemsize, 1), kind)
    first = (array.__array_interface__["data"][0] - low) // array.itemsize
    strides = tuple(step // array.itemsize * kind.itemsize for step in array.strides)
    copy = as_strided(storage[first:], array.shape, strides)
    copy[...] = array
    return copy


def replicas(arrays: Sequence[np.ndarray]) -> Arrays:
    return tuple(replica(array) for array in arrays)


def is_differentiable(array: Any) -> bool:
    return np.asarray(array).dtype.kind in "fc"


def wide(array: np.ndarray) -> np.ndarray:
    """The array in double precision, complex if it is complex, integers as they are."""
    kind = array.dtype.kind
    return replica(array, {"f": np.float64, "c": np.complex128}.get(kind, array.dtype))


def directional(
    function: Function, inputs: Sequence[np.ndarray], tangents: Sequence[np.ndarray], largest_step: float = 0.02
) -> float:
    """Derivative of a real `function` along `tangents`, by extrapolated central differences."""

    def difference(step: float) -> float:
        ahead = function(*(_shifted(x, t, step) for x, t in zip(inputs, tangents, strict=True)))
        behind = function(*(_shifted(x, t, -step) for x, t in zip(inputs, tangents, strict=True)))
        return (_real(ahead) - _real(behind)) / (2 * step)

    return _extrapolate(difference, largest_step)


def gradient(function: Function, inputs: Sequence[np.ndarray]) -> Arrays:
    """Gradient with respect to every float or complex input: d/dre + i d/dim for a complex one."""
    found = []
    for position, x in enumerate(inputs):
        if not is_differentiable(x):
            found.append(np.zeros(x.shape))
            continue
        units = (1.0, 1j) if x.dtype.kind == "c" else (1.0,)
        g = np.zeros(x.shape, wide(x).dtype)
        for index in np.ndindex(x.shape):
            for unit in units:
                g[index] += unit * directional(function, inputs, _unit_tangents(inputs, position, index, unit))
        found.append(g)
    return tuple(found)


def complex_step_gradient(function: Function, inputs: Sequence[np.ndarray]) -> Arrays:
    """Gradient of an analytic `function` of real inputs, exact to rounding: Im f(x + ih) / h.

    Squire and Trapp, Using complex variables to estimate derivatives of real functions, SIAM Review 40 (1998).
    """
    step = 1e-40
    found = []
    for position, x in enumerate(inputs):
        g = np.zeros(x.shape)
        for index in np.ndindex(x.shape):
            shifted = [replica(each, np.complex128) for each in inputs]
            shifted[position][index] += 1j * step
            g[index] = np.imag(function(*shifted)) / step
        found.append(g)
    return tuple(found)


def change_of(
    gradient: Callable[..., Any], inputs: Sequence[np.ndarray], tangents: Sequence[np.ndarray], step: float = 1e-4
) -> Arrays:
    """The derivative of a tuple of arrays, `gradient(*inputs)`, along `tangents`: of fourth order in `step`."""

    def at(distance: float) -> Any:
        return gradient(*(_shifted(x, t, distance) for x, t in zip(inputs, tangents, strict=True)))

    near = [(a - b) / (2 * step) for a, b in zip(at(step), at(-step), strict=True)]
    far = [(a - b) / (4 * step) for a, b in zip(at(2 * step), at(-2 * step), strict=True)]
    return tuple((4 * n - f) / 3 for n, f in zip(near, far, strict=True))


def inner(gradients: Sequence[np.ndarray], tangents: Sequence[np.ndarray]) -> float:
    """The derivative along `tangents` that `gradients` predict: Re sum conj(g) t."""
    return float(sum(np.sum(np.real(np.conj(g) * t)) for g, t in zip(gradients, tangents, strict=True)))


def random_tangents(inputs: Sequence[np.ndarray], seed: int = 0) -> Arrays:
    """One random direction for each input, of its shape and dtype; zeros for integers."""
    rng = np.random.default_rng(seed)
    tangents = []
    for x in inputs:
        t = rng.uniform(-1, 1, x.shape) + (1j * rng.uniform(-1, 1, x.shape) if x.dtype.kind == "c" else 0)
        tangents.append(np.asarray(t, x.dtype) if is_differentiable(x) else np.zeros_like(x))
    return tuple(tangents)


def _extrapolate(difference: Callable[[float], float], largest_step: float) -> float:
    """Richardson's extrapolation to step zero; the entry of the table with the least estimated error."""
    best, best_error = np.nan, np.inf
    previous: list[float] = []
    for level in range(7):
        row = [difference(largest_step / 2**level)]
        for order, earlier in enumerate(previous):
            row.append(row[-1] + (row[-1] - earlier) / (4 ** (order + 1) - 1))
        for order in range(1, len(row)):
            error = max(abs(row[order] - row[order - 1]), abs(row[order] - previous[order - 1]))
            if error < best_error:
                best, best_error = row[order], error
        previous = row
    return float(best)


def _unit_tangents(inputs: Sequence[np.ndarray], position: int, index: tuple[int, ...], unit: complex) -> Arrays:
    tangents = tuple(np.zeros(x.shape, wide(x).dtype) for x in inputs)
    tangents[position][index] = unit
    return tangents


def _shifted(x: np.ndarray, tangent: np.ndarray, step: float) -> np.ndarray:
    moved = wide(x)
    if is_differentiable(x):
        moved += step * tangent
    return moved


def _real(value: Any) -> float:
    number = np.asarray(value)
    assert number.dtype.kind != "c", "a reference gradient needs a real function"
    return float(number)
