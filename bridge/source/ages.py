"""How old memory is that is lent: whether a checkpointed call has made it, or found it there.

A checkpointed call runs again, and makes what it made a second time; what was there before, it is given as it was.
"""

from __future__ import annotations

import itertools
import weakref
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from bridge.code_position import frames
from bridge.rewind.checkpoint import record
from bridge.rewind.closures import Closure
from bridge.rewind.roots import serial_now
from bridge.source.exchanging import Exchange
from bridge.source.reading import is_rewritten

_OLDER = itertools.count(-1, -1)
_FRAMES = 32
"""How many callers are looked at for objects that have an array which is lent."""


class Calls(NamedTuple):
    """The functions that run inside of one checkpointed call, and of no inner one; the outermost have no such call.

    `given` is what it was called with, and memory whose serial number is at most `since` was there before it.
    """

    frames: list[Any]
    given: tuple[Any, ...]
    since: int


def checkpointed_calls() -> list[Calls]:
    """What runs, from the outermost functions on."""
    calls: list[Calls] = []
    own: list[Any] = []
    for frame in itertools.islice(frames(), _FRAMES):
        if is_rewritten(frame.f_code):
            own.append(frame)
        elif frame.f_code is record.__code__:
            known = frame.f_locals
            given = *_owners(known["f"]), *known["args"], *known["kwargs"].values()
            calls.append(Calls(own, given, known["since"]))
            own = []
    return [Calls(own, (), 0), *reversed(calls)]


def _owners(f: Any) -> tuple[Any, ...]:
    """The object that a call is a method of, or that is called: it was there before."""
    function = f.function if isinstance(f, Closure) else f
    return () if isinstance(function, FunctionType) else (getattr(function, "__self__", function),)


def age_found(found: Exchange, calls: list[Calls], lent: Any) -> int | None:
    """Look through everything that runs; the serial number of what is lent, if a checkpointed call has not made it."""
    age = None
    *around, own = calls
    for number, one in enumerate(around, 1):
        found.note(one.given)
        found.given(one.given)
        for frame in one.frames:
            found.in_frame(frame, frame.f_locals)
        if age is None and lent in found.outside:
            # It was there before the innermost call; before an outer one only if it is reached from outside of that.
            age = next(_OLDER) if number == 1 else calls[number].since
    found.note(own.given)
    found.given(own.given)
    if age is None and around and lent in found.outside:
        age = own.since
    shared = {name for frame in own.frames for name in frame.f_code.co_cellvars}
    for frame in own.frames:
        found.in_frame(frame, [name for name in frame.f_code.co_freevars if name not in shared])
    if age is None and around and lent in found.outside:
        age = next(_OLDER)
    # What functions of the innermost call have made is their own, and so are their containers.
    for frame in own.frames:
        found.in_frame(frame, frame.f_locals)
    return age


class Births:
    """Which arrays a program has made, and when."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._births: dict[int, tuple[weakref.ref[np.ndarray], int]] = {}

    def note(self, array: np.ndarray) -> None:
        """Take note of an array that was made just now."""
        if len(self._births) > self._room:
            self._births = {key: one for key, one in self._births.items() if one[0]() is not None}
            self._room = max(self._room, 2 * len(self._births))
        self._births[id(array)] = weakref.ref(array), serial_now()

    def of(self, array: np.ndarray) -> int | None:
        """Since when there is an array: memory that was made later has larger serial numbers. None: nobody has said."""
        found = self._births.get(id(array))
        return found[1] if found is not None and found[0]() is array else None
