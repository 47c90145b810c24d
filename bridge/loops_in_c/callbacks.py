"""Calls of Python from a loop in C: an expression that is not compiled, computed on tracked copies of its operands.

What the log of the differentiation gets meanwhile is the record of the call. The backward pass walks it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.loops_in_c import memory
from bridge.loops_in_c.kinds import KINDS
from bridge.rewind import strong_zeros
from bridge.rewind.interpreter import ARRAYS
from bridge.rewind.log import Entry
from bridge.rewind.memory import grounded
from bridge.rewind.roots import Root

_GAPS = 8
"""How many times its elements the memory that a copy of an array spans may take."""
_VIEWS = 1000
"""How many arrays of C's are cached."""
_MEMORY, _SHADOW, _MARK, _EXTENTS, _STRIDES = 0, 1, 2, 3, 9
_RECORD = 2000
"""Bytes of a record without arrays, about."""
_ASKED = 1 << 23
"""Bytes of records after which the memory of the machine is checked again."""


class Result(NamedTuple):
    """What an expression gives: a number of a type, or an array with `ndim` axes.

    Attributes
    ----------
    kind : the kind of number.
    type : the type of a number; np.ndarray.
    ndim : the number of axes; None of a number.
    is_contiguous : whether an array lies in C order; else it may lie otherwise.
    ones : the axes of one element.
    """

    kind: str
    type: Any
    ndim: int | None = None
    is_contiguous: bool = True
    ones: frozenset[int] = frozenset()


class Expression(NamedTuple):
    """An expression that Python computes.

    Attributes
    ----------
    function : computes it from its operands, arrays first, then numbers.
    arrays : the kinds and numbers of axes of the arrays.
    numbers : the types of the numbers.
    results : what it gives.
    is_several : whether it gives a tuple or a list.
    """

    function: Callable[..., Any]
    arrays: tuple[tuple[str, int], ...]
    numbers: tuple[type, ...]
    results: tuple[Result, ...]
    is_several: bool


class Record(NamedTuple):
    """One call: the entries of its log, and the places of its operands and results; None where there is no gradient."""

    number: int
    entries: list[Entry]
    operands: list[Any]
    results: list[Any]


class Callbacks:
    """The calls of one run of a loop.

    Parameters
    ----------
    context : the differentiation.
    expressions : what is called.
    active : for each of them which operands carry a gradient.
    """

    def __init__(self, context: Any, expressions: Sequence[Expression], active: Sequence[Sequence[bool]]) -> None:
        self.context, self.expressions, self.active = context, expressions, active
        arrays = max(len(one.arrays) for one in expressions)
        results = max(len(one.results) for one in expressions)
        numbers = max(len(one.numbers) for one in expressions)
        # `Given` of `runtime.h`: memory, shadow, mark, six extents, six strides.
        self.given, self.made = (np.zeros((count + 1, 15), np.int64) for count in (arrays, results))
        self.passed = np.zeros(2 * numbers + 1)
        self.records: list[Record] = []
        self.next = 0
        self.error: BaseException | None = None
        # Bytes since the memory of the machine was checked, and of all records.
        self.bytes = self.recorded = 0
        self.is_full = self.is_marked = self.discards = False
        self.held: list[np.ndarray] = []
        self.views: dict[Any, np.ndarray] = {}

    def begin(self, discards: bool) -> None:
        """A forward pass begins, which may discard the records."""
        self.records.clear()
        self.error, self.bytes, self.is_full = None, 0, False
        self.discards, self.recorded = discards, 0

    def begin_back(self, is_marked: bool) -> None:
        """A backward pass begins; `is_marked` if it passes on where cotangents exist, too."""
        self.error, self.next, self.is_marked = None, len(self.records), is_marked

    def end(self) -> None:
        """A pass is over: raise what Python has raised in it."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    def call(self, number: int) -> int:
        """Compute an expression. Returns 0 if Python has to run the whole iteration."""
        outer, self.context.log = self.context.log, []
        try:
            return self._call(number)
        except Exception:
            # Python raises it, or warns, when it runs the iteration.
            return 0
        except BaseException as error:
            # Ctrl-C, or a signal's handler.
            self.error = error
            return 0
        finally:
            self.context.log = outer

    def _call(self, number: int) -> int:
        one = self.expressions[number]
        rows = self.given[: len(one.arrays)].tolist()
        values = [copied(self._seen(row, _MEMORY, *what)) for row, what in zip(rows, one.arrays, strict=True)]
        self.bytes += sum(value.nbytes for value in values)
        if self.bytes > _ASKED and not self.discards:
            self.bytes = 0
            if not memory.fits(_ASKED):
                self.is_full = True
                return 0
        numbers = [_number(x, kind) for x, kind in zip(self.passed, one.numbers, strict=False)]
        active = self.active[number]
        operands = [
            self._tracked(x) if is_active else x for x, is_active in zip((*values, *numbers), active, strict=True)
        ]
        found = one.function(*operands)
        if isinstance(found, (tuple, list)) != one.is_several:
            return 0
        results = list(found) if one.is_several else [found]
        if len(results) != len(one.results):
            return 0
        self.held = []
        for slot, result, expected in zip(self.made, results, one.results, strict=False):
            plain = grounded(result) if is_tracked(result) else result
            if not _is_as_expected(plain, expected):
                return 0
            array = np.ascontiguousarray(plain)
            slot[_MEMORY] = array.__array_interface__["data"][0]
            slot[_EXTENTS : _EXTENTS + array.ndim] = array.shape
            self.held.append(array)
        if any(active):
            places = [x.place if is_tracked(x) else None for x in operands]
            ends = [x.place if is_tracked(x) and x.place.active else None for x in results]
            self.recorded += _RECORD + 2 * sum(value.nbytes for value in values)
            if not self.discards:
                self.records.append(Record(number, self.context.log, places, ends))
        return 1

    def _tracked(self, value: Any) -> Any:
        """An operand that carries a gradient."""
        if type(value) is float:
            return ARRAYS.weak_scalar(value, Root(self.context, np.float64(value), True))
        root = Root(self.context, value, True)
        return ARRAYS.buffer(value, root) if isinstance(value, np.ndarray) else ARRAYS.scalar(value, root)

    def pull(self, number: int) -> int:
        """Add the cotangents of the operands of the last call that has not been walked back."""
        try:
            self._pull(number)
        except BaseException as error:
            self.error = self.error or error
        return 1

    def _pull(self, number: int) -> None:
        one = self.expressions[number]
        self.next -= 1
        record = self.records[self.next]
        if record.number != number:
            raise RuntimeError(f"the backward pass of a loop in C meets callback {number}, not {record.number}")
        ends = [
            (place, result, row)
            for place, result, row in zip(record.results, one.results, self.made.tolist(), strict=False)
            if place is not None
        ]
        marks: list[Any] = [None] * len(record.operands)
        present: dict[int, Any] = {}
        if self.is_marked:
            for place, result, row in ends:
                place.accumulate(np.where(self._read(row, _MARK, result) != 0, np.nan, 0.0)[()])
            for k, entry, ct in self._backwards(record):
                present[k] = strong_zeros.marked(entry, ct)
            self._again(record)
            marks = [_taken(place) for place in record.operands]
        for place, result, row in ends:
            place.accumulate(self._read(row, _SHADOW, result))
        for k, entry, ct in self._backwards(record):
            if self.is_marked:
                strong_zeros.push_present(entry, ct, present.get(k, []))
            else:
                entry.push(ct)
        self._again(record)
        rows = self.given[: len(one.arrays)].tolist()
        for k, (place, mark) in enumerate(zip(record.operands, marks, strict=True)):
            ct = _taken(place)
            if k >= len(one.arrays):
                at = 2 * (k - len(one.arrays))
                self.passed[at] = 0.0 if ct is None else ct
                self.passed[at + 1] = mark is not None and np.isnan(mark)
                continue
            if ct is not None and rows[k][_SHADOW]:
                self._seen(rows[k], _SHADOW, *one.arrays[k])[...] += ct
            if mark is not None and rows[k][_MARK]:
                self._seen(rows[k], _MARK, *one.arrays[k])[np.isnan(mark)] = 1.0

    def _seen(self, row: list[int], part: int, kind: str, ndim: int) -> np.ndarray:
        """An array of C's."""
        shape, strides = tuple(row[_EXTENTS : _EXTENTS + ndim]), tuple(row[_STRIDES : _STRIDES + ndim])
        return self._view(row[part], shape, strides, kind)

    def _read(self, row: list[int], part: int, result: Result) -> Any:
        """The cotangent of a result, or its mark."""
        shape = tuple(row[_EXTENTS : _EXTENTS + (result.ndim or 0)])
        return self._view(row[part], shape, None, result.kind).copy()[()]

    def _view(self, address: int, shape: tuple[int, ...], strides: tuple[int, ...] | None, kind: str) -> np.ndarray:
        key = address, shape, strides, kind
        found = self.views.get(key)
        if found is None:
            if not address or 0 in shape:
                return np.zeros(shape, KINDS[kind].dtype)
            if len(self.views) > _VIEWS:
                self.views.clear()
            found = self.views[key] = np.asarray(_Interface(address, shape, strides, KINDS[kind].dtype))
        return found

    def _backwards(self, record: Record) -> Any:
        """The entries from the last one, each with its cotangent, after it has been undone."""
        for k in range(len(record.entries) - 1, -1, -1):
            entry = record.entries[k]
            ct = entry.take()
            if entry.overwrites:
                entry.undo()
            if ct is not None:
                yield k, entry, ct
            if entry.activates:
                entry.forget_before()

    def _again(self, record: Record) -> None:
        """After a walk, memory as it was after the call."""
        for entry in record.entries:
            if entry.overwrites:
                entry.undo()
            for root in entry.woken():
                root.active = True


def put(array: Any, key: Any, value: Any) -> Any:
    """A copy of an array with a value at a key."""
    made = array.copy()
    if is_tracked(value) and not is_tracked(made):
        made = ARRAYS.buffer(made, Root(value.place.context, made, False))
    made[key] = value
    return made


def copied(array: np.ndarray) -> np.ndarray:
    """A copy that lies as an array does; an error if the array has large gaps."""
    if array.flags.c_contiguous:
        return array.copy()
    low, high = np.lib.array_utils.byte_bounds(array)
    if high - low > _GAPS * array.nbytes + 4096:
        raise ValueError("large gaps")
    return like(array, array)


def like(values: Any, array: np.ndarray) -> np.ndarray:
    """A copy of some values that lies as an array does."""
    made = np.empty_like(array)
    if made.strides != array.strides:
        low, high = np.lib.array_utils.byte_bounds(array)
        room = np.empty((high - low) // array.itemsize, array.dtype)
        made = np.lib.stride_tricks.as_strided(
            room[(array.ctypes.data - low) // array.itemsize :], array.shape, array.strides
        )
    made[...] = values
    return made


def within(copy: np.ndarray, window: np.ndarray, part: np.ndarray) -> np.ndarray:
    """What `part` shows of `window`, shown of a copy of that window which lies in memory as it does."""
    address = copy.ctypes.data + part.ctypes.data - window.ctypes.data
    return np.asarray(_Interface(address, part.shape, part.strides, part.dtype, copy))


class _Interface:
    """Memory, as NumPy takes it; `owner` is kept alive."""

    def __init__(
        self,
        address: int,
        shape: tuple[int, ...],
        strides: tuple[int, ...] | None,
        dtype: np.dtype[Any],
        owner: object = None,
    ) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "version": 3, "data": (address, False), "shape": shape, "strides": strides, "typestr": dtype.str,
        }  # fmt: skip


def _number(value: float, kind: Any) -> Any:
    """A number that C has passed."""
    if kind is float or issubclass(kind, np.floating):
        return kind(value)
    return kind(int(np.float64(value).view(np.int64)))


def _is_as_expected(plain: Any, expected: Result) -> bool:
    """Whether a result is what the compiled code takes it for."""
    if type(plain) is not expected.type:
        return False
    if expected.ndim is None:
        return type(plain) is not int or abs(plain) < 1 << 31
    is_alike = plain.dtype == KINDS[expected.kind].dtype and plain.ndim == expected.ndim
    is_alike = is_alike and all(plain.shape[axis] == 1 for axis in expected.ones)
    return is_alike and (plain.flags.c_contiguous or not expected.is_contiguous)


def _taken(place: Any) -> Any:
    """The shadow of an operand, which is forgotten."""
    if place is None or place.root.shadow is None:
        return None
    ct = place.take()
    place.root.shadow = None
    return ct


def _of_run(run: Any, number: int) -> int:
    found: int = run.callbacks.call(number)
    return found


def _back_of_run(run: Any, number: int) -> int:
    found: int = run.callbacks.pull(number)
    return found


_TYPE = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_int64)
_call, _pull = _TYPE(_of_run), _TYPE(_back_of_run)
CALL, PULL = (ctypes.cast(one, ctypes.c_void_p).value for one in (_call, _pull))
