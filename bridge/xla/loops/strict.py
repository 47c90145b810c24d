"""Values of `fori_loop`, `while_loop` and `cond` in a compiled program, and the checks of them.

The body of a loop must return the containers, shapes and dtypes of the first value. Both branches of a `cond` must
return the same containers and shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bridge.arrays.buffer import is_weak
from bridge.code_position import here, resolve
from bridge.errors import ArgumentError, RefusedError, TraceError
from bridge.objects.structure import ObjectStructure
from bridge.rewind.interpreter import ARRAYS
from bridge.source.staging.truth import NotOneLoop
from bridge.trees import containers_of, leaves_of, rebuilt, shown
from bridge.xla.loops.carried_values import PYTHON, equal, is_same, is_value


class OtherObject(NotOneLoop):
    """An object of the program is another one afterwards: its attributes are carried, and not itself."""

    def __init__(self, number: int) -> None:
        super().__init__("an object is another one afterwards")
        self.number = number


class LoopValue:
    """The value of a loop, and the checks of what its body returns.

    A loop carries the value itself. Of an object whose place another one takes in each iteration, it carries the
    attributes: a tuple of them stands in a flat tuple of all leaves. `opened` are the numbers of such leaves.
    """

    def __init__(self, init: Any, opened: frozenset[int] = frozenset()) -> None:
        self.init = init
        self.opened = opened
        self.leaves, self.structure = containers_of(init)
        _check_shapes(self.leaves, "a loop carries")
        self.objects = {number: leaves_of(self.leaves[number]) for number in opened}
        self.is_unrolled = False
        # What is carried before the first iteration.
        self.first = self._packed(self.leaves) if opened else init

    def of(self, carried: Any) -> Any:
        """The value as the program sees it, of what is carried."""
        if not self.opened:
            return carried
        parts = list(carried)
        for number, (_, structure) in self.objects.items():
            parts[number] = rebuilt(structure, parts[number])
        return rebuilt(self.structure, parts)

    def ambiguous(self, value: Any) -> list[Any]:
        """Objects of a value that are the first ones if there was no iteration, and these."""
        now = containers_of(value)[0]
        return [one for number in self.opened for one in (self.leaves[number], now[number])]

    def unrolled(self, carried: Any) -> Any:
        """What is carried if each iteration is compiled for itself: the value, with the objects as they are."""
        value = self.init if carried is self.first else self.of(carried)
        self.opened, self.objects, self.is_unrolled = frozenset(), {}, True
        return value

    def next(self, carried: Any, body: Callable[..., Any], *index: Any) -> Any:
        """What is carried after an iteration, which calls `body(*index, value)`."""
        given = self.of(carried)
        objects = [containers_of(given)[0][number] for number in self.opened]
        value = body(*index, given)
        for number, one in zip(self.opened, objects, strict=True):
            leaves, structure = leaves_of(one)
            if structure != self.objects[number][1] or not all(map(is_same, leaves, carried[number])):
                raise NotOneLoop(f"it changes the {type(one).__name__} that it is given, and returns another one")
        leaves, structure = containers_of(value)
        _check_shapes(leaves, "the body of a loop returns")
        self._check_structure(self.structure, structure)
        if self.opened:
            return self._packed([self._checked(*one) for one in enumerate(leaves)])
        fresh = [self._checked(*one) for one in enumerate(leaves)]
        return value if all(map(_is, fresh, leaves)) else rebuilt(structure, fresh)

    def _packed(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        parts = list(leaves)
        for number, (before, structure) in self.objects.items():
            after, found = leaves_of(parts[number])
            self._check_structure(structure, found)
            parts[number] = tuple(map(_like, before, after))
        return tuple(parts)

    def _check_structure(self, before: Any, after: Any) -> None:
        if after != before:
            raise ArgumentError(
                f"the body of a loop got a value of the structure {shown(before)} and returned {shown(after)}",
                where=resolve(here()),
                remedy="return the containers of the first value",
            )

    def _checked(self, number: int, new: Any) -> Any:
        first = self.leaves[number]
        if number in self.opened or equal(new, first):
            return new
        if isinstance(leaves_of(first)[1], ObjectStructure):
            if self.is_unrolled:
                return new
            raise OtherObject(number)
        return _like(first, new)


class Results:
    """What the branches of a cond return, and the checks of it; `opened` as of `LoopValue`."""

    def __init__(self, opened: frozenset[int] = frozenset()) -> None:
        self.opened = opened
        self.structures: dict[int, Any] = {}
        # Of each leaf itself, and the leaves and the structure that it had then, if it is an object.
        self.sides: dict[int, list[tuple[Any, list[Any], Any]]] = {}

    def of_side(self, number: int, value: Any) -> Any:
        """What is chosen, given what a branch returns."""
        leaves, structure = containers_of(value)
        _check_shapes(leaves, "a branch of a cond returns")
        self.structures[number] = structure
        self.sides[number] = parts = [(leaf, *leaves_of(leaf)) for leaf in leaves]
        if len(self.sides) == 2:
            self._check()
        if not self.opened:
            return value
        return tuple([tuple(inner) if one in self.opened else leaf for one, (leaf, inner, _) in enumerate(parts)])

    def of(self, chosen: Any) -> Any:
        """The value as the program sees it."""
        if not self.opened:
            return chosen
        parts = list(chosen)
        for number in self.opened:
            parts[number] = rebuilt(self.sides[0][number][2], parts[number])
        return rebuilt(self.structures[0], parts)

    def ambiguous(self, value: Any) -> list[Any]:
        """Objects of a value that are those of one branch or the other, and these."""
        now = containers_of(value)[0]
        sides = self.sides.values()
        return [one for number in self.opened for one in (now[number], *(side[number][0] for side in sides))]

    def _check(self) -> None:
        first, second = self.structures[0], self.structures[1]
        if first != second:
            raise ArgumentError(
                f"the branches of a cond return {shown(first)} and {shown(second)}",
                where=resolve(here()),
                remedy="return the same containers from both",
            )
        for number, ((a, _, one), (b, _, other)) in enumerate(zip(self.sides[0], self.sides[1], strict=True)):
            if equal(a, b):
                continue
            if isinstance(one, ObjectStructure) and one == other:
                if number not in self.opened:
                    raise OtherObject(number)
            elif not is_value(a) or not is_value(b):
                raise TraceError(
                    f"the branches of a cond return {a!r} and {b!r}, and which it is is not known",
                    where=resolve(here()),
                    remedy="return arrays and numbers",
                )
            elif np.shape(a) != np.shape(b):
                raise ArgumentError(
                    f"the branches of a cond return arrays of shapes {np.shape(a)} and {np.shape(b)}",
                    where=resolve(here()),
                    remedy="return the same shapes from both",
                )


def _is(a: Any, b: Any) -> bool:
    return a is b


def _like(first: Any, new: Any) -> Any:
    """What a body returns in the place of a first value, in that one's dtype; ArgumentError if that cannot be."""
    if not is_value(new) or not is_value(first):
        if equal(new, first):
            return new
        raise ArgumentError(
            f"a loop cannot carry a {type(new if is_value(first) else first).__name__}",
            where=resolve(here()),
            remedy="carry arrays and numbers, and capture the rest",
        )
    if np.shape(new) != np.shape(first):
        raise ArgumentError(
            f"the body of a loop got a value of shape {np.shape(first)} and returned one of {np.shape(new)}",
            where=resolve(here()),
            remedy="return values of the shapes of the first ones",
        )
    if isinstance(first, PYTHON) or is_weak(first):
        return new
    dtype, given = (np.result_type(getattr(one, "dtype", type(one))) for one in (first, new))
    if given == dtype:
        return new
    if not np.can_cast(given, dtype, "same_kind"):
        raise ArgumentError(
            f"the body of a loop got a value of dtype {dtype} and returned one of {given}",
            where=resolve(here()),
            remedy=f"start with a value of dtype {given}",
        )
    return new.astype(dtype) if hasattr(new, "astype") else dtype.type(new)


def _check_shapes(leaves: Sequence[Any], what: str) -> None:
    """Raise if the shape of a value is known only when the program runs."""
    for leaf in leaves:
        if type(leaf) is ARRAYS.bounded:
            raise RefusedError(
                f"{what} {leaf!r}: XLA's values have shapes that are known before",
                where=resolve(here()),
                remedy="carry the whole array and the bounds of the slice, x, i, j, and take x[i:j] where it is used",
            )
