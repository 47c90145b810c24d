"""Products of sparse matrices with vectors: the rule that what SciPy does with sparse matrices is written in.

A matrix enters as the arrays of its compressed rows or columns: `entries` carry gradients, the pattern (`indices`,
`indptr`, `shape`, `format`) does not. Its transpose is the same arrays in the other format.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.extend import Case, Facts, conj, lowering, needs, pulls
from bridge.rules.contractions import fitted

sparse = needs("scipy.sparse")

CLASSES = {"csr": sparse.csr_array, "csc": sparse.csc_array}
OTHER = {"csr": "csc", "csc": "csr"}
PATTERN = Facts(static=("shape", "format"))


def coordinates(indices: Any, indptr: Any, format: str) -> tuple[Any, Any]:
    """Row and column of every entry of compressed rows or columns."""
    along = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    return (along, indices) if format == "csr" else (indices, along)


def matrix_product(entries: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int], format: str) -> Any:
    """The product of a sparse matrix with a vector, or with the columns of a matrix."""
    return CLASSES[format]((entries, indices, indptr), shape=shape) @ x


def outer_at(left, right, indices, indptr, format, dtype):
    """The entries of `left @ right^H` that lie on a pattern."""
    rows, columns = coordinates(indices, indptr, format)
    product = np.take(left, rows, axis=0) * conj(np.take(right, columns, axis=0))
    product = np.sum(product, axis=1) if product.ndim == 2 else product
    return fitted(product, product.shape, dtype)


def _product_by_entries(ct, out, entries, indices, indptr, x, shape, format):
    return outer_at(ct, x, indices, indptr, format, entries.dtype)


def _product_by_x(ct, out, entries, indices, indptr, x, shape, format):
    by_x = PRODUCT(conj(entries), indices, indptr, ct, shape[::-1], OTHER[format])
    return fitted(by_x, x.shape, x.dtype)


PRODUCT = pulls(matrix_product, _product_by_entries, None, None, _product_by_x, facts=PATTERN)


@lowering(matrix_product)
def _(entries, indices, indptr, x, shape, format):
    import jax.numpy as jnp

    rows, columns = coordinates(indices, indptr, format)
    x, entries = jnp.asarray(x), jnp.asarray(entries)
    terms = (entries[:, None] if x.ndim == 2 else entries) * x[columns]
    return jnp.zeros((shape[0], *x.shape[1:]), terms.dtype).at[rows].add(terms)


def cases() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    real = rng.normal(size=6)
    for format in ("csr", "csc"):
        pattern = np.array([0, 2, 1, 2, 0, 3], np.int32), np.array([0, 2, 4, 6], np.int32)
        shape = (3, 4) if format == "csr" else (4, 3)
        for entries in (real, real + 1j * real[::-1]):
            for x in (rng.normal(size=shape[1]), rng.normal(size=(shape[1], 2)), 1j * rng.normal(size=shape[1])):
                yield Case(matrix_product, (entries, *pattern, x, shape, format))
