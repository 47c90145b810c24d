"""Code objects of a rewritten statement: their partners in the original one, their names and their constants."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Sequence
from types import CodeType
from typing import Any

from bridge.source.finding import codes_in
from bridge.source.nodes import PART, READER

_OF_FUNCTIONS = ("co_qualname", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_freevars")
"""What code objects have to share that run in one function."""


def partners(old: Sequence[CodeType], new: Sequence[CodeType]) -> tuple[CodeType | None, ...]:
    """For each old code object the new one that runs in its place; None if there is none, or several are possible.

    Functions constrain them (`_OF_FUNCTIONS`); where several are alike, such as the lambdas of a line, their order
    decides. The compiler leaves out unreachable code, before or after the rewriting, so some have no partner.
    """
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


def is_part(code: CodeType) -> bool:
    """Whether a code object is that of a part of a function, which staging has made."""
    return PART in code.co_varnames


def named(code: CodeType, owner: CodeType | None = None, prefix: str = "", wanted: str = "") -> CodeType:
    """Code in which parts of functions have the names of these functions, and what is in them is called as ever."""
    qualname = code.co_qualname
    if prefix and qualname.startswith(prefix):
        qualname = wanted + qualname.removeprefix(prefix)
    if owner is not None and is_part(code):
        renamed = code.replace(co_name=owner.co_name, co_qualname=owner.co_qualname)
    else:
        renamed = code.replace(co_qualname=qualname)
    # What is in a comprehension or a class is none of its variables, and named without them.
    scope = "<locals>." if is_part(code) and owner is not None and not _has_locals(owner) else ""
    inner = [
        named(one, owner if is_part(code) else renamed, f"{code.co_qualname}.{scope}", f"{renamed.co_qualname}.")
        if isinstance(one, CodeType)
        else one
        for one in code.co_consts
    ]
    return renamed.replace(co_consts=tuple(inner))


def _has_locals(code: CodeType) -> bool:
    """Whether what is in a code object is named as its variables are: not in comprehensions and classes."""
    comprehension = code.co_name in ("<genexpr>", "<listcomp>", "<setcomp>", "<dictcomp>")
    return bool(code.co_flags & inspect.CO_OPTIMIZED) and not comprehension


def with_reader(code: CodeType, reader: Any) -> CodeType:
    """Code in which `reader` replaces the constant that marks its place."""
    constants = tuple(
        with_reader(one, reader) if isinstance(one, CodeType) else reader if _is_marker(one) else one
        for one in code.co_consts
    )
    return code.replace(co_consts=constants)


def _is_marker(one: Any) -> bool:
    return type(one) is str and one == READER


def rebound(code: CodeType) -> tuple[int, ...]:
    """Which of the variables of enclosing functions a function gives other values, by number."""
    if not code.co_freevars:
        return ()
    stores = {i.argval for one in codes_in(code) for i in dis.get_instructions(one) if i.opname == "STORE_DEREF"}
    return tuple(number for number, name in enumerate(code.co_freevars) if name in stores)
