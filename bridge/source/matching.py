"""Which code object of a rewritten statement stands for which one of the statement as it was.

They are told apart by what functions need of them, and where several look alike (the lambdas of a line) by their order.
The compiler leaves out what no run reaches, before it is rewritten or afterwards, so that some may have no partner.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import CodeType
from typing import Any

_OF_FUNCTIONS = ("co_qualname", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_freevars")
"""What code objects have to share that run in one function."""


def partners(old: Sequence[CodeType], new: Sequence[CodeType]) -> tuple[CodeType | None, ...]:
    """For each old code object the new one that stands for it; None where there is none, or one cannot tell which."""
    waiting, made = _alike(old), _alike(new)
    found: dict[int, CodeType] = {}
    for look, numbers in waiting.items():
        theirs = [new[number] for number in made.get(look, ())]
        if len(theirs) == len(numbers):
            found.update(zip(numbers, theirs, strict=True))
            continue
        mine = [_start(old[number]) for number in numbers]
        starts = [_start(one) for one in theirs]
        for number, start in zip(numbers, mine, strict=True):
            if mine.count(start) == starts.count(start) == 1:
                found[number] = theirs[starts.index(start)]
    return tuple(found.get(number) for number in range(len(old)))


def _alike(codes: Sequence[CodeType]) -> dict[Any, list[int]]:
    """The numbers of code objects that look alike, in the order of the source.

    What a loop goes through is evaluated behind the function that is its body, so that staged ones are made in another.
    """
    found: dict[Any, list[int]] = {}
    for number in sorted(range(len(codes)), key=lambda number: _start(codes[number])):
        found.setdefault(_look(codes[number]), []).append(number)
    return found


def _start(code: CodeType) -> tuple[int, int]:
    """Where a code object begins in its file."""
    return min(((line, column) for line, _, column, _ in code.co_positions() if line and column), default=(0, 0))


def _look(code: CodeType) -> tuple[Any, ...]:
    return (code.co_firstlineno, *(getattr(code, name) for name in _OF_FUNCTIONS))
