"""Iterators in parts of a program that are traced several times: what one has given, it does not give again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from bridge.rewind.interpreter import current_context
from bridge.source.staging.truth import NotOneLoop
from bridge.source.state import Watch


def open_watches() -> Iterator[Watch]:
    """The parts of the program that are watched, of all contexts."""
    context: Any = current_context()
    while context is not None:
        if context.loan is not None:
            yield from context.loan.watches.open
        context = context.outer


def refuse(reason: str) -> None:
    """Raise in a part of a program that is tried: it cannot be a loop or a branch."""
    is_watched = False
    for watch in open_watches():
        watch.refused = watch.refused or reason
        is_watched = True
    if is_watched:
        raise NotOneLoop(reason)


def note_made(thing: Any) -> None:
    """Take note of an iterator of this package that was made just now."""
    for watch in open_watches():
        watch.fresh[id(thing)] = thing


def check_moves(thing: Any) -> None:
    """Before an iterator of this package moves on: it must have been made in the parts that are tried."""
    if any(id(thing) not in watch.fresh for watch in open_watches()):
        refuse(_MOVES)


def check_asked(thing: Any) -> None:
    """Before any iterator is asked for elements: it must not have been there before the parts that are tried."""
    if any(id(thing) in watch.iterators for watch in open_watches()):
        refuse(_MOVES)


def checked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that is not read, which may ask the iterators that it gets; itself if there are none to look at."""
    if not any(watch.iterators for watch in open_watches()):
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        for one in (*args, *kwargs.values()):
            check_asked(one)
        return function(*args, **kwargs)

    return call


_MOVES = "it takes elements of an iterator that was there before, which gives each of them once"
