"""Sums and products of sparse matrices with tracked entries: SciPy says where their entries lie, and in what order.

What is given has `labels`, a matrix of SciPy of whole numbers from 1, and `placed()`, entries, rows and columns; what
is returned are the entries of the result, its labels, and the format that SciPy gives it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import needs
from bridge.rules.sparse import PRODUCT

sparse = needs("scipy.sparse")

Made = tuple[Any, Any, str]


def placed_entries(
    entries: Any, rows: Any, columns: Any, shape: Any, format: str, matrix: bool = False
) -> tuple[Any, Any]:
    """Entries and labels of the matrix of these entries; those that share a place are summed."""
    places = rows.astype(np.int64) * shape[1] + columns
    distinct, first, inverse = np.unique(places, return_index=True, return_inverse=True)
    if len(distinct) < len(places):
        entries = _summed(entries, inverse, len(distinct))
        rows, columns = rows[first], columns[first]
    make = sparse.coo_matrix if matrix else sparse.coo_array
    labels = make((np.arange(1, len(distinct) + 1), (rows, columns)), shape=shape)
    return entries, labels.asformat(format)


def _summed(entries: Any, places: Any, count: int) -> Any:
    """Sums of the entries that are at one place, of `count` places."""
    number = len(places)
    summing = sparse.csr_array((np.ones(number, entries.dtype), (places, np.arange(number))), (count, number))
    return PRODUCT(summing.data, summing.indices, summing.indptr, entries, summing.shape, "csr")


def _as_in(like: Any, entries: Any, rows: Any, columns: Any) -> Made:
    """Entries and labels of the matrix of these entries, which lie as those of `like` do, of SciPy."""
    stored = like.tocoo()
    width = like.shape[1]
    at = stored.row.astype(np.int64) * width + stored.col
    order = np.argsort(at)
    places = order[np.searchsorted(at[order], rows.astype(np.int64) * width + columns)]
    labels = type(stored)((np.arange(1, len(at) + 1), (stored.row, stored.col)), shape=like.shape)
    if like.format in ("csr", "csc"):
        labels, marked = like.copy(), labels
        labels.data = marked.data
    return _summed(entries, places, len(at)), labels, like.format


def _check_shapes(x: Any, y: Any) -> None:
    if x.labels.shape != y.labels.shape:
        raise ValueError(f"inconsistent shapes {x.labels.shape} and {y.labels.shape}")


def matrix_sum(x: Any, y: Any) -> Made:
    """Entry by entry, on the places that one of them has."""
    _check_shapes(x, y)
    parts = zip(x.placed(), y.placed(), strict=True)
    return _as_in(x.labels + y.labels, *map(np.concatenate, parts))


def common(x: Any, y: Any) -> Made:
    """The product entry by entry, on the places that both have."""
    _check_shapes(x, y)
    (left, rows, columns), (right, *others) = x.placed(), y.placed()
    width = x.labels.shape[1]
    places = (one.astype(np.int64) * width + other for one, other in ((rows, columns), others))
    _, of_x, of_y = np.intersect1d(*places, True, return_indices=True)
    return _as_in(x.labels.multiply(y.labels), left[of_x] * right[of_y], rows[of_x], columns[of_x])


def times_array(x: Any, array: Any) -> Made:
    """Entry by entry with a dense array that broadcasts to the shape of the matrix."""
    like = x.labels.multiply(np.ones(array.shape, np.int64))
    placed = like.tocoo()
    array = np.reshape(array, (1,) * (2 - array.ndim) + array.shape)
    at = (0 if size == 1 else along for size, along in zip(array.shape, (placed.row, placed.col), strict=True))
    return _as_in(like, x.entries[placed.data - 1] * array[tuple(at)], placed.row, placed.col)


def matrix_product(x: Any, y: Any) -> Made:
    """Every entry of `x` meets the row of `y` that its column names; what falls on one place is summed."""
    if x.labels.shape[1] != y.labels.shape[0]:
        raise ValueError(f"matmul: dimension mismatch of {x.labels.shape} and {y.labels.shape}")
    (left, rows, middle), of_y = x.placed(), y.asformat("csr")
    labels = of_y.labels
    start = labels.indptr[middle]
    lengths = labels.indptr[middle + 1] - start
    mine = np.repeat(np.arange(len(rows)), lengths)
    theirs = np.arange(len(mine)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(start, lengths)
    entries = left[mine] * of_y.entries[labels.data[theirs] - 1]
    return _as_in(x.labels @ y.labels, entries, rows[mine], labels.indices[theirs])
