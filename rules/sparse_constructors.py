"""What makes sparse matrices, of tracked entries: SciPy's own constructors, given labels in place of the entries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import constant_of, is_tracked, needs, refuse, stand_in, without_gradient
from bridge.rules.sparse_matrices import SparseMatrix, from_coordinates, is_sparse, tracked_matrix
from bridge.rules.sparse_memory import of_memory
from bridge.rules.sparse_stored import ZEROS

sparse = needs("scipy.sparse")

_FORMATS = ("csr", "csc", "coo", "bsr", "dia")


class _Labels:
    """Gives labels to entries, as they are met; `entries` are all of them, in the order of their labels."""

    def __init__(self) -> None:
        self.parts: list[Any] = []
        self.count = 0

    def of(self, x: Any) -> Any:
        """`x` with a label in place of each entry: an array, a number, a sparse matrix, a list of these."""
        if x is None:
            return None
        if is_sparse(x):
            matrix = tracked_matrix(x).reordered()
            labels = matrix.labels.copy()
            labels.data = self._next(matrix.entries).reshape(labels.data.shape)
            return labels
        if isinstance(x, (list, tuple)):
            return type(x)(map(self.of, x))
        if not hasattr(x, "shape"):
            x = np.array(x)
        return self._next(x)

    def _next(self, x: Any) -> Any:
        self.parts.append(np.ravel(x))
        labels = np.arange(self.count + 1.0, self.count + 1 + self.parts[-1].size)
        self.count += labels.size
        return labels.reshape(x.shape) if x.shape else labels[0]

    def matrix(self, made: Any, dtype: Any = None, unlike: str = "") -> SparseMatrix:
        """The tracked matrix of what SciPy made of the labels; `unlike` as it has that."""
        if made.ndim != 2:
            refuse(f"a sparse array of {made.ndim} dimensions with tracked entries", "give it two")
        entries = np.concatenate(self.parts)
        entries = entries if dtype is None else entries.astype(dtype)
        placed = made.tocoo()
        kept = placed.data != 0
        labels, rows, columns = np.rint(placed.data[kept]).astype(np.int64), placed.row[kept], placed.col[kept]
        places = rows.astype(np.int64) * made.shape[1] + columns
        if made.format in ("csr", "csc") and kept.all() and len(np.unique(places)) == len(places):
            return SparseMatrix(entries, made, unlike)
        matrix = isinstance(made, sparse.spmatrix)
        found = from_coordinates(entries[labels - 1], rows, columns, made.shape, made.format, matrix)
        return SparseMatrix(found.entries, found.labels, found.unlike or unlike)


def _of_matrix(kind: Any, matrix: Any, dtype: Any) -> Any:
    """The matrix of another class, on the same entries if they are to be of the same dtype."""
    matrix = matrix if dtype is None else matrix.astype(dtype, copy=False)
    if isinstance(matrix, SparseMatrix):
        return SparseMatrix(matrix.entries, kind(matrix.labels), matrix.unlike)
    return of_memory(kind(matrix.labelled()), matrix.data)


def _of_memory(kind: Any, given: tuple[Any, ...], shape: Any, dtype: Any, copy: bool) -> Any:
    """The matrix that takes the tracked memory it is given as its data; None if SciPy copies what it is given."""
    data, *where = given
    by_coordinates = isinstance(where[0], tuple) and not issubclass(kind, (sparse.coo_array, sparse.coo_matrix))
    if by_coordinates or not is_tracked(data) or not data.shape:
        return None
    labels = np.arange(1, data.size + 1).reshape(data.shape)
    like = kind((labels, *without_gradient(tuple(where), f"{kind.__name__} with tracked places", PLACES)), shape=shape)
    if like.ndim != 2 or not np.array_equal(np.ravel(like.data), np.ravel(labels)):
        return None
    data = data if dtype is None or data.dtype == np.dtype(dtype) else data.astype(dtype)
    return of_memory(like, np.copy(data) if copy else np.reshape(data, like.data.shape))


PLACES = "the places of entries must be known: pass plain integers"


def _stands_in_for(kind: Any) -> Callable[..., Any]:
    format = kind.__name__.partition("_")[0]

    def make(
        arg1: Any,
        shape: Any = None,
        dtype: Any = None,
        copy: bool = False,
        *,
        blocksize: Any = None,
        maxprint: Any = None,
    ) -> Any:
        if is_sparse(arg1):
            return _of_matrix(kind, arg1.asformat(format, copy), dtype)
        if isinstance(arg1, tuple):
            shown = _of_memory(kind, arg1, shape, dtype, copy)
            if shown is not None:
                return shown
        plain = constant_of((arg1, shape))
        if plain is not None:
            return kind(plain[0], shape=plain[1], dtype=dtype)
        labels = _Labels()
        if not isinstance(arg1, tuple):
            return labels.matrix(kind(labels.of(arg1), shape=shape), dtype, ZEROS)
        data, *where = arg1
        marked = labels.of(data)
        if format == "coo" or (format != "dia" and len(where) == 1):
            (coordinates,) = where
            coordinates = tuple(map(np.asarray, coordinates))
            make_coo = sparse.coo_matrix if issubclass(kind, sparse.spmatrix) else sparse.coo_array
            return labels.matrix(make_coo((marked, coordinates), shape=shape), dtype).asformat(format)
        return labels.matrix(kind((marked, *map(np.asarray, where)), shape=shape), dtype)

    make.__name__ = make.__qualname__ = kind.__name__
    return make


for _format in _FORMATS:
    for _suffix in ("array", "matrix"):
        _class = getattr(sparse, f"{_format}_{_suffix}")
        stand_in(_class, of_constants=False)(_stands_in_for(_class))


def _refused(kind: Any) -> Callable[..., Any]:
    def make(*args: Any, **kwargs: Any) -> Any:
        refuse(f"{kind.__name__} of tracked entries", "use csr_array or coo_array: ((data, (rows, columns)))")

    return make


for _class in (sparse.lil_array, sparse.lil_matrix, sparse.dok_array, sparse.dok_matrix):
    stand_in(_class)(_refused(_class))


def _marked(function: Any) -> Callable[..., Any]:
    """The stand-in of a function whose first argument has the entries, and which only places them."""

    def place(entries: Any, *args: Any, dtype: Any = None, **kwargs: Any) -> Any:
        what = f"scipy.sparse.{function.__name__} with tracked offsets"
        args, kwargs = without_gradient((args, kwargs), what, "pass bridge.detach(offsets)")
        labels = _Labels()
        return labels.matrix(function(labels.of(entries), *args, **kwargs), dtype)

    place.__name__ = place.__qualname__ = function.__name__
    return place


for _function in (sparse.diags, sparse.diags_array, sparse.spdiags, sparse.block_diag, sparse.tril, sparse.triu):
    stand_in(_function, of_constants=True)(_marked(_function))
for _function in (sparse.hstack, sparse.vstack, sparse.bmat, sparse.block_array):
    stand_in(_function, of_constants=True)(_marked(_function))


@stand_in(sparse.kron, of_constants=True)
def kron(A: Any, B: Any, format: str | None = None) -> SparseMatrix:
    a, b = (tracked_matrix(_as_matrix(x)) for x in (A, B))
    (left, rows, columns), (right, *others) = a.placed(), b.placed()
    entries = np.ravel(np.reshape(left, (-1, 1)) * right)
    rows = np.ravel(np.reshape(rows.astype(np.int64) * b.shape[0], (-1, 1)) + others[0])
    columns = np.ravel(np.reshape(columns.astype(np.int64) * b.shape[1], (-1, 1)) + others[1])
    shape = (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1])
    return from_coordinates(entries, rows, columns, shape, format or "coo", _are_matrices(A, B))


@stand_in(sparse.kronsum, of_constants=True)
def kronsum(A: Any, B: Any, format: str | None = None) -> SparseMatrix:
    a, b = (tracked_matrix(_as_matrix(x)) for x in (A, B))
    eye = sparse.eye if _are_matrices(A, B) else sparse.eye_array
    total = kron(eye(b.shape[0]), a) + kron(b, eye(a.shape[0]))
    return total.asformat(format or "csr")


def _are_matrices(*matrices: Any) -> bool:
    return not any(isinstance(getattr(x, "labels", x), sparse.sparray) for x in matrices)


def _as_matrix(x: Any) -> Any:
    if is_sparse(x):
        return x
    labels = _Labels()
    return labels.matrix(sparse.coo_array(labels.of(x)))
