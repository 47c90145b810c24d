"""SciPy's sparse matrices as arguments of Julia functions: taken apart into entries and places, and put together again.

In Julia each is a `SparseMatrixCSC`, whatever its format. What is differentiated are its entries, which are an array
like any other: of a matrix with tracked entries inside of a NumPy program, they are the Buffer.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, CotangentError, with_article
from bridge.extend import TrackedObject
from bridge.transforms.kinds import is_sparse as of_scipy

_LISTS = ("lil", "dok")
"""Formats that keep their entries in Python's lists and dictionaries."""


class SparseParts(NamedTuple):
    """A sparse matrix as leaves.

    `places` says which of the `entries` lies in each of the `rows` and `columns`; None: they are in order. Several may
    lie at one place, whose entry is their sum.
    """

    entries: Any
    rows: Any
    columns: Any
    places: Any
    height: Any
    width: Any


def is_sparse(leaf: Any) -> bool:
    """Whether a leaf is a sparse matrix or array of SciPy's, or one with tracked entries."""
    return of_scipy(leaf) or (isinstance(leaf, TrackedObject) and hasattr(type(leaf), "placed"))


def parts_of(matrix: Any) -> SparseParts:
    """The parts of a sparse matrix; the entries are on its own memory where its format allows."""
    if len(matrix.shape) != 2:
        raise ArgumentError(
            f"an argument is a sparse array of shape {matrix.shape}, which has no counterpart in Julia",
            where=resolve(here()),
            remedy="pass a matrix (x.reshape(-1, 1)) or a dense array (x.toarray())",
        )
    height, width = map(int, matrix.shape)
    tracked = getattr(matrix, "tracked", None)
    if tracked is not None:
        entries, rows, columns = tracked().placed()
        parts = SparseParts(entries, rows, columns, None, height, width)
    elif matrix.format in ("csr", "csc"):
        parts = SparseParts(matrix.data, *_of_compressed(matrix), height, width)
    elif matrix.format == "coo":
        parts = SparseParts(matrix.data, matrix.row, matrix.col, None, height, width)
    elif matrix.format in _LISTS:
        coo = matrix.tocoo()
        parts = SparseParts(coo.data, coo.row, coo.col, None, height, width)
    else:
        numbers = matrix.copy()
        numbers.data = np.arange(1, matrix.data.size + 1).reshape(matrix.data.shape)
        coo = numbers.tocoo()
        parts = SparseParts(np.ravel(matrix.data), coo.row, coo.col, coo.data - 1, height, width)
    _check_places(parts)
    return parts


def _of_compressed(matrix: Any) -> tuple[Any, Any, Any]:
    """Rows, columns and places of compressed rows or columns, whose arrays may be longer than what is stored."""
    counts = np.diff(matrix.indptr)
    along = np.repeat(np.arange(len(counts)), counts)
    indices = matrix.indices[: len(along)]
    places = None if len(along) == len(matrix.data) else np.arange(len(along))
    return (along, indices, places) if matrix.format == "csr" else (indices, along, places)


def _check_places(parts: SparseParts) -> None:
    for name, given, count in (("row", parts.rows, parts.height), ("column", parts.columns, parts.width)):
        if len(given) and not 0 <= np.min(given) <= np.max(given) < count:
            raise ArgumentError(
                f"an argument is a sparse matrix of shape {(parts.height, parts.width)} with an entry in {name} "
                f"{np.max(given) if np.max(given) >= count else np.min(given)}",
                where=resolve(here()),
                remedy="mend its indices: S.check_format() says what is wrong with them",
            )


def like(matrix: Any, entries: Any) -> Any:
    """A sparse matrix of the same class, format and pattern with other entries; None for None."""
    if entries is None:
        return None
    if matrix.format in _LISTS:
        made = matrix.tocoo(copy=True)
        made.data = entries
        return made.asformat(matrix.format)
    made = matrix.copy()
    made.data = np.reshape(entries, matrix.data.shape)
    return made


def entries_along(matrix: Any, tangent: Any) -> Any:
    """The entries of a tangent, in the order of those of its primal; None for None.

    Raises
    ------
    CotangentError : it is no sparse matrix with the format and pattern of the primal.
    """
    if tangent is None:
        return None
    if is_sparse(tangent) and tangent.shape == matrix.shape and tangent.format == matrix.format:
        ours, given = parts_of(matrix), parts_of(tangent)
        if len(ours.entries) == len(given.entries) and all(map(np.array_equal, ours[1:4], given[1:4])):
            return given.entries
    raise CotangentError(
        f"the tangent of a {type(matrix).__name__} is {with_article(type(tangent).__name__)} that does not have its "
        "format and pattern",
        remedy="give one with the same indices: t = S.copy(); t.data = ...",
    )
