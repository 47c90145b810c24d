"""Extents: which part of an axis is there, and what a slice with run-time bounds leaves of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.operands import Fixed, Listed
from bridge.rewind.values import ground_floor, is_abstract, is_abstract_integer
from bridge.xla.bounded.integers import clamped, from_start, maximum, minimum, quotient
from bridge.xla.regions.affine import Affine, difference
from bridge.xla.tracing.integers import affine_of


@dataclass(frozen=True)
class Extent:
    """The part of an axis of static length that is there: `first`, `first + step`, ..., `length` places.

    `length` is never negative, and where it is positive all places lie on the axis. A step of -1 is not among them:
    there the axis itself is reversed.
    """

    first: Affine
    length: Affine
    step: int = 1

    @property
    def most(self) -> int | None:
        """A static bound of the length."""
        return self.length.bounds()[1]

    def as_operand(self, recorder: Any) -> Listed:
        """How a tape finds it again."""
        return Listed(Extent, (self.first.as_operand(recorder), self.length.as_operand(recorder), Fixed(self.step)))

    def is_all_of(self, size: int) -> bool:
        """Whether it is known to be the whole axis."""
        return self == Extent(Affine.of(0), Affine.of(size))


def is_unknown(part: Any) -> bool:
    """Whether a part of a key is a slice whose length is known only when the program runs."""
    if type(part) is not slice or not any(map(is_abstract, (part.start, part.stop, part.step))):
        return False
    if part.start is None or part.stop is None or is_abstract(part.step):
        return True
    if not all(map(_is_integer, (part.start, part.stop))):
        return False
    start, stop = affine_of(part.start), affine_of(part.stop)
    apart, step = difference(stop, start), 1 if part.step is None else part.step
    if apart is None or _is_cut(part):
        return True
    # One that is empty as it is written is not, where one end alone counts from the end of the axis.
    (low, high), (other_low, other_high) = start.bounds(), stop.bounds()
    count_alike = (None not in (low, other_low) and min(low, other_low) >= 0) or (  # type: ignore[type-var,operator]
        None not in (high, other_high) and max(high, other_high) < 0  # type: ignore[type-var,operator]
    )
    return step != 0 and apart * step <= 0 and not count_alike


def _is_cut(part: slice) -> bool:
    """Whether a slice of fixed width is one that was seen to reach beyond its array."""
    one = part.start if is_abstract(part.start) else part.stop
    return bool(ground_floor(one).place.context.faults.cuts_slices(affine_of(part.start)))


def _is_integer(bound: Any) -> bool:
    return is_abstract_integer(bound) or isinstance(bound, (int, np.integer))


def places(trace: Any, part: slice, length: Affine) -> tuple[Affine, Affine, int]:
    """The first place, the number of places and the step of a slice of an axis, by NumPy's rules.

    Bounds count from the end where they are negative, and are moved onto the axis where they lie outside.
    """
    step = 1 if part.step is None else part.step
    if is_abstract(step):
        raise TraceError(
            "the step of a slice depends on a value that is not known while the program is compiled",
            where=resolve(here()),
            remedy="use a step that is a plain integer",
        )
    step = int(step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (Affine.of(0), length) if step > 0 else (Affine.of(-1), length - 1)

    def end(bound: Any, absent: Affine) -> Affine:
        return absent if bound is None else clamped(trace, from_start(trace, _form(bound), length), low, high)

    start = end(part.start, low if step > 0 else high)
    stop = end(part.stop, high if step > 0 else low)
    apart = stop - start if step > 0 else start - stop
    apart = maximum(trace, Affine.of(0), apart)
    if step > 0 and part.start is not None and part.stop is not None:
        # Unless the stop lies before the start as they are written, no end that is moved makes a slice longer.
        written = _form(part.stop) - _form(part.start)
        least = written.bounds()[0]
        apart = minimum(trace, written, apart) if least is not None and least >= 0 else apart
    return start, quotient(trace, apart, abs(step)), step


def _form(bound: Any) -> Affine:
    if not _is_integer(bound):
        raise TypeError("slice indices must be integers or None or have an __index__ method")
    return affine_of(bound)


def narrowed(trace: Any, first: Affine, length: Affine, size: int) -> tuple[Any, int, Affine]:
    """A static part of an axis of static `size` that holds a run of places for certain, if it is half of it or less.

    Returns where it starts, as a form, how many places it has, and the first place in it.
    """
    low, most = first.bounds()[0], length.bounds()[1]
    end = (first + length).bounds()[1]
    low, end = max(0, low or 0), size if end is None else min(size, end)
    if 2 * max(0, end - low) <= size:
        # Where the run is empty its first place may lie outside of the part, where no place is looked at.
        return (
            Affine.of(low),
            max(0, end - low),
            clamped(trace, first - low, Affine.of(0), Affine.of(max(0, end - low))),
        )
    if most is not None and 2 * most <= size:
        start = clamped(trace, first, Affine.of(0), Affine.of(size - most))
        return start, most, minimum(trace, first - start, Affine.of(most))
    return Affine.of(0), size, first
