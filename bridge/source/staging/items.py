"""What a loop runs over, as elements by number: ranges, arrays, what `enumerate`, `zip`, `reversed` make of them."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from bridge.rewind.interpreter import current_context
from bridge.rewind.values import is_abstract, needs_value
from bridge.source.iterating import Elements


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


class Each:
    """The elements, or rows, of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.count = len(array)

    def at(self, k: Any) -> Any:
        """The element at position `k`, as it is now."""
        return tracked(self.array)[k]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.array)


class Several:
    """`zip(a, b)`, `enumerate(a)` or `reversed(a)`: positions of others, and what is made of their elements."""

    def __init__(self, parts: Sequence[Any], count: Any, at: Callable[[Any], Any], plain: Callable[[], Any]) -> None:
        self.parts = parts
        self.count = count
        self.at = at
        self.plain = plain

    def __iter__(self) -> Iterator[Any]:
        return iter(self.plain())


def items_of(iterable: Any) -> Any:
    """Elements by number; None if what is iterated over has none."""
    if isinstance(iterable, (Counting, Each, Several)):
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


def of_enumerate(iterable: Any, start: Any = 0) -> Any:
    """`enumerate(...)`."""
    items = items_of(iterable)
    if items is None:
        return None
    return Several([items], items.count, lambda k: (start + k, items.at(k)), lambda: enumerate(items, start))


def of_zip(*iterables: Any, strict: bool = False) -> Any:
    """`zip(...)`."""
    parts = [items_of(one) for one in iterables]
    if strict or not parts or any(one is None for one in parts):
        return None
    counts = [one.count for one in parts]
    if any(map(is_abstract, counts)) and len(counts) > 1:
        return None
    return Several(parts, min(counts), lambda k: tuple(one.at(k) for one in parts), lambda: zip(*parts, strict=False))


def of_reversed(iterable: Any) -> Any:
    """`reversed(...)`."""
    items = items_of(iterable)
    if items is None or isinstance(items, Several):
        return None
    count = items.count
    return Several([items], count, lambda k: items.at(count - 1 - k), lambda: reversed(list(items)))


ITERATED: dict[Any, Callable[..., Any]] = {
    builtins.enumerate: of_enumerate, builtins.zip: of_zip, builtins.reversed: of_reversed,
}  # fmt: skip
