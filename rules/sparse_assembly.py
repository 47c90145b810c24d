"""Sparse matrices that are assembled entry by entry: `lil_matrix` and `dok_matrix` that tracked values are assigned to.

Such a matrix is SciPy's own, of a class under which it is the matrix of an `Assembly`: SciPy's matrix with labels in
the place of the entries, to which SciPy assigns labels, and the entries. It is of its own class again when the
differentiated call is over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from bridge.extend import TrackedObject, as_array, holder, needs, refuse
from bridge.rules.sparse_matrices import SparseMatrix, is_sparse
from bridge.rules.sparse_stored import ZEROS

sparse = needs("scipy.sparse")

_OPERATORS = ("add", "sub", "mul", "matmul", "truediv", "pow", "radd", "rsub", "rmul", "rmatmul", "neg", "abs")
_REFUSED = (
    "bool", "contains", "delitem", "eq", "ge", "gt", "iadd", "imul", "isub", "iter", "itruediv", "le", "len", "lt",
    "ne", "round", "rtruediv",
)  # fmt: skip
_OWN = frozenset({
    "asformat", "assembled", "copy", "dtype", "format", "get_shape", "getformat", "library_class", "ndim", "shape",
    "tocoo", "tocsc", "tocsr", "tracked",
})  # fmt: skip


class Assembly(TrackedObject):
    """Labels from 1 in a matrix of SciPy, and in `parts` the entries that they count."""

    def __init__(self, plain: Any) -> None:
        placed = plain.tocoo()
        self.labels = type(plain)(plain.shape, dtype=np.int64)
        self.dtype, self.parts, self.count = plain.dtype, [], 0
        self.made: dict[str, tuple[Any, Any]] = {}
        self.labels[placed.row, placed.col] = self._next(placed.data)

    def _next(self, values: Any) -> Any:
        self.parts.append(np.ravel(values).astype(self.dtype))
        labels = np.arange(self.count + 1, self.count + 1 + self.parts[-1].size)
        self.count += labels.size
        return labels.reshape(values.shape)

    def write(self, key: Any, value: Any) -> None:
        if is_sparse(value):
            refuse("a sparse matrix assigned into one with tracked entries", "assign its dense array: .toarray()")
        self.labels[key] = self._next(np.copy(as_array(value)))[()]
        self.made = {}

    def read(self, key: Any) -> Any:
        """An entry, or the matrix of several."""
        label = self.labels[key]
        if np.ndim(label) or sparse.issparse(label):
            return self.matrix()[key]
        return self._entries()[int(label) - 1] if label else np.zeros((), self.dtype)[()]

    def _entries(self) -> Any:
        self.parts = [np.concatenate(self.parts)]
        return self.parts[0]

    def matrix(self, format: str = "csr") -> SparseMatrix:
        if format not in self.made:
            labels = self.labels.asformat(format)
            entries = self._entries()[labels.data - 1]
            labels.data = np.arange(1, labels.data.size + 1)
            self.made[format] = entries, labels
        # SciPy stores no zero that is assigned.
        return SparseMatrix(*self.made[format], ZEROS)

    def copy(self) -> Assembly:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__, labels=self.labels.copy(), parts=list(self.parts), made={})
        return made


class OfAssembly:
    """What a matrix does that is assembled of tracked entries: the members of its class, in addition to SciPy's."""

    library_class = property(lambda self: _PLAIN[type(self)])
    assembled: Assembly
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _PLAIN[cls](*args, **kwargs)

    @staticmethod
    def held_for(plain: Any) -> Assembly:
        """What a plain matrix holds from the first tracked value on."""
        return Assembly(plain)

    def __getattribute__(self, name: str) -> Any:
        if name in _OWN or name.startswith("_"):
            return object.__getattribute__(self, name)
        return getattr(self.tracked(), name)

    def tracked(self) -> SparseMatrix:
        return self.assembled.matrix()

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        if format in ("csr", "csc", "coo"):
            return self.assembled.matrix(format).copy()
        return self if format in (None, self.format) and not copy else self.tracked().asformat(format, copy)

    def tocsr(self, copy: bool = False) -> Any:
        return self.asformat("csr")

    def tocsc(self, copy: bool = False) -> Any:
        return self.asformat("csc")

    def tocoo(self, copy: bool = False) -> Any:
        return self.asformat("coo")

    def copy(self) -> Any:
        made = _PLAIN[type(self)](self.shape, dtype=self.dtype)
        made.__class__ = type(self)
        made.__dict__["assembled"] = self.assembled.copy()
        return made

    def __repr__(self) -> str:
        return repr(self.tracked())

    __str__ = __repr__

    def __getitem__(self, key: Any) -> Any:
        return self.assembled.read(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.assembled.write(key, value)


def _operator(name: str) -> Callable[..., Any]:
    def operate(self: OfAssembly, *others: Any) -> Any:
        return getattr(self.tracked(), name)(*others)

    return operate


def _refused(name: str) -> Callable[..., Any]:
    def operate(self: OfAssembly, *others: Any) -> Any:
        refuse(f"{name} of a sparse matrix that is assembled of tracked entries", "write `.tocsr()` first")

    return operate


for _name in _OPERATORS:
    setattr(OfAssembly, f"__{_name}__", _operator(f"__{_name}__"))
for _name in _REFUSED:
    setattr(OfAssembly, f"__{_name}__", _refused(f"__{_name}__"))

_PLAIN: dict[type, Any] = {}
_MEMBERS = {name: member for name, member in vars(OfAssembly).items() if name not in ("__dict__", "__weakref__")}
for _plain in (sparse.lil_array, sparse.lil_matrix, sparse.dok_array, sparse.dok_matrix):
    _made = type(_plain.__name__, (_plain, TrackedObject), _MEMBERS | {"__module__": _plain.__module__})
    _PLAIN[_made] = _plain
    holder(_plain, "assembled")(_made)
