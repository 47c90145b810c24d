"""Functions that repeat, drop or spread elements: tiles, diagonals, triangles, stretches of zeros."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, rule, sum_to_shape, zeros


@rule(np.tile, linear=True, reads=("reps",), facts=Facts(static=("reps",)))
def tile(ct: Any, out: Any, A: Any, reps: Any) -> Any:
    repeats = tuple(int(count) for count in np.atleast_1d(reps))
    ndim = max(len(repeats), A.ndim)
    repeats = (1,) * (ndim - len(repeats)) + repeats
    lengths = (1,) * (ndim - A.ndim) + A.shape
    split = np.reshape(ct, tuple(n for pair in zip(repeats, lengths, strict=True) for n in pair))
    return np.reshape(np.sum(split, axis=tuple(range(0, 2 * ndim, 2))), A.shape)


@rule(np.repeat, linear=True, reads=("repeats",), facts=Facts(shaped_by=("repeats",), indexes=True))
def repeat(ct: Any, out: Any, a: Any, repeats: Any, axis: int | None = None) -> Any:
    flat = axis is None or a.ndim == 0
    shape = (a.size,) if flat else a.shape
    axis = 0 if flat else axis % a.ndim
    if np.size(repeats) == 1:
        split = np.reshape(ct, (*shape[: axis + 1], int(np.max(repeats)), *shape[axis + 1 :]))
        return np.reshape(np.sum(split, axis=axis + 1), a.shape)
    sources = np.repeat(np.arange(shape[axis]), repeats)
    gathered = zeros(shape, like=ct)
    np.add.at(gathered, (slice(None),) * axis + (sources,), ct)
    return np.reshape(gathered, a.shape)


@rule(np.resize, linear=True, reads=(), facts=Facts(static=("new_shape",)))
def resize(ct: Any, out: Any, a: Any, new_shape: Any) -> Any:
    if a.size == 0 or ct.size == 0:
        return zeros(a.shape, like=ct)
    rounds = -(-ct.size // a.size)
    missing = zeros(rounds * a.size - ct.size, like=ct)
    filled = np.concatenate([np.reshape(ct, -1), missing])
    return np.reshape(np.sum(np.reshape(filled, (rounds, a.size)), axis=0), a.shape)


@rule(np.trim_zeros, structure="linear")
def trim_zeros(ct: Any, out: Any, filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    trimmed = range(filt.ndim) if axis is None else np.atleast_1d(axis) % filt.ndim
    first = np.min(np.argwhere(filt), axis=0, initial=filt.size)
    kept = tuple(
        slice(int(first[k]), int(first[k]) + n) if "f" in trim.lower() and k in trimmed and n else slice(n)
        for k, n in enumerate(ct.shape)
    )
    padded = zeros(filt.shape, like=ct)
    padded[kept] = ct
    return padded


def _on_diagonal(ct: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Zeros of `shape` with `ct`, whose last axis runs along the diagonal, on the diagonal of two axes."""
    spread = zeros(shape, like=ct)
    rows = np.arange(ct.shape[-1]) + max(-offset, 0)
    np.moveaxis(spread, (axis1, axis2), (0, 1))[rows, rows + offset] = np.moveaxis(ct, -1, 0)
    return spread


@rule(np.diagonal, linear=True, reads=(), facts=Facts(indexes=True))
def diagonal(ct: Any, out: Any, a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return _on_diagonal(ct, a.shape, offset, axis1, axis2)


@rule(np.diag, linear=True, reads=())
def diag(ct: Any, out: Any, v: Any, k: int = 0) -> Any:
    return np.diagonal(ct, k) if v.ndim == 1 else _on_diagonal(ct, v.shape, k, 0, 1)


@rule(np.diagflat, linear=True, reads=())
def diagflat(ct: Any, out: Any, v: Any, k: int = 0) -> Any:
    return np.reshape(np.diagonal(ct, k), v.shape)


@rule(np.tril, linear=True, reads=())
def tril(ct: Any, out: Any, m: Any, k: int = 0) -> Any:
    return sum_to_shape(np.tril(ct, k), m.shape)


@rule(np.triu, linear=True, reads=())
def triu(ct: Any, out: Any, m: Any, k: int = 0) -> Any:
    return sum_to_shape(np.triu(ct, k), m.shape)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    x, vector = rng.normal(size=(2, 3, 4)), rng.normal(size=4)
    matrix = x[0]
    for reps in (2, (2,), (2, 1, 3), (1, 2), np.array([3, 2]), 0):
        yield Case(np.tile, (matrix, reps))
    yield Case(np.tile, (vector[::2], (2, 2)))
    yield Case(np.tile, (np.float64(0.3), 4))
    for axis in (None, 0, -1):
        yield Case(np.repeat, (matrix.T, 2), {"axis": axis})
    yield Case(np.repeat, (matrix, [2], 1))
    yield Case(np.repeat, (x, np.array([1, 0, 3]), 1))
    yield Case(np.repeat, (vector, [0, 2, 1, 2]))
    yield Case(np.repeat, (np.float64(0.3), 3))
    for shape in ((5, 2), 7, (2, 3, 4), 12, (0, 3)):
        yield Case(np.resize, (matrix.T, shape))
    yield Case(np.resize, (vector[:0], (2,)))
    for trim in ("fb", "f", "b"):
        # Nothing to trim: what is trimmed are zeros, which a finite difference would no longer find.
        yield Case(np.trim_zeros, (vector[::-1], trim))
    for k in (0, 1, -2):
        for function in (np.diag, np.diagflat, np.tril, np.triu):
            yield Case(function, (matrix.T, k))
            yield Case(function, (vector[::2],), {"k": k})
        yield Case(np.tril, (x,), {"k": k})
        yield Case(np.triu, (x + 1j * x, k))
        yield Case(np.diagonal, (x, k))
        yield Case(np.diagonal, (x,), {"offset": k, "axis1": -1, "axis2": 0})
