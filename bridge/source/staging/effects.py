"""Calls that do, or give, something else each time: a compiled program does them once, while it is traced."""

from __future__ import annotations

import contextvars
import io
import logging
import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from bridge.code_position import here, resolve
from bridge.errors import TraceError

GENERATORS = (np.random.Generator, np.random.RandomState, random.Random)
"""The classes of what draws random numbers."""

_OBJECTS = (*GENERATORS, io.IOBase, logging.Logger)
_FUNCTIONS = frozenset({print, input, open, next, breakpoint})
_MODULES = frozenset({
    "_datetime", "datetime", "_random", "random", "_warnings", "warnings", "io", "_io", "logging", "nt", "os", "posix",
    "secrets", "shutil", "socket", "subprocess", "sys", "time", "urllib", "uuid",
})  # fmt: skip


def moves_on(callee: Any) -> bool:
    """Whether a call gives something else each time, because what it is a method of has moved on."""
    owner = getattr(callee, "__self__", None)
    return isinstance(owner, _MOVING) or hasattr(type(owner), "__next__") or callee is next


_MOVING = (*GENERATORS, io.IOBase, contextvars.ContextVar)


class _Watching(threading.local):
    open: Watch | None = None


_WATCHING = _Watching()


class Watch:
    """What is found out of a program while it is traced: the first call that must not be left out of later runs."""

    def __init__(self) -> None:
        self.error: TraceError | None = None


@contextmanager
def watched() -> Iterator[Watch]:
    """Inside, a program that is traced gets a TraceError where it would do something that is seen outside of it."""
    before, _WATCHING.open = _WATCHING.open, Watch()
    try:
        yield _WATCHING.open
    finally:
        _WATCHING.open = before


def is_watched() -> bool:
    """Whether this thread traces a program that must have no effects."""
    return _WATCHING.open is not None


def check(callee: Callable[..., Any]) -> None:
    """Before a program calls something: TraceError if effects are watched, and the call has one."""
    watch = _WATCHING.open
    if watch is None or not _has_effect(callee):
        return
    name = getattr(callee, "__qualname__", None) or type(callee).__name__
    error = TraceError(
        f"the program calls {name}(), which does or gives something each time: a compiled program would leave it out",
        where=resolve(here()),
        remedy="call it outside of the function, and pass what it gives as an argument",
    )
    watch.error = watch.error or error
    raise error


def _has_effect(callee: Any) -> bool:
    if isinstance(getattr(callee, "__self__", None), _OBJECTS):
        return True
    try:
        if callee in _FUNCTIONS:
            return True
    except TypeError:  # not hashable
        return False
    return str(getattr(callee, "__module__", "")).partition(".")[0] in _MODULES
