"""Sparse matrices whose entries are tracked, and operators between plain sparse matrices and tracked arrays.

Such a matrix is SciPy's own with labels in place of entries, and the entries: whatever only moves entries (transposes,
slices, changes of format) is done by SciPy to the labels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import TrackedObject, needs, refuse
from bridge.rules.sparse import PRODUCT

sparse = needs("scipy.sparse")
spmatrix = sparse.spmatrix

DENSE = "write `.toarray()` first, or take the plain values with bridge.detach"
# What only moves entries: SciPy does it to the labels. Beside it, what asks for the pattern.
_MOVES = ("asformat", "tocsr", "tocsc", "tocoo", "transpose", "reshape", "getrow", "getcol")
_PATTERN = ("shape", "ndim", "nnz", "size", "format", "indices", "indptr", "row", "col", "has_sorted_indices")
_EACH = ("sqrt", "sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh", "expm1", "log1p")


class SparseMatrix(TrackedObject):
    """A sparse matrix with tracked entries: label `k` stands where `entries[k - 1]` does.

    `labels` is a two-dimensional matrix of SciPy of whole numbers from 1; no place has two of them. `entries` has one
    axis. What is not here is a RefusedError that names it.
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, entries: Any, labels: Any) -> None:
        self.entries = entries
        self.labels = labels if labels.dtype == np.int64 else labels.astype(np.int64)

    def __getattr__(self, name: str) -> Any:
        if name in _PATTERN:
            return getattr(self.labels, name)
        if name in _MOVES:
            return lambda *args, **kwargs: self._labelled(getattr(self.labels, name)(*args, **kwargs))
        if name in _EACH:
            function = getattr(np, name)
            return lambda: SparseMatrix(function(self.entries), self.labels)
        if name.startswith("__") or name in ("place", "entries", "labels"):
            raise AttributeError(name)
        refuse(f"{type(self.labels).__name__}.{name} of a sparse matrix with tracked entries", DENSE)

    def __repr__(self) -> str:
        return f"<{type(self.labels).__name__} of shape {self.labels.shape} with {self.labels.nnz} tracked entries>"

    @property
    def dtype(self) -> Any:
        return self.entries.dtype

    @property
    def data(self) -> Any:
        """The entries in the order of the format; for formats that have them in one axis."""
        if self.labels.format not in ("csr", "csc", "coo"):
            refuse(f".data of a tracked sparse matrix in the format {self.labels.format}", "write `.tocsr().data`")
        if not self._in_order(self.labels.data):
            # From now on the entries lie as they are given: what is written into them is written into the matrix.
            self.entries = self.entries[self.labels.data - 1]
            self.labels = self.labels.copy()
            self.labels.data = np.arange(1, self.labels.data.size + 1)
        return self.entries

    @property
    def T(self) -> SparseMatrix:
        return self._labelled(self.labels.T)

    @property
    def H(self) -> SparseMatrix:
        return self.conj().T

    def compressed(self) -> tuple[Any, Any, Any, tuple[int, int], str]:
        """Entries, indices, indptr, shape and format of the compressed rows or columns."""
        labels = self.labels if self.labels.format in ("csr", "csc") else self.labels.tocsr()
        return self._at(labels.data), labels.indices, labels.indptr, labels.shape, labels.format

    def placed(self) -> tuple[Any, Any, Any]:
        """Entries, rows, columns."""
        labels = self.labels.tocoo()
        return self._at(labels.data), labels.row, labels.col

    def toarray(self) -> Any:
        return self._spread(self.labels.toarray())

    def todense(self) -> Any:
        if isinstance(self.labels, spmatrix):
            refuse("todense() of a tracked sparse matrix, which is a np.matrix", "write `.toarray()`")
        return self.toarray()

    def diagonal(self, k: int = 0) -> Any:
        return self._spread(self.labels.diagonal(k))

    def trace(self, offset: int = 0) -> Any:
        return np.sum(self.diagonal(offset))

    def sum(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        if dtype is not None or out is not None:
            refuse("sum of a tracked sparse matrix with dtype= or out=", "leave them out")
        if axis is None:
            return np.sum(self._at(self.labels.tocoo().data))
        if isinstance(self.labels, spmatrix):
            refuse(
                "sum(axis) of a tracked sparse matrix, which is a np.matrix", "make it a csr_array, or A @ np.ones(n)"
            )
        matrix = self if axis in (1, -1) else self.T
        return matrix @ np.ones(matrix.shape[1], self.dtype)

    def mean(self, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        count = self.labels.shape[0] * self.labels.shape[1] if axis is None else self.labels.shape[axis]
        return self.sum(axis, dtype, out) / count

    def copy(self) -> SparseMatrix:
        return SparseMatrix(np.copy(self.entries), self.labels.copy())

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> SparseMatrix:
        return SparseMatrix(self.entries.astype(dtype), self.labels)

    def conj(self, copy: bool = True) -> SparseMatrix:
        return SparseMatrix(np.conj(self.entries), self.labels)

    conjugate = conj
    real = property(lambda self: SparseMatrix(np.real(self.entries), self.labels))
    imag = property(lambda self: SparseMatrix(np.imag(self.entries), self.labels))

    def power(self, n: Any, dtype: Any = None) -> SparseMatrix:
        if np.ndim(n) or not n > 0:
            refuse(f"power({n}) of a tracked sparse matrix: what is not stored would not stay zero", DENSE)
        raised = SparseMatrix(self.entries**n, self.labels)
        return raised if dtype is None else raised.astype(dtype)

    def dot(self, other: Any) -> Any:
        return self * other if np.ndim(other) == 0 and not is_sparse(other) else self @ other

    def multiply(self, other: Any) -> SparseMatrix:
        """Entry by entry: with a number, an array that broadcasts to the shape of this matrix, or a sparse matrix."""
        if is_sparse(other):
            return _common(self, tracked_matrix(other))
        other = other if hasattr(other, "shape") else np.array(other)
        if np.broadcast_shapes(other.shape, self.labels.shape) != self.labels.shape:
            refuse("multiply of a tracked sparse matrix with an array of more rows or columns", DENSE)
        labels = self.labels if self.labels.format in ("csr", "csc") else self.labels.tocsr()
        entries, rows, columns = SparseMatrix(self.entries, labels).placed()
        if other.shape:
            other = np.reshape(other, (1,) * (2 - other.ndim) + other.shape)
            other = other[0 if other.shape[0] == 1 else rows, 0 if other.shape[1] == 1 else columns]
        return self._placed(entries * other, rows, columns, labels)

    def __getitem__(self, key: Any) -> Any:
        picked = (self.labels if self.labels.format in ("csr", "csc") else self.labels.tocsr())[key]
        if sparse.issparse(picked):
            return self._labelled(picked)
        return self.entries[int(picked) - 1] if picked else np.zeros((), self.dtype)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse("an assignment into a sparse matrix with tracked entries", "write its entries before it is made")

    def __neg__(self) -> SparseMatrix:
        return SparseMatrix(-self.entries, self.labels)

    def __abs__(self) -> SparseMatrix:
        return SparseMatrix(np.abs(self.entries), self.labels)

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(self, tracked_matrix(other))
        other = other if hasattr(other, "shape") else np.array(other)
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return _product(tracked_matrix(other), self)
        other = other if hasattr(other, "shape") else np.array(other)
        return np.transpose(self.T @ np.transpose(other))

    def __mul__(self, other: Any) -> Any:
        if isinstance(self.labels, spmatrix) and (is_sparse(other) or np.ndim(other)):
            return self @ other
        return self.multiply(other)

    def __rmul__(self, other: Any) -> Any:
        if isinstance(self.labels, spmatrix) and (is_sparse(other) or np.ndim(other)):
            return other @ self
        return self.multiply(other)

    def __truediv__(self, other: Any) -> SparseMatrix:
        if is_sparse(other) or np.ndim(other):
            refuse("a tracked sparse matrix divided by a matrix", "multiply by the reciprocal: A.multiply(1 / x)")
        return SparseMatrix(self.entries / other, self.labels)

    def __pow__(self, exponent: Any) -> SparseMatrix:
        if isinstance(self.labels, spmatrix):
            refuse("** of a tracked sparse matrix, which is a matrix power", "write A @ A")
        return self.power(exponent)

    def __add__(self, other: Any) -> Any:
        if is_sparse(other):
            return _sum(self, tracked_matrix(other))
        if np.ndim(other) == 0:
            refuse("the sum of a tracked sparse matrix and a number", DENSE)
        if isinstance(self.labels, spmatrix):
            refuse("the sum of a tracked sparse matrix and an array, which is a np.matrix", "write A.toarray() + x")
        return self.toarray() + other

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + (-other)

    def __rsub__(self, other: Any) -> Any:
        return (-self) + other

    def _labelled(self, labels: Any) -> SparseMatrix:
        return SparseMatrix(self.entries, labels)

    def _at(self, labels: Any) -> Any:
        """The entries of these labels, in their order."""
        return self.entries if self._in_order(labels) else self.entries[labels - 1]

    def _in_order(self, labels: Any) -> bool:
        return labels.size == self.entries.shape[0] and np.array_equal(labels, np.arange(1, labels.size + 1))

    def _spread(self, labels: Any) -> Any:
        """The entries of an array of labels, 0 where there is none."""
        return np.concatenate([np.zeros(1, self.dtype), self.entries])[labels]

    def _placed(self, entries: Any, rows: Any, columns: Any, like: Any) -> SparseMatrix:
        return from_coordinates(entries, rows, columns, like.shape, like.format, isinstance(like, spmatrix))


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix, plain or tracked."""
    return isinstance(x, SparseMatrix) or sparse.issparse(x)


def tracked_matrix(x: Any) -> SparseMatrix:
    """A plain sparse matrix as one whose entries are not its own: for operations with tracked ones."""
    if isinstance(x, SparseMatrix):
        return x
    if x.ndim != 2:
        refuse(f"a sparse array of {x.ndim} dimensions beside tracked values", "give it two")
    plain = x.tocoo()
    return from_coordinates(plain.data, plain.row, plain.col, x.shape, x.format, isinstance(x, spmatrix))


def from_coordinates(
    entries: Any, rows: Any, columns: Any, shape: Any, format: str = "coo", matrix: bool = False
) -> SparseMatrix:
    """The matrix of these entries; those that share a place are summed."""
    places = rows.astype(np.int64) * shape[1] + columns
    distinct, first, inverse = np.unique(places, return_index=True, return_inverse=True)
    count = len(places)
    if len(distinct) < count:
        summing = sparse.csr_array((np.ones(count, entries.dtype), (inverse, np.arange(count))), (len(distinct), count))
        entries = PRODUCT(summing.data, summing.indices, summing.indptr, entries, summing.shape, "csr")
        rows, columns = rows[first], columns[first]
    make = sparse.coo_matrix if matrix else sparse.coo_array
    labels = make((np.arange(1, len(distinct) + 1), (rows, columns)), shape=shape)
    return SparseMatrix(entries, labels.asformat(format if format in ("coo", "csr", "csc") else "csr"))


def _kind(x: SparseMatrix, y: SparseMatrix) -> bool:
    return isinstance(x.labels, spmatrix) and isinstance(y.labels, spmatrix)


def _check_shapes(x: SparseMatrix, y: SparseMatrix) -> None:
    if x.labels.shape != y.labels.shape:
        raise ValueError(f"inconsistent shapes {x.labels.shape} and {y.labels.shape}")


def _sum(x: SparseMatrix, y: SparseMatrix) -> SparseMatrix:
    _check_shapes(x, y)
    parts = zip(x.placed(), y.placed(), strict=True)
    entries, rows, columns = map(np.concatenate, parts)
    format = x.labels.format if x.labels.format == y.labels.format else "csr"
    return from_coordinates(entries, rows, columns, x.labels.shape, format, _kind(x, y))


def _common(x: SparseMatrix, y: SparseMatrix) -> SparseMatrix:
    """The product entry by entry, on the places that both have."""
    _check_shapes(x, y)
    (left, rows, columns), (right, *others) = x.placed(), y.placed()
    width = x.labels.shape[1]
    _, of_x, of_y = np.intersect1d(rows * width + columns, others[0] * width + others[1], True, return_indices=True)
    product = left[of_x] * right[of_y]
    return from_coordinates(product, rows[of_x], columns[of_x], x.labels.shape, "csr", _kind(x, y))


def _product(x: SparseMatrix, y: SparseMatrix) -> SparseMatrix:
    """Every entry of `x` meets the row of `y` that its column names; what falls on one place is summed."""
    if x.labels.shape[1] != y.labels.shape[0]:
        raise ValueError(f"matmul: dimension mismatch of {x.labels.shape} and {y.labels.shape}")
    (left, rows, middle), of_y = x.placed(), y.tocsr()
    start, right = of_y.indptr[middle], of_y.data
    lengths = of_y.indptr[middle + 1] - start
    mine = np.repeat(np.arange(len(rows)), lengths)
    theirs = np.arange(len(mine)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(start, lengths)
    shape = (x.labels.shape[0], y.labels.shape[1])
    entries = left[mine] * right[theirs]
    return from_coordinates(entries, rows[mine], of_y.indices[theirs], shape, x.labels.format, _kind(x, y))


def compressed(matrix: Any) -> tuple[Any, Any, Any, tuple[int, int], str]:
    """Entries, indices, indptr, shape and format of the compressed rows or columns of a matrix, plain or tracked."""
    if isinstance(matrix, SparseMatrix):
        return matrix.compressed()
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    return matrix.data, matrix.indices, matrix.indptr, matrix.shape, matrix.format


def product(matrix: Any, x: Any) -> Any:
    """The product of a sparse matrix, plain or tracked, with a dense vector or matrix."""
    entries, indices, indptr, shape, format = compressed(matrix)
    return PRODUCT(entries, indices, indptr, x, shape, format)
