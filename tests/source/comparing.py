"""What a run shows to whoever watches: what it returns, raises with which lines, prints and logs."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import bridge
from bridge.source.operations import READER

Run = Callable[[Callable[..., Any], list[Any]], Any]


def plain(function: Callable[..., Any], log: list[Any]) -> Any:
    return function(log)


def read(function: Callable[..., Any], log: list[Any]) -> Any:
    """Read, and no context is open."""
    return READER.of(function)(log)


def differentiated(function: Callable[..., Any], log: list[Any]) -> Any:
    """Read, in a differentiated program that has nothing else to do with it."""
    found = []

    def program(x: Any) -> Any:
        found.append(function(log))
        return x * 1.0

    bridge.value_and_grad(program)(2.0)
    return found[0]


@dataclasses.dataclass
class Outcome:
    returned: Any
    raised: Any
    printed: str
    logged: list[Any]


def outcome(run: Run, function: Callable[..., Any], home: str) -> Outcome:
    """What a function does; `home` begins the names of files whose lines count."""
    log: list[Any] = []
    returned = raised = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            returned = normal(run(function, log))
        except Exception as error:
            raised = _described(error, home)
    return Outcome(returned, raised, printed.getvalue(), normal(log))


def _described(error: BaseException | None, home: str) -> Any:
    if error is None:
        return None
    frames = [
        (one.lineno, one.end_lineno, one.colno, one.end_colno, one.name, one.line)
        for one in traceback.extract_tb(error.__traceback__)
        if one.filename.startswith(home)
    ]
    outer = error.__suppress_context__ or error.__context__ is None
    return (
        type(error).__name__,
        str(error),
        getattr(error, "name", None),
        frames,
        _described(error.__cause__, home),
        None if outer else _described(error.__context__, home),
    )


def normal(value: Any) -> Any:
    """A value as something that compares by what it is: arrays by bits, functions and objects by what they say."""
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, dict):
        return type(value).__name__, [(normal(k), normal(v)) for k, v in value.items()]
    if isinstance(value, (list, tuple, set, frozenset)):
        listed = [normal(one) for one in value]
        return type(value).__name__, sorted(listed, key=repr) if isinstance(value, (set, frozenset)) else listed
    if isinstance(value, (type, ModuleType)):
        return value.__name__
    if type(value).__repr__ is object.__repr__:
        return type(value).__name__
    return type(value).__name__, repr(value).partition(" at 0x")[0]
