"""Sparse matrices of SciPy whose data is tracked memory: what is written into that is written into the matrix.

Such a matrix is SciPy's own, with a Buffer as its `data`, and of a class under which its operators and methods are
those of the matrix of tracked entries that the memory holds. Constructors that take `data` as it is make one; and a
plain matrix becomes one when tracked values are written into its data, for the time of the differentiated call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import TrackedObject, holder, is_tracked, known, needs, refuse
from bridge.rules.sparse_matrices import SparseMatrix, is_sparse, over_memory
from bridge.rules.sparse_stored import SHARES_TRANSPOSED

sparse = needs("scipy.sparse")
spmatrix = sparse.spmatrix

FORMATS = ("csr", "csc", "coo", "bsr", "dia")
# What SciPy answers itself, from the pattern alone.
_PATTERN = frozenset({
    "blocksize", "col", "coords", "data", "dtype", "format", "get_shape", "getformat", "getnnz", "has_sorted_indices",
    "indices", "indptr", "labelled", "library_class", "maxprint", "ndim", "nnz", "offsets", "row", "shape", "size",
    "tracked",
})  # fmt: skip
_OWN = frozenset({
    "T", "H", "asformat", "astype", "conj", "conjugate", "copy", "eliminate_zeros", "imag", "real", "sort_indices",
    "sum_duplicates", "tocoo", "tocsc", "tocsr", "transpose",
})  # fmt: skip
_OPERATORS = ("add", "sub", "mul", "matmul", "truediv", "pow", "radd", "rsub", "rmul", "rmatmul", "neg", "abs")
_REFUSED = ("bool", "eq", "ge", "gt", "iter", "le", "len", "lt", "ne", "round", "rtruediv")
REWRITE = "write into its data, or make a matrix of the new entries"


class OfMemory:
    """What a sparse matrix does whose `data` is tracked: the members of its class, beside those of SciPy's.

    No class derives from it, since an object takes only a class that is laid out as its own.
    """

    library_class = property(lambda self: PLAIN[type(self)])
    data: Any
    format: str
    shape: Any
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return PLAIN[cls](*args, **kwargs)

    def __getattribute__(self, name: str) -> Any:
        if name in _PATTERN or name in _OWN or name.startswith("_"):
            return object.__getattribute__(self, name)
        return getattr(self.tracked(), name)

    def labelled(self) -> Any:
        """The matrix with labels in the place of its data."""
        labels = object.__new__(PLAIN[type(self)])
        labels.__dict__.update(self.__dict__)
        labels.data = np.arange(1, np.size(self.data) + 1).reshape(np.shape(self.data))
        return labels

    def tracked(self) -> SparseMatrix:
        """The matrix of tracked entries that the memory holds: it is for the operation that asks."""
        return over_memory(self.labelled(), self.data)

    def __repr__(self) -> str:
        return repr(self.tracked())

    __str__ = __repr__

    @property
    def T(self) -> Any:
        return self.transpose()

    @property
    def H(self) -> Any:
        return self.tracked().H

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        if copy or self.format not in SHARES_TRANSPOSED:
            return self.tracked().transpose(axes, copy)
        return of_memory(self.labelled().transpose(axes), self.data)

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        if format is None or (format == self.format and not copy):
            return self
        if format == "coo" and not copy and self.format in SHARES_TRANSPOSED:
            return of_memory(self.labelled().tocoo(copy=False), self.data)
        return self.tracked().asformat(format, copy)

    def tocsr(self, copy: bool = False) -> Any:
        return self.asformat("csr", copy)

    def tocsc(self, copy: bool = False) -> Any:
        return self.asformat("csc", copy)

    def tocoo(self, copy: bool | None = None) -> Any:
        return self.asformat("coo", self.format != "coo" if copy is None else copy)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Any:
        is_same = not copy and self.data.dtype == np.dtype(dtype)
        return self if is_same else of_memory(self.labelled(), self.data.astype(dtype))

    def conj(self, copy: bool = True) -> Any:
        return of_memory(self.labelled(), np.conj(self.data)) if copy or self.data.dtype.kind == "c" else self

    conjugate = conj

    @property
    def real(self) -> Any:
        return of_memory(self.labelled(), self.data.real)

    @property
    def imag(self) -> Any:
        return of_memory(self.labelled(), self.data.imag)

    def copy(self) -> Any:
        return of_memory(self.labelled().copy(), np.copy(self.data))

    def sum_duplicates(self) -> None:
        like = self.labelled()
        places = like.tocoo()
        if self.format not in ("csr", "csc") or len(set(zip(places.row, places.col, strict=True))) < like.nnz:
            what = f"sum_duplicates of a {type(like).__name__} whose data is tracked memory"
            refuse(what, "call it on a copy: A = A.tocsr(copy=True)")
        self.sort_indices()

    def sort_indices(self) -> None:
        like = self.labelled()
        if like.has_sorted_indices:
            return
        like.indices = like.indices.copy()
        like.sort_indices()
        # SciPy sorts the program's memory. What is logged has the old indices.
        self.data[...] = self.data[like.data - 1]
        self.indices = like.indices
        self.has_sorted_indices = True

    def eliminate_zeros(self) -> None:
        data = known(self.data)
        if data is None or not np.all(data):
            what = f"eliminate_zeros of a {PLAIN[type(self)].__name__} whose data is tracked memory and has zeros"
            refuse(what, "leave it out: zeros change no result; or call it on a copy: A = A.tocsr(copy=True)")

    def __imul__(self, other: Any) -> Any:
        if is_sparse(other) or np.ndim(other):
            return NotImplemented
        self.data *= other
        return self

    def __itruediv__(self, other: Any) -> Any:
        if is_sparse(other) or np.ndim(other):
            return NotImplemented
        self.data *= 1 / other
        return self

    def __iadd__(self, other: Any) -> Any:
        return NotImplemented

    __isub__ = __iadd__

    def __getitem__(self, key: Any) -> Any:
        return self.tracked()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        refuse("an assignment into a sparse matrix with tracked entries", REWRITE)


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: OfMemory, *others: Any) -> Any:
        return getattr(self.tracked(), name)(*others)

    return operate


def _refused(name: str) -> Callable[..., Any]:
    def operate(self: OfMemory, *others: Any) -> Any:
        refuse(f"{name} of a sparse matrix with tracked entries", "write `.toarray()` first")

    return operate


for _name in _OPERATORS:
    setattr(OfMemory, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _REFUSED:
    setattr(OfMemory, f"__{_name}__", _refused(f"__{_name}__"))

PLAIN: dict[type, Any] = {}
OF_PLAIN: dict[type, Any] = {}
_MEMBERS = {name: member for name, member in vars(OfMemory).items() if name not in ("__dict__", "__weakref__")}
for _format in FORMATS:
    for _suffix in ("array", "matrix"):
        _plain = getattr(sparse, f"{_format}_{_suffix}")
        _made = type(_plain.__name__, (_plain, TrackedObject), _MEMBERS | {"__module__": _plain.__module__})
        PLAIN[_made] = _plain
        OF_PLAIN[_plain] = _made
        holder(_plain, "data")(_made)


def of_memory(like: Any, data: Any) -> Any:
    """The matrix with the pattern of `like`, of SciPy, whose data is this memory."""
    if not is_tracked(data):
        like.data = data
        return like
    like.__class__ = OF_PLAIN[type(like)]
    like.__dict__["data"] = data
    return like
