"""Operators between plain sparse matrices and tracked values, and methods that ask what they are given for an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.extend import needs, operators, refuse, stand_in
from bridge.rules.sparse_matrices import is_sparse, product, tracked_matrix
from bridge.rules.sparse_stored import DENSE

sparse = needs("scipy.sparse")
spmatrix = sparse.spmatrix

FORMATS = ("csr", "csc", "coo", "bsr", "dia", "lil", "dok")
_KINDS = [getattr(sparse, f"{format}_{kind}") for format in FORMATS for kind in ("array", "matrix")]


@operators(*_KINDS)
def combine(ufunc: Any, x: Any, y: Any) -> Any:
    """An operator between a plain sparse matrix and a tracked value."""
    by_left = sparse.issparse(x)
    plain, other = (x, y) if by_left else (y, x)
    if plain.ndim != 2:
        refuse(f"a sparse array of {plain.ndim} dimensions and a tracked value", "give it two")
    is_product = ufunc is np.multiply and isinstance(plain, spmatrix) and np.ndim(other) > 0
    if ufunc is np.matmul or is_product:
        return product(plain, other) if by_left else np.transpose(product(plain.T, np.transpose(other)))
    matrix = tracked_matrix(plain)
    if ufunc is np.multiply:
        return matrix * other if by_left else other * matrix
    if ufunc is np.add:
        return matrix + other
    if ufunc is np.subtract:
        return matrix - other if by_left else other - matrix
    if ufunc is np.divide and by_left:
        return matrix / other
    refuse(f"{ufunc.__name__} of a {type(x if by_left else y).__name__} and a tracked value", DENSE)


@stand_in(sparse.coo_array.dot)
def dot(matrix: Any, other: Any) -> Any:
    """`matrix.dot(other)` of the format whose own method asks what it is given for an array."""
    return matrix * other if np.ndim(other) == 0 else matrix @ other


@stand_in(sparse.csr_array.multiply, sparse.csr_matrix.multiply, sparse.coo_array.multiply, sparse.dia_array.multiply)
def multiply(matrix: Any, other: Any) -> Any:
    return tracked_matrix(matrix).multiply(other)


@stand_in(sparse.issparse)
def issparse(x: Any) -> bool:
    return is_sparse(x)
