"""Where in the user's code an operation was called: captured cheaply, resolved only for a message."""

from __future__ import annotations

import dis
import inspect
import itertools
import os
import sys
import warnings
from collections.abc import Iterator
from itertools import takewhile
from types import CodeType, FrameType
from typing import Any

import numpy as np

from bridge.errors import BridgeWarning
from bridge.in_c import quick

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY = os.path.dirname(os.path.abspath(np.__file__))
_LIBRARIES = (
    _NUMPY + os.sep,
    os.path.join(os.path.dirname(_NUMPY), "scipy") + os.sep,
    os.path.join(os.path.dirname(_NUMPY), "jax") + os.sep,
    os.path.join(os.path.dirname(_NUMPY), "pandas") + os.sep,
    os.path.join(os.path.dirname(_NUMPY), "xarray") + os.sep,
    _HERE,
    os.path.join(os.path.dirname(_HERE[:-1]), "rules") + os.sep,
)
_USERS = (os.path.join(_HERE, "demo") + os.sep, os.path.join(_HERE, "source", "elementwise.py"))
_MOST = 10_000
"""How many names of files are remembered: what is made at run time often has a name of its own."""

_REPLAYS = os.path.join(_HERE, "rewind", "replayed.py")
"""The file whose functions replay entries of tapes: the variable `position` of their frames is the user's line."""

# By its name, whether a file is one of these; None for that which replays tapes.
INTERNAL: dict[str, bool | None] = {}

_ASSIGNS = dis.opmap["STORE_SUBSCR"]

Position = tuple[CodeType, int]


def here() -> Position:
    """The code object and the instruction of the line of the user's code that runs: see `users_frame`."""
    try:
        frame: Any = sys._getframe(2)  # the caller is inside
        while INTERNAL[frame.f_code.co_filename]:
            frame = frame.f_back
    except (AttributeError, KeyError, ValueError):  # no frame is outside, or a file is new
        frame = next(one for one in frames() if not judged(one.f_code.co_filename) or one.f_back is None)
    return _replayed(frame) if frame.f_code.co_filename == _REPLAYS else (frame.f_code, frame.f_lasti)


here = quick(here, "here")


def frames() -> Iterator[FrameType]:
    """The frames that run, from the one on that asks."""
    frame = sys._getframe().f_back
    while frame is not None:
        yield frame
        frame = frame.f_back


def users_frame() -> FrameType:
    """The innermost frame outside this package, NumPy, SciPy and JAX, which runs the line of the user's code."""
    return next(one for one in frames() if not is_internal(one.f_code.co_filename) or one.f_back is None)


def _replayed(frame: Any) -> Position:
    """The line of the user's code that ran when the entry of a tape was recorded which is replayed now."""
    while frame.f_code.co_filename == _REPLAYS:
        if "position" in frame.f_locals:
            position: Position = frame.f_locals["position"]
            return position
        frame = frame.f_back
    frame = users_frame()
    return frame.f_code, frame.f_lasti


def judged(file: str) -> bool | None:
    """Whether a file belongs to this package, NumPy, SciPy or JAX; None for that which replays tapes."""
    if file not in INTERNAL:
        if len(INTERNAL) > _MOST:
            INTERNAL.clear()
        INTERNAL[file] = None if file == _REPLAYS else file.startswith(_LIBRARIES) and not file.startswith(_USERS)
    return INTERNAL[file]


def is_internal(file: str) -> bool:
    """Whether a file belongs to this package, NumPy, SciPy or JAX."""
    return judged(file) is not False


def frames_inside() -> Iterator[FrameType]:
    """The frames of this package that run since it was called, from the innermost one on."""
    return takewhile(lambda one: _is_ours(one.f_code.co_filename), frames())


def callers_frame() -> FrameType:
    """The innermost frame outside this package: the line that called it, be it a library's."""
    return next(one for one in frames() if not _is_ours(one.f_code.co_filename) or one.f_back is None)


def warn(message: str) -> None:
    """Issue a `BridgeWarning` at the line of the user's code that runs."""
    frame = users_frame()
    names, registry = frame.f_globals, frame.f_globals.setdefault("__warningregistry__", {})
    module = names.get("__name__") or "<string>"
    warnings.warn_explicit(message, BridgeWarning, frame.f_code.co_filename, frame.f_lineno, module, registry)


def variable_of(thing: Any) -> str | None:
    """The name that the user's code, as far as it runs now, has for an object; None if it has none.

    For messages: it looks through the variables of all frames.
    """
    for frame in frames():
        if not is_internal(frame.f_code.co_filename):
            for names in (frame.f_locals, frame.f_globals):
                for name, value in list(names.items()):
                    if value is thing and name.isidentifier() and not name.startswith("_"):
                        return str(name)
    return None


def assigns_here() -> bool:
    """Whether the innermost frame outside this package runs `a[key] = value`, not a call of something that assigns."""
    for frame in frames():
        if frame.f_code.co_filename == _REPLAYS:
            return True  # what was recorded has been judged
        if not _is_ours(frame.f_code.co_filename):
            return frame.f_code.co_code[frame.f_lasti] == _ASSIGNS
    return False


def _is_ours(file: str) -> bool:
    return file.startswith(_HERE) and not file.startswith(_USERS)


def resolve(position: Position | None) -> str | None:
    """`file:line` of a position."""
    if position is None:
        return None
    return f"{position[0].co_filename}:{line_of(position)} in {position[0].co_name}"


def line_of(position: Position) -> int:
    """The number of the line of a position."""
    code, instruction = position
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return line


def defined_at(function: Any) -> str | None:
    """`file:line` of a function's definition; None where it is not Python's."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def span(position: Position) -> tuple[Any, ...]:
    """File, lines and columns of a position: the same for a function and for what its source was rewritten to."""
    code, instruction = position
    where = next(itertools.islice(code.co_positions(), instruction // 2, None), ())
    return code.co_filename, code.co_qualname, *where
