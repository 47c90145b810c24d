"""Functions that rearrange elements: new shapes, new orders of axes, flips, and grids.

Most calls return views, which need no rule: a view of a root is the same view of its shadow. The rules
here are for the calls that must copy, and functions that repeat, drop or spread elements are in
`repeating.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, RefusedError, pulls, rule, sum_to_shape


@rule(np.reshape, linear=True, reads=())
def reshape(ct: Any, out: Any, a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Any:
    # With "A", arrays in Fortran order give views; those that are copied are read in C order.
    return np.reshape(ct, a.shape, order="F" if order == "F" else "C")


@rule(np.ravel, linear=True, reads=())
def ravel(ct: Any, out: Any, a: Any, order: str = "C") -> Any:
    if order == "K" and a.ndim > 1:
        raise RefusedError(
            f"np.ravel(order='K') copied an array of shape {a.shape} in an order that its pull does not see",
            remedy="use order='C' or order='F'",
        )
    return np.reshape(ct, a.shape, order="F" if order == "F" else "C")


@rule(np.expand_dims, linear=True, reads=())
def expand_dims(ct: Any, out: Any, a: Any, axis: Any) -> Any:
    return np.reshape(ct, a.shape)


@rule(np.squeeze, linear=True, reads=())
def squeeze(ct: Any, out: Any, a: Any, axis: Any = None) -> Any:
    return np.reshape(ct, a.shape)


def _each_reshaped(cts: Any, arrays: Sequence[Any]) -> tuple[Any, ...]:
    if len(arrays) == 1:
        cts = (cts,)
    return tuple(None if ct is None else np.reshape(ct, np.shape(array)) for ct, array in zip(cts, arrays, strict=True))


@rule(np.atleast_1d, structure="linear", reads=())
def atleast_1d(ct: Any, out: Any, *arys: Any) -> tuple[Any, ...]:
    return _each_reshaped(ct, arys)


@rule(np.atleast_2d, structure="linear", reads=())
def atleast_2d(ct: Any, out: Any, *arys: Any) -> tuple[Any, ...]:
    return _each_reshaped(ct, arys)


@rule(np.atleast_3d, structure="linear", reads=())
def atleast_3d(ct: Any, out: Any, *arys: Any) -> tuple[Any, ...]:
    return _each_reshaped(ct, arys)


@rule(np.transpose, linear=True, reads=("axes",))
def transpose(ct: Any, out: Any, a: Any, axes: Any = None) -> Any:
    return np.transpose(ct, None if axes is None else np.argsort([axis % a.ndim for axis in axes]))


for matrix_transpose in (np.matrix_transpose, np.linalg.matrix_transpose):
    pulls(matrix_transpose, lambda ct, out, x: np.swapaxes(ct, -1, -2), linear=True, reads=())


@rule(np.swapaxes, linear=True, reads=())
def swapaxes(ct: Any, out: Any, a: Any, axis1: int, axis2: int) -> Any:
    return np.swapaxes(ct, axis1, axis2)


@rule(np.moveaxis, linear=True, reads=(), facts=Facts(static=("source", "destination")))
def moveaxis(ct: Any, out: Any, a: Any, source: Any, destination: Any) -> Any:
    return np.moveaxis(ct, destination, source)


@rule(np.rollaxis, linear=True, reads=(), facts=Facts(static=("start",)))
def rollaxis(ct: Any, out: Any, a: Any, axis: int, start: int = 0) -> Any:
    axis = axis % a.ndim
    start = start + a.ndim if start < 0 else start
    return np.moveaxis(ct, start - 1 if axis < start else start, axis)


@rule(np.flip, linear=True, reads=())
def flip(ct: Any, out: Any, m: Any, axis: Any = None) -> Any:
    return np.flip(ct, axis)


@rule(np.fliplr, linear=True, reads=())
def fliplr(ct: Any, out: Any, m: Any) -> Any:
    return np.flip(ct, 1)


@rule(np.flipud, linear=True, reads=())
def flipud(ct: Any, out: Any, m: Any) -> Any:
    return np.flip(ct, 0)


@rule(np.rot90, linear=True, reads=())
def rot90(ct: Any, out: Any, m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Any:
    return np.rot90(ct, -k, axes)


@rule(np.roll, linear=True, reads=("shift",), facts=Facts(static=("shift",), traced=("shift",), indexes=True))
def roll(ct: Any, out: Any, a: Any, shift: Any, axis: Any = None) -> Any:
    return np.roll(ct, np.negative(shift), axis)


@rule(np.copy, linear=True, reads=())
def copy(ct: Any, out: Any, a: Any, order: str = "K", subok: bool = False) -> Any:
    return ct


@rule(np.astype, structure="linear", reads=())
def astype(ct: Any, out: Any, x: Any, dtype: Any, *, copy: bool = True, device: Any = None) -> Any:
    return ct if x.dtype.kind == "c" else np.real(ct)


@rule(np.broadcast_to, linear=True, reads=())
def broadcast_to(ct: Any, out: Any, array: Any, shape: Any, subok: bool = False) -> Any:
    return sum_to_shape(ct, array.shape)


@rule(np.broadcast_arrays, structure="linear", reads=())
def broadcast_arrays(ct: Any, out: Any, *args: Any, subok: bool = False) -> tuple[Any, ...]:
    return tuple(
        None if one is None else sum_to_shape(one, np.shape(array)) for one, array in zip(ct, args, strict=True)
    )


@rule(np.meshgrid, structure="linear", reads=())
def meshgrid(
    ct: Any, out: Any, *xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Any, ...]:
    cotangents = []
    for position, (one, x) in enumerate(zip(ct, xi, strict=True)):
        axis = 1 - position if indexing == "xy" and position < 2 <= len(xi) else position
        others = tuple(k for k in range(len(xi)) if k != axis)
        cotangents.append(None if one is None else np.reshape(np.sum(one, axis=others), np.shape(x)))
    return tuple(cotangents)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 4))
    matrix = rng.normal(size=(3, 4))
    yield from _cases_of_shapes(x, matrix)
    yield from _cases_of_axes(x)
    yield from _cases_of_grids(rng)
    for function in (np.fliplr, np.flipud, np.flip, np.rot90, np.copy, np.matrix_transpose, np.linalg.matrix_transpose):
        yield Case(function, (matrix,))
        yield Case(function, (x[:, ::2],))
    yield Case(np.flip, (x, -1))
    yield Case(np.flip, (x,), {"axis": (0, 2)})
    yield Case(np.rot90, (x, 3), {"axes": (1, 2)})
    yield Case(np.roll, (matrix, 2))
    yield Case(np.roll, (matrix.T, -3), {"axis": 1})
    yield Case(np.roll, (x, (1, 2), (0, -1)))
    yield Case(np.roll, (x, np.array([1, 2])), {"axis": (0, 2)})
    yield Case(np.astype, (matrix, np.float32), tolerance=1e-2)
    yield Case(np.astype, (matrix, np.complex128))
    yield Case(np.astype, (matrix.astype(np.float32), np.float64), tolerance=1e-2)


def _cases_of_shapes(x: np.ndarray, matrix: np.ndarray) -> Iterator[Case]:
    for array in (matrix, matrix.T, matrix[::2], matrix.T + 1j * matrix.T):
        yield Case(np.reshape, (array, -1))
        yield Case(np.reshape, (array, (2, -1)), {"order": "F"})
        yield Case(np.reshape, (array,), {"shape": (2, -1), "copy": True})
        yield Case(np.ravel, (array,))
        yield Case(np.ravel, (array, "F"))
    yield Case(np.reshape, (np.float64(0.5), (1, 1)))
    yield Case(np.reshape, (matrix[:0], (4, 0)))
    yield Case(np.expand_dims, (x[:, ::2], 1))
    yield Case(np.expand_dims, (matrix,), {"axis": (0, -1)})
    yield Case(np.squeeze, (x[:1],))
    yield Case(np.squeeze, (x[:, 1:2, ::2],), {"axis": 1})
    for function in (np.atleast_1d, np.atleast_2d, np.atleast_3d):
        yield Case(function, (matrix[0],))
        yield Case(function, (np.float64(0.5),))
        yield Case(function, (matrix[0, 0], matrix[1], x[0]))
    yield Case(np.broadcast_to, (matrix[:, :1], (2, 3, 4)))
    yield Case(np.broadcast_to, (np.float64(0.5),), {"shape": (2, 2)})
    yield Case(np.broadcast_arrays, (matrix[:, :1], matrix[0], x[0, 0, 0]))


def _cases_of_axes(x: np.ndarray) -> Iterator[Case]:
    yield Case(np.transpose, (x,))
    yield Case(np.transpose, (x, (1, -1, 0)))
    yield Case(np.transpose, (x[:, ::2],), {"axes": np.array([2, 0, 1])})
    yield Case(np.swapaxes, (x, 0, -1))
    yield Case(np.moveaxis, (x, 0, -1))
    yield Case(np.moveaxis, (x, (0, 1), (-1, 0)))
    for axis, start in ((2, 0), (0, 3), (0, 2), (-1, 1), (1, -1)):
        yield Case(np.rollaxis, (x, axis, start))


def _cases_of_grids(rng: np.random.Generator) -> Iterator[Case]:
    x, y, z = rng.normal(size=2), rng.normal(size=3), rng.normal(size=4)
    for options in ({}, {"indexing": "ij"}, {"sparse": True}, {"sparse": True, "indexing": "ij", "copy": False}):
        yield Case(np.meshgrid, (x, y), options)
        yield Case(np.meshgrid, (x, y, z), options)
        yield Case(np.meshgrid, (x,), options)
    yield Case(np.meshgrid, (x[0], y))
