"""Operands of a tape's entries: numbers of values that a replay makes, and plain values as they were."""

from __future__ import annotations

from numbers import Number
from types import CellType, FunctionType
from typing import Any, NamedTuple, Protocol

import numpy as np

from bridge.rewind.interpreter import ARRAYS
from bridge.signatures import operation_name


class Retake(Exception):
    """A tape is no longer valid: a value that the program read while it was recorded differs now, or is unknown.

    `may_run_again` is True if the body can be run as Python once more, and recorded anew.
    """

    def __init__(self, may_run_again: bool = False) -> None:
        super().__init__()
        self.may_run_again = may_run_again


def contents(cell: CellType) -> Any:
    """The contents of a closure's cell; None if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def is_tracked(x: Any) -> bool:
    """Whether a value is tracked; nothing of it is asked, since an object may say that it has every attribute."""
    return hasattr(type(x), "place")


def outline(x: Any) -> Any:
    """An operand in a form that is equal in two recordings of one body: plain values count, tracked ones do not."""
    if isinstance(x, Numbered):
        return "tracked"
    if isinstance(x, Snapshot):
        return x.held.shape, x.held.dtype.str, x.held.tobytes() if x.held.dtype.kind in "fciub" else None
    if isinstance(x, Fixed):
        return outline(x.held)
    if isinstance(x, Closed):
        return operation_name(x.function), tuple([outline(operand) for _, operand in x.held])
    if isinstance(x, Named):
        return tuple((name, outline(part)) for name, part in x.parts.items())
    if hasattr(x, "tape"):
        return x.tape.outline()
    if is_tracked(x):
        return "tracked"
    if hasattr(x, "terms"):
        # One recording may compute an integer that another takes from outside: only the form is compared.
        return x.constant, tuple([coefficient for _, coefficient in x.terms])
    if isinstance(x, (bool, int, float, complex, np.generic)):
        return type(x), np.asarray(x).tobytes()
    if isinstance(x, Number):
        return type(x), x
    if isinstance(x, (list, tuple)):
        return tuple(map(outline, x))
    if isinstance(x, (str, bytes, type(None))):
        return x
    return operation_name(x) if callable(x) else type(x)


class ByNumber(Protocol):
    """The values of a replay."""

    def __getitem__(self, number: int) -> Any:
        """The value with a number."""


class Operand(Protocol):
    """What a replay finds in the place of an operand."""

    def value(self, values: ByNumber) -> Any:
        """The operand, among the values of a replay."""


class Numbered(NamedTuple):
    """A tracked value that the tape, or one around it, has made.

    `depth` is how many contexts further out the value is asked for; `own` the class of a number that is used as one of
    Python's.
    """

    number: int
    depth: int = 0
    own: Any = None

    def value(self, values: ByNumber) -> Any:
        found = values[self.number]
        for _ in range(self.depth):
            found = found.value
        return found if self.own is None or type(found) is self.own else ARRAYS.weak(found, self.own)


class Fixed(NamedTuple):
    """What does not change: a number, a dtype, a function, or a tracked value from before the tape."""

    held: Any

    def value(self, values: ByNumber) -> Any:
        return self.held


class Listed(NamedTuple):
    """A list, a tuple, or what is made of parts."""

    kind: type
    parts: tuple[Operand, ...]

    def value(self, values: ByNumber) -> Any:
        parts = [part.value(values) for part in self.parts]
        return self.kind(parts) if self.kind in (list, tuple) else self.kind(*parts)


class Named(NamedTuple):
    """A dictionary."""

    parts: dict[Any, Operand]

    def value(self, values: ByNumber) -> Any:
        return {name: part.value(values) for name, part in self.parts.items()}


class Sliced(NamedTuple):
    """A slice."""

    bounds: tuple[Operand, ...]

    def value(self, values: ByNumber) -> Any:
        return slice(*[bound.value(values) for bound in self.bounds])


class Closed(NamedTuple):
    """A function of the user's code. A replay is valid only if the cells of its closure still have their contents."""

    function: FunctionType
    held: tuple[tuple[CellType, Operand], ...]

    def value(self, values: ByNumber) -> Any:
        if any(contents(cell) is not operand.value(values) for cell, operand in self.held):
            raise Retake
        return self.function


class Snapshot(NamedTuple):
    """A plain array: itself, as long as it holds what it held."""

    array: np.ndarray
    held: np.ndarray

    @classmethod
    def of(cls, array: np.ndarray) -> Snapshot:
        """An array as it is now."""
        return cls(array, array.copy("K"))

    def value(self, values: ByNumber) -> Any:
        array, held = self
        same = array.shape == held.shape and array.dtype == held.dtype and array.tobytes() == held.tobytes()
        return array if same else held
