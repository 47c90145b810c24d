"""Windows: what basic indexing shows of an array, a start, size and step for each axis, with run-time starts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from bridge.xla.regions.affine import Affine


class Check(NamedTuple):
    """A run-time integer and the range, inclusive, in which it has to lie, or else in that `from_end`."""

    value: Affine
    low: int
    high: int
    from_end: tuple[int, int] | None = None
    is_slice: bool = False

    def fails(self) -> Any:
        """Whether it lies outside, when the program runs."""
        value = self.value.value()
        outside = (value < self.low) | (value > self.high)
        if self.from_end is None:
            return outside
        low, high = self.from_end
        return outside & ((value < low) | (value > high))


@dataclass(frozen=True)
class Guard:
    """A run-time start that may be out of range.

    The start of the axis contains `scale * base`, where `base` is what `check` looks at, counted from the end if it is
    negative. What may be touched are `count` places of the array, `origin`, `origin + scale`, ...; the window lies
    inside them if `low <= base <= high`.
    """

    check: Check
    base: Affine
    low: int
    high: int
    scale: int
    origin: Affine
    count: int

    def extent(self) -> tuple[Affine, Affine]:
        """The first and the last place that may be touched."""
        other = self.origin + self.scale * (self.count - 1)
        return (self.origin, other) if self.scale > 0 else (other, self.origin)


@dataclass(frozen=True)
class Axis:
    """The part of one axis that a window shows: `start`, `start + step`, ..., `size` of them."""

    start: Affine
    size: int
    step: int = 1
    guard: Guard | None = None

    @property
    def span(self) -> int:
        """How many places lie between the first and the last, both counted."""
        return (self.size - 1) * abs(self.step) + 1 if self.size else 0

    @property
    def corner(self) -> Affine:
        """The lowest place."""
        return self.start if self.step > 0 or not self.size else self.start + (self.size - 1) * self.step


def axis(start: Affine | int, size: int, step: int = 1, guard: Guard | None = None) -> Axis:
    """An `Axis` in its one form: an empty one starts at 0, one of a single place has step 1."""
    if size == 0:
        return Axis(Affine(0), 0)
    return Axis(Affine.of(start), size, step if size > 1 else 1, guard)


@dataclass(frozen=True)
class Window:
    """A rectangular part of an array, as a step of a region.

    Parameters
    ----------
    lengths : the array's shape.
    axes : the part of each of its axes.
    outputs : for each axis of the result the axis of the array that it shows, None for a new one of length 1.
        An axis of which one place is shown is always dropped, and a new one stands for it if need be.
    """

    lengths: tuple[int, ...]
    axes: tuple[Axis, ...]
    outputs: tuple[int | None, ...]

    is_injective = True

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(1 if k is None else self.axes[k].size for k in self.outputs)

    @property
    def is_dynamic(self) -> bool:
        return not all(one.start.is_constant for one in self.axes)

    @property
    def is_bijective(self) -> bool:
        """Whether every element of the array is shown, in whatever order."""
        return all(one.size == n and not one.guard for one, n in zip(self.axes, self.lengths, strict=True))

    @property
    def is_most(self) -> bool:
        """Whether it is one static block of half the array or more."""
        static = all(one.start.is_constant and abs(one.step) == 1 and not one.guard for one in self.axes)
        return static and 2 * math.prod(one.size for one in self.axes) >= math.prod(self.lengths) > 0

    @property
    def is_identity(self) -> bool:
        kept = [k for k in self.outputs if k is not None]
        whole = all(one.step == 1 and one.start == Affine(0) for one in self.axes)
        return self.shape == self.lengths and whole and kept == sorted(kept)

    def checks(self) -> list[Check]:
        return [one.guard.check for one in self.axes if one.guard is not None]


def window(lengths: tuple[int, ...], axes: tuple[Axis, ...], outputs: tuple[int | None, ...]) -> Window:
    """A `Window` in its one form."""
    return Window(lengths, axes, tuple(None if k is None or axes[k].size == 1 else k for k in outputs))


def whole_axes(lengths: tuple[int, ...]) -> tuple[Axis, ...]:
    """All of every axis."""
    return tuple(axis(0, n) for n in lengths)


def composed(outer: Window, inner: Window) -> Window | None:
    """`inner` of `outer` as one window; None if two starts of one axis may both be out of range."""
    axes = list(outer.axes)
    for k, part in zip(outer.outputs, inner.axes, strict=True):
        if k is None:
            if part.guard is not None or part.size != 1:
                return None
            continue
        joined = _joined(axes[k], part)
        if joined is None:
            return None
        axes[k] = joined
    return window(outer.lengths, tuple(axes), tuple(None if k is None else outer.outputs[k] for k in inner.outputs))


def _joined(outer: Axis, inner: Axis) -> Axis | None:
    """`inner` of `outer` as a part of the axis of which `outer` is a part."""
    guard = outer.guard
    if inner.guard is not None:
        if guard is not None:
            return None
        own = inner.guard
        origin = outer.start + own.origin * outer.step
        guard = Guard(own.check, own.base, own.low, own.high, own.scale * outer.step, origin, own.count)
    return axis(outer.start + inner.start * outer.step, inner.size, outer.step * inner.step, guard)


def are_disjoint(a: Window, b: Window, mode: str) -> bool:
    """Whether no element is in both; False if that is not known."""
    return any(_axes_apart(one, other, mode) for one, other in zip(a.axes, b.axes, strict=True))


def does_contain(a: Window, b: Window, mode: str) -> bool:
    """Whether every element of `b` is in `a`; False if that is not known."""
    return all(_axis_inside(one, other, mode) for one, other in zip(a.axes, b.axes, strict=True))


def _axes_apart(a: Axis, b: Axis, mode: str) -> bool:
    if not a.size or not b.size:
        return True
    if mode == "clip" and not _shift_together(a, b):
        return False
    apart = _distance(a, b, mode)
    low, high = apart.bounds()
    if (low is not None and low >= a.span) or (high is not None and high <= -b.span):
        return True
    # Interleaved parts: places of `a` are spaced by its step, which is of no account if there is only one.
    common = math.gcd(abs(a.step) if a.size > 1 else 0, abs(b.step) if b.size > 1 else 0)
    if common == 0:
        return apart.is_constant and apart.constant != 0
    return all(k % common == 0 for _, k in apart.terms) and apart.constant % common != 0


def _axis_inside(a: Axis, b: Axis, mode: str) -> bool:
    if not b.size:
        return True
    if not a.size or not _touch_alike(a, b, mode):
        return False
    apart = _distance(a, b, mode)
    low, high = apart.bounds()
    if low is None or high is None or low < 0 or high + b.span > a.span:
        return False
    spacing = abs(a.step) if a.size > 1 else 1
    return (
        all(k % spacing == 0 for _, k in apart.terms)
        and apart.constant % spacing == 0
        and (b.size == 1 or b.step % spacing == 0)
    )


def _distance(a: Axis, b: Axis, mode: str) -> Affine:
    """From the lowest place of `a` to that of `b`.

    Two starts that may count from the end are as far apart as they are written if both do so, or neither. In mode
    "error", where both lie inside, that is certain unless they are so far apart that one may and the other may not.
    """
    apart = b.corner - a.corner
    if mode != "error" or apart.is_constant or a.guard is None or b.guard is None:
        return apart
    one, other = a.guard.check, b.guard.check
    written = other.value - one.value
    if one.from_end is None or other.from_end is None or not written.is_constant:
        return apart
    alike = (a.guard.scale, a.guard.count) == (b.guard.scale, b.guard.count)
    if not alike or not other.from_end[1] - one.low < written.constant < other.low - one.from_end[1]:
        return apart
    return apart + (written - (b.guard.base - a.guard.base)) * a.guard.scale


def _shift_together(a: Axis, b: Axis) -> bool:
    """Whether clipping moves both by the same amount."""
    if a.guard is None or b.guard is None:
        return a.guard is b.guard
    return (a.guard.base, a.guard.low, a.guard.high, a.guard.scale) == (
        b.guard.base,
        b.guard.low,
        b.guard.high,
        b.guard.scale,
    )


def _touch_alike(a: Axis, b: Axis, mode: str) -> bool:
    """Whether an index out of range leaves `b` inside `a`, if it is inside as written.

    In mode "error" the result of such a run is never seen.
    """
    if mode == "error":
        return True
    if mode == "clip":
        return _shift_together(a, b)
    return a.guard is None or (b.guard is not None and a.guard.extent() == b.guard.extent())
