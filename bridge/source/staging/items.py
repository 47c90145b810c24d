"""Elements by number: of ranges and arrays that a loop runs over, of lists read at a number that is not known."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bridge.rewind.interpreter import current_context
from bridge.rewind.values import is_abstract, needs_value
from bridge.source.floats import Float, weak
from bridge.source.iterating import Elements, elements
from bridge.source.python_functions import SUBSTITUTES


class Counting:
    """`range(start, stop, step)` with numbers that are not known yet; `step` is known."""

    def __init__(self, start: Any, stop: Any, step: int) -> None:
        self.start, self.stop, self.step = start, stop, step

    @property
    def count(self) -> Any:
        """How many there are; may be negative if there are none."""
        if abs(self.step) == 1:
            return (self.stop - self.start) * self.step
        return (self.stop - self.start + (self.step - (1 if self.step > 0 else -1))) // self.step

    def at(self, k: Any) -> Any:
        """The number at position `k`."""
        return self.start + k * self.step if self.step != 1 else self.start + k

    def __iter__(self) -> Iterator[Any]:
        # Raises where the numbers are not known.
        return iter(range(self.start, self.stop, self.step))

    def __len__(self) -> int:
        return len(range(self.start, self.stop, self.step))


SUBSTITUTES[Counting] = range


class Each:
    """The elements, or rows, of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.count = len(array)

    def at(self, k: Any) -> Any:
        """The element at position `k`, as it is now."""
        return tracked(self.array)[k] if is_abstract(k) else elements(self.array)[k]


class Backwards:
    """Elements from the last one on."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.count = items.count

    def at(self, k: Any) -> Any:
        """The element at position `k` from the end."""
        return self.items.at(self.count - 1 - k)


def items_of(iterable: Any) -> Any:
    """What can be iterated over by number, as an object with `count` and `at`; None if that is something else."""
    if isinstance(iterable, (Counting, Each)):
        return iterable
    if type(iterable) is range:
        return Counting(iterable.start, iterable.stop, iterable.step) if len(iterable) else Counting(0, 0, 1)
    if type(iterable) is Elements:
        return Each(iterable._array)
    if (type(iterable) is np.ndarray or hasattr(iterable, "view_as")) and iterable.ndim:
        return Each(iterable)
    return None


def tracked(array: Any) -> Any:
    """An array that can be read at an index which is not known yet."""
    context = current_context()
    if type(array) is np.ndarray and context is not None and array.dtype.kind in "fciub":
        return context.constant_buffer(array)
    return array


def of_range(*args: Any) -> Any:
    """`range(...)`."""
    if not any(map(is_abstract, args)):
        return range(*args)
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    if is_abstract(step):
        raise needs_value(step, "the step of a range", "give a step that is a plain integer, or write a while loop")
    return range(*args) if step == 0 else Counting(start, stop, int(step))


class Table:
    """A list or a tuple, whose elements are floats, or arrays or numbers of NumPy's of one shape and dtype."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __getitem__(self, key: Any) -> Any:
        if not is_abstract(key) or np.ndim(key) or key.dtype.kind not in "iu":
            return self.values[key]
        if all(type(one) in (float, Float) for one in self.values):
            return weak(_stacked([np.float64(one) if type(one) is float else one for one in self.values])[key])
        found = _stacked(self.values)[key]
        context = current_context()
        if not np.ndim(found) or context is None:
            return found
        return context.home.control.item(context, found, key, self.values)


def table(values: Any) -> Any:
    """A list or a tuple as a table, if it can be one; else as it is."""
    if type(values) not in (list, tuple) or not values:
        return values
    if all(type(one) in (float, Float) for one in values):
        return Table(values)
    looks = {(np.shape(one), getattr(one, "dtype", None)) for one in values}
    return Table(values) if len(looks) == 1 and next(iter(looks))[1] is not None else values


def _stacked(values: Any) -> Any:
    return tracked(np.stack([np.asarray(one) if isinstance(one, np.generic) else one for one in values]))
