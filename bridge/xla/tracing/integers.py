"""Integers in a traced program: which are known to be a fixed distance apart."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from bridge.rewind.values import ground_floor
from bridge.xla.regions.affine import Affine, Between


def affine_of(part: Any) -> Affine:
    """A plain integer, or a traced one, as a linear form."""
    if not hasattr(part, "place"):
        return Affine.of(part)
    cell = ground_floor(part).place.root
    return form_of(cell)


def form_of(cell: Any) -> Affine:
    """The linear form of an integer's cell; two reads of one element that nobody wrote meanwhile have the same."""
    if cell.affine is None:
        contents = cell.contents
        forms = getattr(cell.context, "forms", {})
        if id(contents) not in forms:
            # The value is kept with its form, so that its address stays its own.
            forms[id(contents)] = contents, Affine.unknown(contents, *_limits(cell.dtype), serial=cell.since)
        cell.affine = forms[id(contents)][1]
    return cell.affine


Bounds = tuple[int | None, int | None]


class Ends(tuple[int | None, int | None]):
    """Bounds with the run-time integers that they are the bounds of."""

    between: Between


def bounds_of(lower: Any, upper: Any) -> Bounds:
    """Between which integers a loop runs, where that is known: from the first, to below the second."""
    low, high = affine_of(lower), affine_of(upper)
    ends = Ends((low.bounds()[0], useful(high.bounds()[1])))
    ends.between = Between((low,), (high - 1,))
    return ends


def useful(bound: int | None) -> int | None:
    """A bound of how often something is done, unless it is no more than one of the integers that memory holds."""
    return bound if bound is None or bound < _ENDLESS else None


_ENDLESS = 1 << 48


def index_form(i: Any, bounds: Bounds) -> Affine:
    """The index of a loop that runs between these."""
    low, high = bounds
    return Affine.unknown(i, low, None if high is None else high - 1, getattr(bounds, "between", None))


def affine_result(function: Any, operands: tuple[Any, ...], contents: Any, dtype: Any) -> Affine:
    """The linear form of what an integer function returned for integer `operands` (linear forms themselves)."""
    forms = [one if isinstance(one, Affine) else None for one in operands]
    if all(form is not None for form in forms):
        combined = _combined(function, forms)  # type: ignore[arg-type]
        if combined is not None and _fits(combined, 0, dtype):
            return combined
    (low, high), (least, most) = _bounds(function, forms), _limits(dtype)
    between = None
    if np.dtype(dtype) == np.int64 and function in (np.minimum, np.maximum):
        others = tuple(form for form in forms if form is not None)
        one_of = len(others) == len(forms)
        between = Between((), others, one_of) if function is np.minimum else Between(others, (), one_of)
    return Affine.unknown(contents, least if low is None else low, most if high is None else high, between)


_WIDE = 4
"""Bytes of the narrowest integers whose largest one no array has as an index."""


def _limits(dtype: Any) -> Bounds:
    """Between which integers those of a dtype lie, where that says something of an index."""
    limits = np.iinfo(dtype)
    wide = np.dtype(dtype).itemsize >= _WIDE
    return (0 if limits.min == 0 else None, None) if wide else (int(limits.min), int(limits.max))


def _fits(form: Affine, further: int, dtype: Any) -> bool:
    """Whether an integer, and those up to `further` on, are known to be what they are in a dtype: it does not overflow.

    What exceeds the largest 32-bit integer lies outside of every array, whatever it becomes.
    """
    (low, high), (least, most) = form.bounds(), _limits(dtype)
    return (least is None or (low is not None and low >= least)) and (
        most is None or (high is not None and high + further <= most)
    )


def consecutive(function: Any, args: tuple[Any, ...], inputs: tuple[Any, ...], dtype: Any) -> Affine | None:
    """The first of consecutive integers, if `start + np.arange(n)` and its kin is what was computed."""
    if function is np.add and len(args) == 2:
        pairs = list(zip(args, inputs, strict=True))
        for (x, place), (other, other_place) in (pairs, pairs[::-1]):
            first = _first(x, place)
            if first is not None and np.shape(other) == ():
                form = _number(other, other_place)
                return None if form is None or not _fits(first + form, len(x) - 1, dtype) else first + form
    return None


def _first(x: Any, place: Any) -> Affine | None:
    if place is not None:
        return getattr(place, "run", None)
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind in "iu" and x.size and (np.diff(x) == 1).all():
        return Affine.of(x[0])
    return None


def _number(x: Any, place: Any) -> Affine | None:
    if place is None:
        return Affine.of(x) if isinstance(x, (int, np.integer)) and not isinstance(x, (bool, np.bool_)) else None
    return getattr(place, "affine", None)


def as_window(key: Any, shape: tuple[int, ...]) -> Any:
    """A key of slices in place of one whose only array holds consecutive integers known to lie inside; else None."""
    parts = key if type(key) is tuple else (key,)
    if Ellipsis in [part for part in parts if part is Ellipsis] or any(part is None for part in parts):
        return None
    window: list[Any] = []
    found = 0
    for part, length in zip(parts, shape, strict=False):
        if type(part) is slice and not hasattr(part.start, "place") and not hasattr(part.stop, "place"):
            window.append(part)
            continue
        first = ground_floor(part).place.root.run if hasattr(part, "place") and len(part.shape) == 1 else None
        if first is None or not first.is_within(0, length - part.shape[0]):
            return None
        found += 1
        window.append(slice(first, first + part.shape[0]))
    return tuple(window) if found == 1 else None


def _combined(function: Any, forms: list[Affine]) -> Affine | None:
    if function is np.add:
        return forms[0] + forms[1]
    if function is np.subtract:
        return forms[0] - forms[1]
    if function is np.negative:
        return -forms[0]
    if function is np.positive:
        return forms[0]
    if function is np.multiply and forms[0].is_constant:
        return forms[1] * forms[0].constant
    if function is np.multiply and forms[1].is_constant:
        return forms[0] * forms[1].constant
    return None


_CORNERS: dict[Any, Any] = {np.multiply: operator.mul, np.left_shift: operator.lshift}
"""Functions of two integers that are largest and least at the ends of their bounds."""

_SHIFTS = 64


def _bounds(function: Any, forms: list[Affine | None]) -> tuple[int | None, int | None]:
    """Static bounds of an integer function's result, where they are known."""
    if len(forms) != 2 or forms[1] is None:
        return None, None
    divisor = forms[1].constant if forms[1].is_constant else 0
    if function is np.remainder and divisor > 0:
        return 0, divisor - 1
    if forms[0] is None:
        return None, None
    (low, high), (other_low, other_high) = forms[0].bounds(), forms[1].bounds()
    if function is np.floor_divide and divisor > 0:
        return (None if low is None else low // divisor), (None if high is None else high // divisor)
    if function in _CORNERS and None not in (low, high, other_low, other_high):
        ends = [(a, b) for a in (low, high) for b in (other_low, other_high)]
        if function is np.multiply or (other_low >= 0 and other_high < _SHIFTS):  # type: ignore[operator]
            found = [_CORNERS[function](a, b) for a, b in ends]
            return min(found), max(found)
        return None, None
    if function is np.minimum:
        highs = [bound for bound in (high, other_high) if bound is not None]
        lows = (low, other_low)
        return (None if None in lows else min(lows)), (min(highs) if highs else None)  # type: ignore[type-var]
    if function is np.maximum:
        lows_known = [bound for bound in (low, other_low) if bound is not None]
        highs_all = (high, other_high)
        return (max(lows_known) if lows_known else None), (None if None in highs_all else max(highs_all))  # type: ignore[type-var]
    return None, None
