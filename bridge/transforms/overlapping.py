"""Tangents of arrays of which one object holds views too: what is said of memory is said once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from bridge.errors import CotangentError, RefusedError
from bridge.rewind.memory import ArrayMemory, Strides, address, grounded
from bridge.rewind.values import is_abstract
from bridge.transforms.entering import whole_of


def said_once(tangents: list[Any], originals: Sequence[Any], places: Sequence[Any]) -> list[Any]:
    """Tangents with None for views that lie in an array that has one itself; they must say the same."""
    on_root: dict[int, list[int]] = {}
    for number, place in enumerate(places):
        on_root.setdefault(id(place.root), []).append(number)
    said = list(tangents)
    for numbers in on_root.values():
        if len(numbers) > 1:
            whole = numbers[whole_of([originals[number] for number in numbers]) or 0]
            for number in numbers:
                if number != whole:
                    _check_part(originals[whole], tangents[whole], originals[number], tangents[number])
                    said[number] = None
    return said


def _check_part(whole: Any, tangent: Any, part: Any, given: Any) -> None:
    """Raise unless the tangent `given` for a view is what `tangent` says of the array in which it lies."""
    if given is None:
        return
    if is_abstract(tangent) or is_abstract(given):
        raise RefusedError(
            f"an array of shape {np.shape(whole)} and a view of it have a tangent each, which must be the same where "
            "both lie, and a compiled program cannot compare them",
            remedy='give None for the view, or use engine="native"',
        )
    whole, part = grounded(whole), grounded(part)
    memory = np.zeros(whole.size, whole.dtype)
    low = np.lib.array_utils.byte_bounds(whole)[0]
    parts = [
        ArrayMemory().view(memory, address(array) - low, Strides(array.shape, array.strides, array.dtype))
        for array in (whole, part)
    ]
    if tangent is not None:
        parts[0][...] = grounded(tangent)
    if not np.array_equal(parts[1], np.asarray(grounded(given), whole.dtype), equal_nan=True):
        raise CotangentError(
            f"an array of shape {whole.shape} and a view of it of shape {part.shape} have tangents that are not the "
            "same where both lie",
            remedy="give None for the view: the tangent of the array says it all",
        )
