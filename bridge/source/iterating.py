"""Iterating over arrays: over plain ones that may be lent meanwhile, and in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bridge.arrays.buffer import Buffer
from bridge.rewind.interpreter import current_context
from bridge.source.exchanging import look_through
from bridge.source.lending import COUNT, LENT, lent_to


class Elements:
    """The elements, or rows, of a plain array: each is what the array shows when it is reached."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __iter__(self) -> Iterator[Any]:
        array = self._array
        for k in range(len(array)):
            yield self[k] if COUNT.number else array[k]

    def __len__(self) -> int:
        return len(self._array)

    def __getitem__(self, key: Any) -> Any:
        found = lent_to(self._array) if COUNT.number else None
        return self._array[key] if found is None else found[key]


def elements(value: Any) -> Any:
    """What is iterated over in the place of `value`, which may be an array."""
    if type(value) is np.ndarray:
        may_be_lent = value.ndim and value.dtype.kind in "fc" and current_context() is not None
        return Elements(value) if may_be_lent else value
    if LENT and hasattr(type(value), "__next__"):
        look_through(value)
    return value


class Iteration:
    """An array, or `zip` or `enumerate` of arrays and ranges: what is left of it can be divided into parts.

    Attributes
    ----------
    function : `zip`, `enumerate`, or None for an array by itself.
    over : what it goes over: arrays, ranges and other iterations, all of them whole.
    first : the first number of `enumerate`.
    begin, end : which items are left.
    """

    __slots__ = ("begin", "end", "first", "function", "over")

    def __init__(self, function: Any, over: tuple[Any, ...], first: int, begin: int, end: int) -> None:
        self.function, self.over, self.first, self.begin, self.end = function, over, first, begin, end

    def __iter__(self) -> Iterator[Any]:
        parts = [elements(one[self.begin : self.end]) for one in self.over]
        if self.function is None:
            return iter(parts[0])
        return zip(*parts, strict=False) if self.function is zip else enumerate(parts[0], self.first + self.begin)

    @classmethod
    def of(cls, over: Any) -> Any:
        """An array as an iteration; anything else as it is."""
        return cls(None, (over,), 0, 0, len(over)) if type(over) in (np.ndarray, Buffer) and over.ndim else over

    def __len__(self) -> int:
        return self.end - self.begin

    def __getitem__(self, part: slice) -> Iteration:
        begin, end, _ = part.indices(len(self))
        return Iteration(self.function, self.over, self.first, self.begin + begin, self.begin + max(begin, end))


def iteration(function: Any, args: Sequence[Any], keywords: dict[str, Any]) -> Any:
    """What `function(*args, **keywords)` goes over, if that can be divided: a range, an array, or an `Iteration`.

    Otherwise None.
    """
    first, strict = keywords.get("start", 0), keywords.get("strict", False)
    if function is enumerate and len(args) == 2 and not keywords:
        *args, first = args
    known = {"start"} if function is enumerate else {"strict"} if function is zip else set[str]()
    if not args or not keywords.keys() <= known or not all(map(is_divisible, args)):
        return None
    lengths = {*map(len, args)}
    if function is reversed:
        return args[0][::-1] if len(args) == 1 and type(args[0]) is not Iteration else None
    if function is zip:
        return None if strict and len(lengths) > 1 else Iteration(zip, tuple(args), 0, 0, min(lengths))
    if function is enumerate and len(args) == 1 and type(first) is int:
        return Iteration(enumerate, tuple(args), first, 0, *lengths)
    return None


def is_divisible(value: Any) -> bool:
    """Whether Python can go over something in parts."""
    kind = type(value)
    return kind is range or kind is Iteration or ((kind is np.ndarray or kind is Buffer) and value.ndim > 0)
