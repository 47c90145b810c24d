"""How long a program becomes while it is traced: a warning, and an error before it takes minutes to compile."""

from __future__ import annotations

from collections import Counter
from typing import Any

from bridge.code_position import Position, here, resolve, warn
from bridge.errors import TraceError
from bridge.source.staging import effects

LONG = 2000
"""Operations of a program that are worth a warning."""

MOST = 20_000
"""Operations of the longest program that is compiled."""

MOST_TRIED = 100_000
"""Operations in loops and branches, as often as these are tried and traced, of the longest program that is."""

_REMEDY = 'write the loop so that its turns are alike (bridge.fori_loop says what that asks), or use engine="native"'


class Length:
    """Counts the operations of a traced program that are not in a loop of it, and apart from them all others."""

    def __init__(self) -> None:
        self.operations = self.tried = 0
        # A program that nobody asked to compile must not take long.
        self.most = LONG if effects.is_watched() else MOST
        self.lines: Counter[Position] = Counter()
        self.unrolled: dict[Position, tuple[Any, str]] = {}

    def count(self) -> None:
        """Note an operation that XLA will have to compile; TraceError if there are too many."""
        self.operations += 1
        if self.operations > LONG // 2:
            self.lines[here()] += 1
        if self.operations > self.most:
            raise TraceError(
                f"a program of more than {self.most} operations is not compiled: it would take long{self._reasons()}",
                where=resolve(here()),
                remedy=_REMEDY,
            )

    @property
    def is_exceeded(self) -> bool:
        """Whether tracing has taken too long: whatever else is tried with a part of the program takes longer."""
        return self.tried > MOST_TRIED

    def count_inside(self) -> None:
        """Note an operation in a loop or a branch, which are traced several times; TraceError if there are too many.

        In each side of a branch what lies inside may be traced again: that doubles with each branch in another one.
        """
        self.tried += 1
        if self.is_exceeded:
            raise TraceError(
                f"tracing a program has taken more than {MOST_TRIED} operations in loops and branches: branches that "
                f"depend on values lie too deep in each other, or in loops that are unrolled{self._reasons()}",
                where=resolve(here()),
                remedy="return, break and bind names to other arrays in fewer branches that lie in each other "
                '(np.where, or a write: x[...] = y instead of x = y); or use engine="native"',
            )

    def note_unrolled(self, where: Position, count: int | None, reason: str) -> None:
        """Take note of a loop of the program of which each turn is compiled."""
        self.unrolled[where] = (count, reason)

    def warn(self) -> None:
        """Tell the user of a program that has become long."""
        if self.operations <= LONG:
            return
        most = self.lines.most_common(1)
        where = f", most of them from {resolve(most[0][0])}" if most else ""
        warn(
            f"a program of {self.operations} operations is compiled{where}: compiling takes long, and what a Python "
            f"loop repeats is repeated in the program{self._reasons()}\n  remedy: {_REMEDY}"
        )

    def _reasons(self) -> str:
        """Why loops were unrolled, the longest first."""
        longest = sorted(self.unrolled.items(), key=lambda one: -(one[1][0] or 0))[:_TOLD]
        return "".join(
            f"\n  the loop at {resolve(where)}{'' if count is None else f', of {count} turns,'} is unrolled: {reason}"
            for where, (count, reason) in longest
        )


_TOLD = 5
"""Loops that a message names."""
