"""Sparse matrices whose entries are tracked: what is computed with them, and with plain ones beside tracked values."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import TrackedObject, needs, refuse
from bridge.rules.sparse import PRODUCT
from bridge.rules.sparse_algebra import Made, common, matrix_product, matrix_sum, placed_entries, times_array
from bridge.rules.sparse_stored import DENSE, FORMAT, RESULT, SHARES_TRANSPOSED, SUMS, ZEROS, Stored

sparse = needs("scipy.sparse")
spmatrix = sparse.spmatrix

_EACH = ("sqrt", "sin", "tan", "sinh", "tanh", "arcsin", "arctan", "arcsinh", "arctanh", "expm1", "log1p")


class SparseMatrix(Stored):
    """A sparse matrix with tracked entries, and what is computed with it."""

    def __getattr__(self, name: str) -> Any:
        if name in _EACH:
            function = getattr(np, name)
            return lambda: self._with(function(self.entries))
        return super().__getattr__(name)

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

    conjugate = Stored.conj
    real = property(lambda self: self._with(np.real(self.entries)))
    imag = property(lambda self: self._with(np.imag(self.entries)))

    def power(self, n: Any, dtype: Any = None) -> SparseMatrix:
        if np.ndim(n) or not n > 0:
            refuse(f"power({n}) of a tracked sparse matrix: what is not stored would not stay zero", DENSE)
        raised = self._with(self.entries**n)
        return raised if dtype is None else raised.astype(dtype)

    def dot(self, other: Any) -> Any:
        return self * other if np.ndim(other) == 0 and not is_sparse(other) else self @ other

    def multiply(self, other: Any) -> SparseMatrix:
        """Entry by entry: with a number, an array that broadcasts to the shape of this matrix, or a sparse matrix."""
        if is_sparse(other):
            return self._made(common, tracked_matrix(other), RESULT)
        other = other if hasattr(other, "shape") else np.array(other)
        if not other.shape:
            return self._with(self.entries * other)
        if np.broadcast_shapes(other.shape, self.labels.shape) != self.labels.shape:
            refuse("multiply of a tracked sparse matrix with an array of more rows or columns", DENSE)
        return self._of(times_array(self, other), self.unlike or RESULT)

    def __getitem__(self, key: Any) -> Any:
        picked = (self.labels if self.labels.format in ("csr", "csc") else self.labels.tocsr())[key]
        if sparse.issparse(picked):
            return self._moved(picked)
        return self.entries[int(picked) - 1] if picked else np.zeros((), self.dtype)[()]

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse("an assignment into a sparse matrix with tracked entries", "write its entries before it is made")

    def __neg__(self) -> SparseMatrix:
        return self._with(-self.entries)

    def __abs__(self) -> SparseMatrix:
        return self._with(np.abs(self.entries))

    def __imul__(self, other: Any) -> Any:
        if is_sparse(other) or np.ndim(other):
            return NotImplemented
        self.entries *= other
        return self

    def __itruediv__(self, other: Any) -> Any:
        if is_sparse(other) or np.ndim(other):
            return NotImplemented
        self.entries *= 1 / other
        return self

    def __matmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._made(matrix_product, tracked_matrix(other))
        other = other if hasattr(other, "shape") else np.array(other)
        return product(self, other)

    def __rmatmul__(self, other: Any) -> Any:
        if is_sparse(other):
            return tracked_matrix(other)._made(matrix_product, self)
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
        return self._with(self.entries / other)

    def __pow__(self, exponent: Any) -> SparseMatrix:
        if isinstance(self.labels, spmatrix):
            refuse("** of a tracked sparse matrix, which is a matrix power", "write A @ A")
        return self.power(exponent)

    def __add__(self, other: Any) -> Any:
        if is_sparse(other):
            return self._made(matrix_sum, tracked_matrix(other), RESULT)
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

    def _made(self, operation: Any, other: Any, unlike: str = "") -> SparseMatrix:
        """What an operation makes of this matrix and another one."""
        unlike = next(iter({self.unlike, other.unlike} - {"", RESULT, ZEROS}), unlike or self.unlike or other.unlike)
        return self._of(operation(self, other), unlike)

    @staticmethod
    def _of(made: Made, unlike: str) -> SparseMatrix:
        entries, labels, format = made
        return SparseMatrix(entries, labels, unlike if labels.format == format else FORMAT + format)


def is_sparse(x: Any) -> bool:
    """Whether it is a sparse matrix, plain or tracked."""
    return isinstance(x, SparseMatrix) or sparse.issparse(x)


def tracked_matrix(x: Any) -> Any:
    """A sparse matrix as one with tracked entries: those of a plain one are not its own, for operations with others."""
    if isinstance(x, TrackedObject):
        return x.tracked()
    if x.ndim != 2:
        refuse(f"a sparse array of {x.ndim} dimensions beside tracked values", "give it two")
    if x.format in ("csr", "csc", "coo", "bsr", "dia"):
        labels = x.copy()
        labels.data = np.arange(1, x.data.size + 1).reshape(x.data.shape)
        return over_memory(labels, x.data)
    plain = x.tocoo()
    return from_coordinates(plain.data, plain.row, plain.col, x.shape, x.format, isinstance(x, spmatrix))


def over_memory(labels: Any, data: Any) -> SparseMatrix:
    """The matrix that has these data where `labels` has their numbers, from 1; those that share a place are summed."""
    entries = np.reshape(data, -1)
    if labels.format == "dia" or (labels.format in ("csr", "csc") and labels.has_canonical_format):
        return SparseMatrix(entries, labels)
    placed = labels.tocoo()
    places = placed.row.astype(np.int64) * labels.shape[1] + placed.col
    if len(np.unique(places)) == len(places):
        return SparseMatrix(entries, labels)
    matrix = isinstance(labels, spmatrix)
    given = entries[placed.data - 1], placed.row, placed.col
    summed = from_coordinates(*given, labels.shape, labels.format, matrix)
    return SparseMatrix(summed.entries, summed.labels, SUMS)


def from_coordinates(
    entries: Any, rows: Any, columns: Any, shape: Any, format: str = "coo", matrix: bool = False
) -> SparseMatrix:
    """The matrix of these entries; those that share a place are summed."""
    unlike = "" if format in SHARES_TRANSPOSED else FORMAT + format
    found = placed_entries(entries, rows, columns, shape, "csr" if unlike else format, matrix)
    return SparseMatrix(*found, unlike or (SUMS if format == "coo" and found[0].shape != entries.shape else ""))


def compressed(matrix: Any) -> tuple[Any, Any, Any, tuple[int, int], str]:
    """Entries, indices, indptr, shape and format of the compressed rows or columns of a matrix, plain or tracked."""
    if isinstance(matrix, SparseMatrix) or (isinstance(matrix, TrackedObject) and matrix.format not in ("csr", "csc")):
        return matrix.tracked().compressed()
    if matrix.format not in ("csr", "csc"):
        matrix = matrix.tocsr()
    return matrix.data, matrix.indices, matrix.indptr, matrix.shape, matrix.format


def product(matrix: Any, x: Any) -> Any:
    """The product of a sparse matrix, plain or tracked, with a dense vector or matrix."""
    entries, indices, indptr, shape, format = compressed(matrix)
    return PRODUCT(entries, indices, indptr, x, shape, format)
