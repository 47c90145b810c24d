"""Axes that meet: which length the result has, and the arrays laid out alike for it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bridge.xla.bounded.bounded import Bounded
from bridge.xla.bounded.extents import Extent
from bridge.xla.bounded.integers import broadcast_length, is_equal, made
from bridge.xla.bounded.masks import element, moved
from bridge.xla.regions.affine import Affine


class Side(NamedTuple):
    """An axis of one of the arrays that meet: its static size, and the part of it that is there."""

    size: int
    extent: Extent | None

    @property
    def length(self) -> Affine:
        return Affine.of(self.size) if self.extent is None else self.extent.length


class Joint(NamedTuple):
    """The axis of the result: where the part that is there lies on an axis of this size; None if all is there."""

    size: int
    extent: Extent | None

    @property
    def first(self) -> Affine:
        return Affine.of(0) if self.extent is None else self.extent.first


def side_of(x: Any, axis: int) -> Side:
    """One axis of an operand."""
    return Side(x.whole.shape[axis], x.extents[axis]) if isinstance(x, Bounded) else Side(np.shape(x)[axis], None)


def met(trace: Any, given: list[Side], broadcasts: bool = True) -> Joint:
    """The axis on which these meet; an error at run time where NumPy raises.

    `broadcasts` says whether an axis of length 1 is repeated.
    """
    static = [one.size for one in given if one.extent is None and not (broadcasts and one.size == 1)]
    extents = [one for one in given if one.extent is not None]
    if static:
        (size, *others) = static
        if any(other != size for other in others):
            raise ValueError(f"operands could not be broadcast together: axes of lengths {size} and {others[0]} meet")
        for one in extents:
            check_lengths(trace, one.length, Affine.of(size), broadcasts)
        return Joint(size, None)
    if not extents:
        return Joint(1, None)
    first = extents[0]
    if all(one.length == first.length for one in extents):
        best = min(extents, key=lambda one: one.size)
        return Joint(best.size, best.extent)
    length = first.length
    for one in extents[1:]:
        if one.length == length:
            continue
        check_lengths(trace, length, one.length, broadcasts, either=True)
        if broadcasts and can_be_one(length):
            length = broadcast_length(trace, length, one.length)
    return Joint(max(one.size for one in extents), Extent(Affine.of(0), length))


def can_be_one(length: Affine) -> bool:
    """Whether it is not known that a length is another one than 1."""
    low, high = length.bounds()
    return (low is None or low <= 1) and (high is None or high >= 1)


def check_lengths(trace: Any, length: Affine, wanted: Affine, broadcasts: bool, either: bool = False) -> None:
    """Raise at run time if a length is neither the one that is wanted, nor 1 where that is repeated."""
    apart = length - wanted
    if apart.is_constant and not apart.constant:
        return
    repeats = (broadcasts and can_be_one(length), broadcasts and either and can_be_one(wanted))
    trace.faults.check_lengths(length, wanted, repeats)


def laid_out(trace: Any, x: Any, axis: int, side: Side, joint: Joint, broadcasts: bool = True) -> Any:
    """An operand's static array with an axis laid out as the joint one, or of length 1 if it is repeated.

    `x` is the static array as it is by now, whose axis is still the one of `side`.
    """
    one = side.extent
    if one is None:
        if (side.size == joint.size and joint.extent is None) or (broadcasts and side.size == 1):
            return x
        one = Extent(Affine.of(0), Affine.of(side.size))
    elif one.length == (Affine.of(joint.size) if joint.extent is None else joint.extent.length):
        return moved(trace, x, axis, one, joint.first, joint.size)
    if not (broadcasts and can_be_one(one.length)):
        return moved(trace, x, axis, one, joint.first, joint.size)
    if not one.length.is_constant and one.length.bounds()[1] == 1:
        return element(trace, x, axis, one)
    laid = moved(trace, x, axis, one, joint.first, joint.size)
    if side.size == 0 or joint.size == 0:
        return laid
    repeats = made(trace, np.bool_(False), is_equal, one.length, 1)
    return np.where(repeats, element(trace, x, axis, one), laid)
