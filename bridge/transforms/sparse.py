"""SciPy's sparse matrices as arguments of transforms: what to differentiate in their place."""

from __future__ import annotations

import sys
from typing import Any

from bridge.errors import ArgumentError, with_article


def is_sparse(leaf: Any) -> bool:
    """Whether a leaf is a sparse matrix or array of SciPy's."""
    return (
        hasattr(type(leaf), "tocsr")
        and "scipy.sparse" in sys.modules
        and bool(sys.modules["scipy.sparse"].issparse(leaf))
    )


def by_entries(matrix: Any, name: str, why: str) -> ArgumentError:
    """The error for a sparse matrix, `name`d, that cannot be such an argument: `why`."""
    kind, first = type(matrix).__name__, ""
    form, suffix = matrix.format, "array" if kind.endswith("array") else "matrix"
    if form not in _TAKES:
        form, first = "csr", "S = S.tocsr(); "
    made = f"scipy.sparse.{form}_{suffix}({_TAKES[form]}, S.shape)"
    return ArgumentError(
        f"{name} is {with_article(kind)} of shape {matrix.shape}, {why}",
        remedy=f"differentiate by its entries: {first}grad(lambda data: f({made}))(S.data); or leave it out of argnums",
    )


_COMPRESSED = "(data, S.indices, S.indptr)"
_TAKES = {
    "csr": _COMPRESSED,
    "csc": _COMPRESSED,
    "bsr": _COMPRESSED,
    "coo": "(data, S.coords)",
    "dia": "(data, S.offsets)",
}
"""What a constructor takes, by format."""
