"""Sparse matrices whose entries are tracked: what is stored of them, where, and what only moves it.

Such a matrix is SciPy's own with labels in place of entries, and the entries: whatever only moves entries (transposes,
slices, changes of format) is done by SciPy to the labels.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bridge.extend import TrackedObject, is_tracked, known, refuse

DENSE = "write `.toarray()` first, or take the plain values with bridge.detach"
# What only moves entries: SciPy does it to the labels. Beside it, what asks for the pattern.
_CONVERTS = {"tocsr": "csr", "tocsc": "csc", "tocoo": "coo"}
_MOVES = ("getrow", "getcol")
# What is stored, in SciPy's order: that of a result may be another one than that of its labels.
_STORED = ("nnz", "size", "indices", "indptr", "row", "col", "offsets", "coords", "has_sorted_indices")


# Formats whose transposes show the same data.
SHARES_TRANSPOSED = ("csr", "csc", "coo")

# Why SciPy would store something else.
FORMAT = "in the format "
ZEROS = "of a dense array: what is zero there is not stored"
SUMS = "with several entries at one place"
RESULT = "that an operation has made: sums that are zero are not stored"
_REMEDIES = {
    "": "write `.tocsr()` first, and take that of it",
    ZEROS: "give the entries and their places: csr_array((data, (rows, columns)))",
    SUMS: "give every place one entry",
    RESULT: "take it before the operation, or write `.toarray()`",
}


class Stored(TrackedObject):
    """A sparse matrix with tracked entries: label `k` stands where `entries[k - 1]` does.

    `labels` is a two-dimensional matrix of SciPy of whole numbers from 1; no place has two of them. `entries` has one
    axis, and is nobody else's, unless SciPy's matrices would share their data. `unlike` says why SciPy would store
    something else, if it would: only what does not depend on that is answered. What is not here is a RefusedError
    that names it.
    """

    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    library_class = property(lambda self: type(self.labels))

    def __init__(self, entries: Any, labels: Any, unlike: str = "") -> None:
        self.entries = entries
        self.labels = labels if labels.dtype == np.int64 else labels.astype(np.int64)
        self.unlike = unlike

    def __getattr__(self, name: str) -> Any:
        if name in _STORED:
            return getattr(self._as_stored(name).labels, name)
        if name in _CONVERTS:
            return lambda copy=False: self.asformat(_CONVERTS[name], copy)
        if name in _MOVES:
            return lambda *args, **kwargs: self._moved(getattr(self.labels, name)(*args, **kwargs))
        if name.startswith("__") or name in ("place", "entries", "labels"):
            raise AttributeError(name)
        refuse(f"{type(self.labels).__name__}.{name} of a sparse matrix with tracked entries", DENSE)

    def __repr__(self) -> str:
        return f"<{type(self.labels).__name__} of shape {self.labels.shape} with {self.labels.nnz} tracked entries>"

    @property
    def shape(self) -> Any:
        return self.labels.shape

    @property
    def ndim(self) -> int:
        return 2

    @property
    def format(self) -> str:
        return str(self.unlike.partition(FORMAT)[2] or self.labels.format)

    @property
    def dtype(self) -> Any:
        return self.entries.dtype

    @property
    def data(self) -> Any:
        """The entries as the format has them: what is written into them is written into the matrix."""
        self._put_in_order("data")
        return np.reshape(self.entries, self.labels.data.shape)

    @data.setter
    def data(self, value: Any) -> None:
        self._put_in_order("data")
        if np.shape(value) != self.labels.data.shape:
            refuse(
                f".data of shape {np.shape(value)} for a tracked sparse matrix whose data has shape "
                f"{self.labels.data.shape}",
                "make a matrix of the new entries",
            )
        self.entries = np.reshape(value if is_tracked(value) else np.array(value), -1)

    def tracked(self) -> Self:
        return self

    @property
    def T(self) -> Self:
        return self.transpose()

    def transpose(self, axes: Any = None, copy: bool = False) -> Self:
        labels = self.labels.transpose(axes)
        shares = not copy and labels.format in SHARES_TRANSPOSED
        return type(self)(self.entries, labels, self.unlike) if shares else self._moved(labels)

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Self:
        labels = self.labels.reshape(*shape, order=order)
        shares = not copy and self.labels.format in SHARES_TRANSPOSED
        return type(self)(self.entries, labels, self.unlike) if shares else self._moved(labels)

    def asformat(self, format: str | None, copy: bool = False) -> Self:
        if format is None or (format == self.format and not copy):
            return self
        return self._moved(self.labels.asformat(format), format)

    def copy(self) -> Self:
        return type(self)(np.copy(self.entries), self.labels.copy(), self.unlike)

    def astype(self, dtype: Any, casting: str = "unsafe", copy: bool = True) -> Self:
        return self if not copy and self.dtype == np.dtype(dtype) else self._with(self.entries.astype(dtype))

    def conj(self, copy: bool = True) -> Self:
        return self if not copy and self.dtype.kind != "c" else self._with(np.conj(self.entries))

    def sum_duplicates(self) -> None:
        """Put the entries in SciPy's order; those that share a place are summed since the matrix was made."""
        if self.labels.format not in SHARES_TRANSPOSED:
            refuse(f"sum_duplicates of a tracked {type(self.labels).__name__}", DENSE)
        self.unlike = "" if self.unlike == SUMS else self.unlike
        ordered = self.reordered()
        self.entries, self.labels = ordered.entries, ordered.labels.copy()
        self.labels.sum_duplicates()
        places = self.labels.data - 1
        if self._in_order(self.labels.data):
            return
        self.labels.data = np.arange(1, places.size + 1)
        if self.labels.format == "coo":
            self.entries = self.entries[places]
        else:
            # SciPy sorts its memory, which `.data` may have shown.
            self.entries[...] = self.entries[places]

    def sort_indices(self) -> None:
        if self.labels.format == "coo":
            raise AttributeError(f"'{type(self.labels).__name__}' object has no attribute 'sort_indices'")
        self.sum_duplicates()

    def eliminate_zeros(self) -> None:
        """Store no zeros. Their derivatives are kept: what is stored is found when it matters."""
        self.unlike = self.unlike or RESULT

    def _with(self, entries: Any) -> Self:
        """The matrix of other entries at the same places."""
        return type(self)(entries, self.labels, self.unlike)

    def _moved(self, labels: Any, format: str | None = None) -> Self:
        """The matrix of entries of its own, where these labels are."""
        unlike = self.unlike
        if format is not None and (FORMAT in unlike or (unlike == SUMS and self.format == "coo")):
            unlike = ""
        moved = type(self)(self.entries, labels, unlike)
        found = moved.reordered() if labels.format in SHARES_TRANSPOSED else moved
        found.entries = np.copy(self.entries) if found is moved else found.entries
        return found

    def _as_stored(self, name: str) -> Self:
        """The matrix, if what SciPy would store is known; a RefusedError else."""
        if self.unlike in (ZEROS, RESULT):
            entries = known(self.entries)
            if entries is not None and np.all(entries):
                self.unlike = ""
            elif entries is not None:
                self._drop_zeros(np.asarray(entries))
        if self.unlike:
            refuse(f".{name} of a tracked sparse matrix {self.unlike}", _REMEDIES[self.unlike.partition(FORMAT)[0]])
        return self

    def _drop_zeros(self, entries: Any) -> None:
        placed = self.labels.tocoo()
        kept = entries[placed.data - 1] != 0
        numbers = np.arange(1, np.count_nonzero(kept) + 1)
        self.entries = self.entries[placed.data[kept] - 1]
        made = type(placed)((numbers, (placed.row[kept], placed.col[kept])), shape=self.shape)
        self.labels, self.unlike = made.asformat(self.labels.format), ""

    def _put_in_order(self, name: str) -> None:
        """From now on the entries lie as the format has them."""
        ordered = self._as_stored(name).reordered()
        self.entries, self.labels = ordered.entries, ordered.labels

    def reordered(self) -> Self:
        """The matrix with its entries as the format has them: itself, if they lie so."""
        if self._in_order(np.ravel(self.labels.data)):
            return self
        labels = self.labels.copy()
        labels.data = np.arange(1, self.labels.data.size + 1).reshape(self.labels.data.shape)
        return type(self)(self.entries[np.ravel(self.labels.data) - 1], labels, self.unlike)

    def _at(self, labels: Any) -> Any:
        """The entries of these labels, in their order."""
        return self.entries if self._in_order(labels) else self.entries[labels - 1]

    def _in_order(self, labels: Any) -> bool:
        return labels.size == self.entries.shape[0] and np.array_equal(labels, np.arange(1, labels.size + 1))

    def _spread(self, labels: Any) -> Any:
        """The entries of an array of labels, 0 where there is none."""
        return np.concatenate([np.zeros(1, self.dtype), self.entries])[labels]
