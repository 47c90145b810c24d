"""Constant folding: floats that a program computes from constants alone are known while it is traced.

`if math.isclose(np.linalg.norm(np.array([1.0, 0.0])), 1.0)` needs no value of a run. Each cell may hold its floats as
NumPy computes them (`Cell.folded`), in addition to its contents, which stay what they are: folding adds no operation
to the compiled program and removes none. Floats are known only in the part of the program that made the memory: the
body of a loop, of a branch or of a checkpoint runs several times, and what is outside of it may differ then.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.rewind.interpreter import Call
from bridge.rewind.places import Picked, Place
from bridge.xla.tracing.accessing import KNOWN, known_at, promoting_as
from bridge.xla.tracing.cells import Cell, Frame
from bridge.xla.tracing.stand_ins import StandIn

MOST_KNOWN = 1 << 16
"""Elements of the largest array whose values are kept as known."""

_NOT_FOLDED = (ValueError, TypeError, ArithmeticError, IndexError, Warning, np.linalg.LinAlgError)
"""What NumPy raises for some values of operands: the traced operation has its own check."""


def lying_as(array: Any, abstract: Any) -> np.ndarray:
    """A copy of an array that lies as its abstract array does."""
    copy = np.empty_like(abstract, subok=False)
    copy[...] = array
    return copy


def folded_at(place: Any) -> Any:
    """The floats at a place, if they are known in the part of the program that is traced; else None."""
    root = place.root
    if root.folded is None or root.frame is not root.context.frames[-1] or root.serial <= root.context.folds_since:
        return None
    return place.within(root.folded, KNOWN)


class _Traced(Exception):
    """An operand is known only when the program runs."""


def _known_operand(x: Any, place: Any) -> Any:
    """One operand as an array or number of NumPy's, given its place if it is tracked; _Traced if it is not known."""
    if isinstance(place, (list, tuple)):
        return type(x)([_known_operand(part, inner) for part, inner in zip(x, place, strict=True)])
    if place is None:
        if isinstance(x, StandIn) or hasattr(x, "place"):
            raise _Traced
        return x
    found = folded_at(place)
    found = known_at(place) if found is None else found
    if found is None or found.size > MOST_KNOWN:
        raise _Traced
    return promoting_as(x, found)


def _holds(places: Sequence[Any], name: str) -> bool:
    """Whether a cell of one of the places has a value for an attribute."""
    return any(
        _holds(place, name)
        if isinstance(place, (list, tuple))
        else place is not None and getattr(place.root, name) is not None
        for place in places
    )


def _has_floats(value: Any) -> bool:
    """Whether a result has floats, or is one."""
    if isinstance(value, (list, tuple)):
        return any(map(_has_floats, value))
    return isinstance(value, (float, complex, np.inexact, np.ndarray)) and np.result_type(value).kind in "fc"


def _elements(value: Any) -> int:
    """How many elements a result has."""
    return sum(map(_elements, value)) if isinstance(value, (list, tuple)) else getattr(value, "size", 1)


def _is_numpys(function: Any) -> bool:
    """Whether a function is NumPy's, or a compiled ufunc: it does nothing but compute."""
    if isinstance(function, np.ufunc):
        return function.ntypes > 0 and "O" not in function.types[0]
    return (getattr(function, "__module__", None) or "").partition(".")[0] == "numpy"


class Folding:
    """Computes with NumPy what follows from constants, in addition to what is compiled."""

    frames: list[Frame]
    count: Callable[[], None]
    _as_known: Callable[[Any], Any]
    _result: Callable[[Call, Any], Any]

    def folding(self, call: Call, value: Any) -> Any:
        """What a call returned, which looks as `value` does; its floats are known if they follow from constants."""
        # What follows from integers alone, `_result` knows, unless it is a float.
        is_worth_it = _holds(call.inputs, "folded") or (_holds(call.inputs, "known") and _has_floats(value))
        found: Any = _folded(call, value) if is_worth_it else None
        if type(value) is bool and found is not None:
            self.count()
            return self._as_known(bool(found))
        if _is_as(found, value) and found.dtype.kind in "iub" and isinstance(value, (np.ndarray, np.generic)):
            self.count()
            return self._as_known(found)
        made = self._result(call, value)
        if found is not None:
            _keep(made, found)
        return made

    def fold_copy(self, made: Any, source: Place) -> None:
        """Record the known floats of a copy, which may have another dtype than its source."""
        found = folded_at(source)
        found = known_at(source) if found is None else found
        if found is not None and np.can_cast(found.dtype, made.place.dtype, "same_kind"):
            with np.errstate(all="ignore"):
                _keep(made, found.astype(made.place.dtype))

    def folded_write(self, place: Any, value: Any, source: Place | None) -> Folded | None:
        """What a write of `value`, which lies at `source`, makes of the floats that are known of a cell."""
        if folded_at(place) is None:
            return None
        try:
            return Folded(place, _known_operand(value, source))
        except _Traced:
            return None

    def folded_update(self, call: Call, place: Place, mask: Any) -> Folded | None:
        """The same for a ufunc that writes its result at a place."""
        if folded_at(place) is None or call.kwargs or mask is not None:
            return None
        found = _folded(call, None)
        return None if found is None else Folded(place, found)


class Folded:
    """A write that is known: the floats of a cell before it, and what is written where."""

    def __init__(self, place: Any, value: Any) -> None:
        self.cell: Cell = place.root
        self.before = self.cell.folded
        self.place = place
        self.value = value

    def store(self) -> None:
        """After the cell has new contents: let it hold the floats that these have."""
        place: Any = self.place
        is_copy = isinstance(place, Picked)
        where = place.parent.within(self.before, KNOWN) if is_copy else place.within(self.before, KNOWN)
        if isinstance(where, np.ndarray) and np.can_cast(np.result_type(self.value), place.dtype, "same_kind"):
            where[place.key if is_copy else ...] = self.value
            self.cell.folded = self.before


def _folded(call: Call, value: Any) -> Any:
    """What NumPy computes for a call of which all operands are known; else None."""
    if not _is_numpys(call.function) or _elements(value) > MOST_KNOWN:
        return None
    try:
        operands = tuple([_known_operand(x, place) for x, place in zip(call.args, call.inputs, strict=True)])
        args, kwargs = call.spelled(operands)
        if any(isinstance(x, StandIn) or hasattr(x, "place") for x in kwargs.values()):
            return None
        with np.errstate(all="ignore"):
            found = call.function(*args, **kwargs)
    except (_Traced, *_NOT_FOLDED):
        return None
    # Numbers of Python's raise where NumPy gives an infinity or a NaN.
    return None if type(value) in (float, complex) and not np.all(np.isfinite(found)) else found


def _is_as(found: Any, value: Any) -> bool:
    """Whether an array or a number has the shape and dtype of another one."""
    is_array = isinstance(found, (np.ndarray, np.generic))
    return is_array and found.shape == np.shape(value) and found.dtype == np.result_type(value)


def _keep(made: Any, found: Any) -> None:
    """Let the cells that a call has made hold the floats that NumPy has computed."""
    if isinstance(made, (list, tuple)):
        if isinstance(found, (list, tuple)) and len(found) == len(made):
            for one, other in zip(made, found, strict=True):
                _keep(one, other)
        return
    cell = getattr(made, "place", None)
    if type(cell) is not Cell or cell.dtype.kind not in "fc" or math.prod(cell.shape) > MOST_KNOWN:
        return
    found = np.asarray(found)
    if found.shape == cell.shape and found.dtype == cell.dtype:
        cell.folded = lying_as(found, cell.abstract) if isinstance(cell.abstract, np.ndarray) else found[()]
