"""What a compiled call leaves as it was, although the program puts something there that is computed when it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from bridge.arrays.buffer import WeakScalar
from bridge.arrays.tracked import is_tracked
from bridge.source.keeping import Cells, Kept
from bridge.source.state import Part
from bridge.trees import leaves_of


def note_left(context: Any, kept: Kept, parts: dict[Any, Any]) -> None:
    """Take note of parts that were put back, and of what they were: an eager call would have left numbers there.

    What a gradient passes through is put back there as well, and not told.
    """
    trace = context.home.trace
    for name, value in parts.items() if trace is not None else ():
        is_variable = isinstance(kept, Cells)
        if not trace.captured.reaches(kept.thing[name] if is_variable else kept.thing):
            continue
        if isinstance(kept.before[name], np.ndarray) and is_tracked(value) and _is_an_argument(value, trace):
            # It was the argument before, under another name.
            continue
        if any(_is_left_by_eager_calls(leaf, trace) for leaf in leaves_of(value)[0]):
            told = "a variable of an enclosing function" if is_variable else Part(type(kept), kept.thing, name).name
            trace.left_behind[told] = None


def note_left_array(context: Any, array: np.ndarray) -> None:
    """The same of an array that the program has by a name."""
    trace = context.home.trace
    if trace is context and trace.captured.reaches(array):
        trace.left_behind[f"an array of shape {array.shape}"] = None


def _is_left_by_eager_calls(value: Any, trace: Any) -> bool:
    """Whether no gradient passes through what was put somewhere: an integer, or what the program made a float of."""
    if not is_tracked(value):
        return False
    return value.place.context is trace or value.dtype.kind in "iub" or isinstance(value, WeakScalar)


def _is_an_argument(value: Any, trace: Any) -> bool:
    return any(buffer.place.root is value.place.root for _, buffer in trace.originals)
