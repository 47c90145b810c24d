"""Iterators of staged code whose elements have numbers: what `enumerate`, `zip`, `reversed` make of ranges and arrays.

As Python's do, each knows how far it is, and gives an element once: two loops over it share its elements.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bridge.code_position import here, resolve
from bridge.errors import TraceError
from bridge.rewind.values import is_abstract, needs_value
from bridge.source.staging.items import Backwards, items_of
from bridge.source.staging.watching import check_moves, note_made


class Numbered:
    """An iterator whose elements have numbers: a loop over it may be one loop of the compiled program.

    Attributes
    ----------
    moves : how often it has moved on.
    left : where a loop left it whose end depends on values in such a way that it is not known how far it is.
    """

    def __init__(self) -> None:
        self.moves = 0
        self.left: str | None = None
        note_made(self)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def rest(self) -> Any:
        """What is left of it, a `Rest`; None if Python has to ask for one element after the other."""
        raise NotImplementedError

    def leaves(self) -> list[Numbered]:
        """It and the iterators that it asks."""
        return [self]

    def move(self, count: Any) -> None:
        """Move on by so many elements, all of which are there."""
        raise NotImplementedError

    def end(self) -> None:
        """Move on until it has no more elements."""
        raise NotImplementedError

    def lose(self) -> None:
        """Mark the position as unknown: each later use raises a TraceError."""
        for one in self.leaves():
            one.left = one.left or str(resolve(here()))

    def _moves_on(self) -> None:
        """Before it moves on, or is asked what is left of it."""
        if self.left is not None:
            raise TraceError(
                "a program goes on with an iterator that a loop, any() or all() may have left early, at an element "
                f"that depends on values ({self.left}): what is left of it is not known while the program is compiled",
                where=resolve(here()),
                remedy='make a list of the elements before, and use indices or slices of it; or use engine="native"',
            )
        check_moves(self)
        self.moves += 1


class Along(Numbered):
    """`iter(items)`, or `reversed(items)`: the elements of a range or an array."""

    def __init__(self, items: Any) -> None:
        super().__init__()
        self.items = items
        self.position: Any = 0

    def __next__(self) -> Any:
        self._moves_on()
        left = self._left()
        if is_abstract(left):
            raise needs_value(left, "next()", "write a for loop over it")
        if left < 1:
            raise StopIteration
        found = self.items.at(self.position)
        self.position += 1
        return found

    def rest(self) -> Rest:
        self._moves_on()
        items, first = self.items, self.position
        known = not is_abstract(first) and first == 0
        return Rest(self, self._left(), items.at if known else lambda k: items.at(first + k))

    def move(self, count: Any) -> None:
        self._moves_on()
        self.position = self.position + count

    def end(self) -> None:
        self._moves_on()
        if is_abstract(self.items.count) or self.items.count > 0:
            self.position = self.items.count

    def _left(self) -> Any:
        known = not is_abstract(self.position) and self.position == 0
        return self.items.count if known else self.items.count - self.position


class Enumerate(Numbered):
    """`enumerate(iterator, start)`."""

    def __init__(self, iterator: Numbered, start: Any) -> None:
        super().__init__()
        self.iterator = iterator
        self.number = start

    def __next__(self) -> Any:
        self._moves_on()
        found = next(self.iterator)
        number, self.number = self.number, self.number + 1
        return number, found

    def leaves(self) -> list[Numbered]:
        return [self, *self.iterator.leaves()]

    def rest(self) -> Any:
        self._moves_on()
        inner, start = self.iterator.rest(), self.number
        return None if inner is None else Rest(self, inner.count, lambda k: (start + k, inner.at(k)))

    def move(self, count: Any) -> None:
        self._moves_on()
        self.iterator.move(count)
        self.number = self.number + count

    def end(self) -> None:
        rest = self.rest()
        if rest is not None:
            self.number = self.number + rest.count
        self.iterator.end()


class Zip(Numbered):
    """`zip(*iterators)`."""

    def __init__(self, iterators: Sequence[Numbered]) -> None:
        super().__init__()
        self.iterators = iterators

    def __next__(self) -> Any:
        self._moves_on()
        return tuple([next(one) for one in self.iterators])

    def leaves(self) -> list[Numbered]:
        return [self, *(leaf for one in self.iterators for leaf in one.leaves())]

    def rest(self) -> Any:
        self._moves_on()
        parts = [one.rest() for one in self.iterators]
        if any(one is None for one in parts):
            return None
        counts = [one.count for one in parts]
        if len(counts) > 1 and any(map(is_abstract, counts)):
            return None
        return Rest(self, min(counts), lambda k: tuple(one.at(k) for one in parts))

    def move(self, count: Any) -> None:
        self._moves_on()
        if is_abstract(count) and len(self.iterators) > 1:
            # Of those before the shortest one Python takes one element more, if that has ended.
            counts = [one.rest().count for one in self.iterators]
            for one in self.iterators[: counts.index(min(counts))]:
                one.lose()
        for one in self.iterators:
            if one.left is None:
                one.move(count)

    def end(self) -> None:
        self._moves_on()
        if len(self.iterators) == 1:
            self.iterators[0].end()
            return
        counts = [one.rest().count for one in self.iterators]
        shortest = min(counts)
        for k, one in enumerate(self.iterators):
            one.move(shortest + (k < counts.index(shortest)))


class Rest:
    """What was left of an iterator at one moment: so many elements, and the element at each number.

    The iterator is told how far it is before a turn of the loop runs by itself, and when the loop is over.
    """

    def __init__(self, iterator: Numbered, count: Any, at: Callable[[Any], Any]) -> None:
        self.iterator = iterator
        self.count = count
        self.at = at
        self._taken = 0
        self._moves = self._moved()

    def take(self, count: Any) -> None:
        """The first `count` elements are taken."""
        self.iterator.move(count - self._taken if self._taken else count)
        self._taken = count
        self._moves = self._moved()

    def finish(self, count: Any) -> None:
        """The loop is over, after so many elements; None: after all of them."""
        if count is None:
            self.iterator.end()
        else:
            self.take(count)

    def is_in_step(self) -> bool:
        """Whether nothing but the loop has moved the iterator on."""
        return self._moves == self._moved()

    def _moved(self) -> list[int]:
        return [one.moves for one in self.iterator.leaves()]


def iterator_of(iterable: Any) -> Numbered | None:
    """`iter(iterable)`, if its elements have numbers."""
    if isinstance(iterable, Numbered):
        return iterable
    items = items_of(iterable)
    return None if items is None else Along(items)


def of_enumerate(iterable: Any, start: Any = 0) -> Any:
    """`enumerate(...)`."""
    iterator = iterator_of(iterable)
    return None if iterator is None else Enumerate(iterator, start)


def of_zip(*iterables: Any, strict: bool = False) -> Any:
    """`zip(...)`."""
    parts = [one for one in map(iterator_of, iterables) if one is not None]
    if strict or not parts or len(parts) < len(iterables):
        return None
    leaves = [id(leaf) for one in parts for leaf in one.leaves()]
    # Of one iterator that stands there twice, each tuple takes two elements.
    return Zip(parts) if len(set(leaves)) == len(leaves) else None


def of_reversed(iterable: Any) -> Any:
    """`reversed(...)`."""
    items = items_of(iterable)
    return None if items is None else Along(Backwards(items))


ITERATED: dict[Any, Callable[..., Any]] = {
    builtins.enumerate: of_enumerate, builtins.zip: of_zip, builtins.reversed: of_reversed,
}  # fmt: skip
