"""Lines of a program where something is looked at when it runs, and the errors of what is found there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.code_position import Position, resolve
from bridge.errors import ArgumentError, IndexRangeError, TraceError
from bridge.rewind.replays import other_constants
from bridge.rulebook.facts import facts_of
from bridge.signatures import operation_name


@dataclass(frozen=True)
class Site:
    """A line of the user's program where something is looked at when the program runs."""

    position: Position

    def error(self, value: int) -> BaseException:
        """What to raise where `value` was found."""
        raise NotImplementedError


@dataclass(frozen=True)
class CaughtSite(Site):
    """A line whose error the program may catch, which a compiled program cannot."""

    site: Site

    def error(self, value: int) -> Exception:
        found = self.site.error(value)
        if not isinstance(found, (IndexRangeError, ValueError, ArithmeticError)) or isinstance(found, SliceOutside):
            return found  # type: ignore[return-value]
        text = str(found).partition("\n")[0]
        error = TraceError(
            f"a compiled program cannot catch what is raised while it runs: {text}",
            where=resolve(self.position),
            remedy='test it before (if k < len(x): ...), or use engine="native"',
        )
        error.__cause__ = found
        return error


@dataclass(frozen=True)
class IndexSite(Site):
    """An index, and the range, or ranges, in which it has to lie; `is_one` unless there are many."""

    low: int
    high: int
    is_one: bool = True
    from_end: tuple[int, int] | None = None

    def error(self, value: int) -> Exception:
        other = "" if self.from_end is None else f", and from the end {self.from_end[0]} to {self.from_end[1]}"
        which = f"index {value}" if self.is_one else "an index"
        return IndexRangeError(
            f"{which} is out of range: {self.low} to {self.high} lie inside{other}",
            where=resolve(self.position),
            remedy='correct the index, or say what it means: index_mode="clip", "fill" or "drop"',
        )


class SliceOutside(IndexRangeError):
    """A slice of fixed width reaches beyond its array, where NumPy shows what is there.

    Seen only where another program compiles this one, which cannot be told.
    """

    lines: tuple[str, ...]

    def note(self, limits: dict[str, int]) -> bool:
        """Add what the program is to be compiled with, to be right; whether that is new."""
        found = {slices_at(line): 1 for line in self.lines}
        is_new = not found.keys() <= limits.keys()
        limits.update(found)
        return is_new


def slices_at(line: str) -> str:
    """Under which name it is kept that slices of a line may reach beyond their arrays."""
    return f"slices {line}"


@dataclass(frozen=True)
class SliceSite(IndexSite):
    """A slice in a loop of the program; `lines` are those where slices with such a start are made."""

    lines: tuple[str, ...] = ()

    def error(self, value: int) -> Exception:
        found = super().error(value)
        error = SliceOutside(str(found).partition("\n")[0], where=resolve(self.position), remedy="cut it off itself")
        error.lines = self.lines
        return error


@dataclass(frozen=True)
class LimitSite(Site):
    """A loop that may want to go on when it has reached its limit."""

    limit: int

    def error(self, value: int) -> Exception:
        return ArgumentError(
            f"while_loop wants more than limit={self.limit} steps", where=resolve(self.position), remedy="raise limit"
        )


class MoreTurns(TraceError):
    """A loop wants more turns than there is memory for in its log; the program is to be compiled for more.

    Seen only where another program compiles this one, which cannot be told.
    """

    def __init__(self, where: str, limit: int, count: int) -> None:
        super().__init__(
            f"a gradient passes through a loop that makes more than {limit} turns",
            where=where,
            remedy="write it with bridge.while_loop and a limit, or call the program outside of jax.jit",
        )
        self.line = where
        self.wanted = 1 << (count - 1).bit_length() if count > limit else _GROWS * limit

    def note(self, limits: dict[str, int]) -> bool:
        """Add what the program is to be compiled with, to be right; whether that is new."""
        is_new = limits.get(self.line) != self.wanted
        limits[self.line] = self.wanted
        return is_new


@dataclass(frozen=True)
class TurnsSite(Site):
    """A loop of the program of which nobody knows how long it is; `limit` turns have a log."""

    limit: int

    def error(self, value: int) -> Exception:
        return MoreTurns(str(resolve(self.position)), self.limit, value)


@dataclass(frozen=True)
class LengthSite(Site):
    """Two lengths that meet."""

    def error(self, value: int) -> Exception:
        a, b = divmod(value, _MANY)
        return ValueError(
            f"operands could not be broadcast together: an axis of length {a} meets one of length {b}, "
            f"at {resolve(self.position)}"
        )


@dataclass(frozen=True)
class NegativeSite(Site):
    """The length of an array that is made."""

    def error(self, value: int) -> Exception:
        return ValueError(f"negative dimensions are not allowed: a length of {value}, at {resolve(self.position)}")


@dataclass(frozen=True)
class EmptySite(Site):
    """A function of no elements that has no value."""

    function: Any

    def error(self, value: int) -> Exception:
        name = operation_name(self.function)
        return ValueError(f"{name} of an empty array has no value, at {resolve(self.position)}")


@dataclass(frozen=True)
class MatrixSite(Site):
    """A function that raises for some matrices."""

    function: Any

    def error(self, value: int) -> Exception:
        name, kind = operation_name(self.function), facts_of(self.function).fails_on
        return np.linalg.LinAlgError(f"{name}: a matrix is {kind}, at {resolve(self.position)}")


@dataclass(frozen=True)
class WeightsSite(Site):
    """A function that divides by the sum of weights, none of which may be negative if they are named."""

    function: Any
    negative: str = ""

    def error(self, value: int) -> Exception:
        name = operation_name(self.function)
        if self.negative:
            return ValueError(f"{name}: {self.negative} cannot be negative, at {resolve(self.position)}")
        return ZeroDivisionError(f"{name}: weights sum to zero, at {resolve(self.position)}")


@dataclass(frozen=True)
class SpanSite(Site):
    """A function that looks for the range of its data itself."""

    function: Any

    def error(self, value: int) -> Exception:
        name = operation_name(self.function)
        return ValueError(f"{name}: the autodetected range of the data is not finite, at {resolve(self.position)}")


FIRST_LIMIT = 256
"""Turns that a loop may make at first whose length nobody knows."""

MOST_TURNS = 1 << 26
"""Turns of the longest loop for which a log is made without knowing how long it is."""

_GROWS = 16
_MANY = 1 << 31
"""More than any length of an axis: two lengths are one integer."""


@dataclass(frozen=True)
class RaiseSite(Site):
    """A line of the program that raises."""

    raised: BaseException

    def error(self, value: int) -> BaseException:
        return self.raised


@dataclass(frozen=True)
class NumberSite(Site):
    """An operator or a function of Python's numbers that raises for some of them."""

    raised: ArithmeticError | ValueError

    def error(self, value: int) -> Exception:
        return type(self.raised)(f"{self.raised}, at {resolve(self.position)}")


@dataclass(frozen=True)
class WideSite(Site):
    """An integer of Python's, which a compiled program keeps in 64 bits."""

    def error(self, value: int) -> Exception:
        return TraceError(
            "an integer becomes larger than 64 bits can hold, or is made of NaN",
            where=resolve(self.position),
            remedy='use floats (n = 1.0), or engine="native"',
        )


@dataclass(frozen=True)
class FitSite(Site):
    """One of Python's numbers that becomes an integer of NumPy's, which may be too narrow; 0 stands for NaN."""

    dtype: np.dtype[Any]

    def error(self, value: int) -> Exception:
        where = f"at {resolve(self.position)}"
        if not value:
            return ValueError(f"cannot convert float NaN to integer, {where}")
        return OverflowError(f"Python integer {value} out of bounds for {self.dtype}, {where}")


@dataclass(frozen=True)
class ExponentSite(Site):
    """A power of integers."""

    def error(self, value: int) -> Exception:
        return ValueError(
            f"Integers to negative integer powers are not allowed: an exponent is {value}, at {resolve(self.position)}"
        )


@dataclass(frozen=True)
class ReplaySite(Site):
    """A checkpointed call that reads what it captured a second time."""

    name: str

    def error(self, value: int) -> Exception:
        return other_constants(self.name, resolve(self.position))
