"""What a compiled call leaves as it was, although the program puts something there that is computed when it runs."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType
from typing import Any

import numpy as np

from bridge.arrays.buffer import WeakScalar
from bridge.arrays.tracked import is_tracked
from bridge.code_position import variable_of
from bridge.source.keeping import DEPTH, Kept, Name
from bridge.state.graph import PLAIN, held_by
from bridge.state.slots import Variable


def note_left(context: Any, kept: Kept, names: Iterable[Name]) -> None:
    """Take note of parts that are to be put back: an eager call would leave numbers there.

    What a gradient passes through is put back there as well, and not told.
    """
    trace = context.home.trace
    for name in names if trace is not None else ():
        slot = kept.slot(name)
        if not trace.captured.reaches(slot.thing):
            continue
        value = slot.get()
        if isinstance(kept.before[name], np.ndarray) and is_tracked(value) and _is_an_argument(value, trace):
            # It was the argument before, under another name.
            continue
        if _leaves(value, trace, set(), DEPTH):
            told = "a variable of an enclosing function" if isinstance(slot, Variable) else slot.name
            trace.left_behind[told] = None


def note_left_array(context: Any, array: np.ndarray, is_log: bool) -> None:
    """The same of an array that the program has by a name, and that keeps what is written into it if it `is_log`."""
    trace = context.home.trace
    if trace is not None and (trace is context or is_log) and trace.captured.reaches(array):
        name = variable_of(array)
        trace.left_behind[f"an array {f'{name!r} ' if name else ''}of shape {array.shape}"] = None


def _leaves(value: Any, trace: Any, seen: set[int], depth: int) -> bool:
    """Whether something is left by eager calls in what was put somewhere."""
    if is_tracked(value):
        return _is_left_by_eager_calls(value, trace)
    kind = type(value)
    if depth == 0 or id(value) in seen or kind in PLAIN or issubclass(kind, (type, ModuleType, np.ndarray)):
        return False
    seen.add(id(value))
    return any(_leaves(one, trace, seen, depth - 1) for one in held_by(value))


def _is_left_by_eager_calls(value: Any, trace: Any) -> bool:
    """Whether no gradient passes through what was put somewhere: an integer, or what the program made a float of."""
    return value.place.context is trace or value.dtype.kind in "iub" or isinstance(value, WeakScalar)


def _is_an_argument(value: Any, trace: Any) -> bool:
    return any(buffer.place.root is value.place.root for _, buffer in trace.originals)
