"""The entries of a tape, and how each is done again: as if the line of the program ran that was recorded.

Positions in the program that are asked for in a replay are those of the entries (`code_position.here`): frames of this
file have a variable `position`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import Position
from bridge.rewind.operands import Named, Operand, Retake, is_tracked, outline


class State(NamedTuple):
    """The state of a context and its trace in which an operation was called.

    `settling` is True during writes into memory that follows other memory. `tries` counts the enclosing `try` blocks of
    the program, and `parts` the enclosing bodies of Python's loops and branches.
    """

    settling: bool
    tries: int
    parts: int

    @classmethod
    def of(cls, context: Any) -> State:
        """The state now."""
        trace = context.home.trace
        return cls(context.settling, trace.tries, trace.parts)

    def restore(self, context: Any) -> None:
        """Set the state of a context and its trace."""
        trace = context.home.trace
        context.settling, trace.tries, trace.parts = self


class Event:
    """A recorded operation: a call of a function of the arrays' interface.

    Parameters
    ----------
    entry : the function of the interface.
    numbers : the numbers of the tracked values in its result.
    state : the state in which it was called.
    is_own : False if it is an operation of a context outside of the tape's own, as those on integers are.
    """

    __slots__ = ("args", "context", "entry", "is_own", "kwargs", "numbers", "position", "state")

    def __init__(
        self,
        entry: Callable[..., Any],
        args: tuple[Operand, ...],
        kwargs: dict[str, Operand],
        numbers: tuple[int, ...],
        position: Position,
        context: Any,
        state: State,
        is_own: bool = True,
    ) -> None:
        self.entry, self.args, self.kwargs, self.numbers = entry, args, kwargs, numbers
        self.position, self.context, self.state = position, context, state
        self.is_own = is_own

    def outline(self) -> Any:
        """What another recording of the same body has in common with this one."""
        if not self.is_own:
            return ()
        bodies = [one for one in self.args if hasattr(one, "tape")]
        if bodies:
            return tuple(map(outline, bodies))
        return self.entry.__name__, *map(outline, self.args), outline(Named(self.kwargs))

    def replay(self, values: Any) -> None:
        """Do it again."""
        args = [one.value(values) for one in self.args]
        kwargs = {name: one.value(values) for name, one in self.kwargs.items()}
        context = self.context
        position = self.position  # noqa: F841  (`here` reads it from this frame)
        before = State.of(context)
        self.state.restore(context)
        try:
            result = self.entry(*args, **kwargs)
        finally:
            before.restore(context)
        if self.numbers:
            bound(values, self.numbers, result)


def bound(values: Any, numbers: tuple[int, ...], result: Any) -> None:
    """Number the tracked values in a result."""
    waiting, left = [result], list(reversed(numbers))
    while waiting:
        one = waiting.pop()
        if is_tracked(one):
            if not left:
                raise Retake
            values[left.pop()] = one
        elif isinstance(one, (list, tuple)):
            waiting += reversed(one)
        elif type(one) is dict:
            waiting += reversed(list(one.values()))
    if left:
        raise Retake


class Known:
    """The program read the contents of a tracked value, and may have decided by them."""

    __slots__ = ("found", "operand")

    def __init__(self, operand: Operand, found: Any) -> None:
        self.operand = operand
        self.found = np.array(found)

    def outline(self) -> Any:
        """What another recording of the same body has in common with this one."""
        return ()

    def replay(self, values: Any) -> None:
        """Raise Retake if the contents differ, or are unknown."""
        value = self.operand.value(values)
        now = value.place.context.home.known(value)
        if now is None or not np.array_equal(now, self.found):
            raise Retake
