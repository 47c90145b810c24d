"""Texts that tracked numbers were written into, and programs that make numbers of them again.

A text is there to be shown: it carries no gradient, and nobody minds. Read back as a number, it would be a constant
whose gradient is lost in silence; a context remembers which numbers were written (`note_text`), and read code asks.
"""

from __future__ import annotations

import functools
import io
import math
import numbers
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bridge.arrays.tracked import is_tracked
from bridge.code_position import here, resolve
from bridge.errors import EscapeError
from bridge.rewind.interpreter import current_context
from bridge.rewind.values import describes


def reads_text(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which may make numbers of texts: an EscapeError if a tracked number was written as one of them."""

    @functools.wraps(function, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        if not args or current_context() is None:
            return function(*args, **kwargs)
        text = args[0].getvalue() if isinstance(args[0], (io.StringIO, io.BytesIO)) else args[0]
        if not _is_text(text):
            return function(*args, **kwargs)
        check_unwritten(text)
        found = function(*args, **kwargs)
        for number in _numbers_in(found):
            _check(number, text)
        return found

    return call


def evaluated(text: Any) -> Any:
    """A text that is run as code: an EscapeError if a tracked number was written into it."""
    if _is_text(text) and current_context() is not None:
        check_unwritten(text)
        for number in _NUMERAL.findall(text if isinstance(text, str) else str(text)):
            _check(float(number), text)
            _check(-float(number), text)
    return text


_NUMERAL = re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?")
"""A float in a text of code, without its sign."""


def check_unwritten(text: Any) -> None:
    """Raise if a text holds a number whose value is known only when a compiled program runs."""
    context = current_context()
    parts = text if isinstance(text, (list, tuple)) else (text,)
    if context is not None and context.home.is_abstract and any(map(describes, map(str, parts))):
        raise _lost(context, text)


def _check(number: float, text: Any) -> None:
    context = current_context()
    while context is not None:
        if number in context.written:
            raise _lost(context, text)
        context = context.outer


def _lost(context: Any, text: Any) -> EscapeError:
    shown = str(text) if len(str(text)) <= 40 else f"{str(text)[:37]}..."
    error = EscapeError(
        f"the text {shown!r} is made a number, and a tracked number was written as it: its gradient would be lost",
        where=resolve(here()),
        remedy="use the number itself (float(x) stays tracked, round(x, n) rounds), or bridge.detach(x) if no gradient "
        "is meant",
    )
    context.escaped = context.escaped or error
    return error


def _is_text(thing: Any) -> bool:
    if isinstance(thing, (list, tuple)):
        return len(thing) > 0 and isinstance(thing[0], str)
    return isinstance(thing, (str, bytes))


def _numbers_in(found: Any) -> Iterator[float]:
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, (list, tuple)):
        for one in found[:_MOST]:
            yield from _numbers_in(one)
    elif is_tracked(found):
        return
    elif isinstance(found, np.ndarray) and found.dtype.kind == "f":
        yield from map(float, found.ravel()[:_MOST])
    elif isinstance(found, (complex, np.complexfloating)):
        yield from (float(found.real), float(found.imag))
    elif isinstance(found, (float, np.floating, numbers.Number)) and math.isfinite(found):  # type: ignore[arg-type]
        yield float(found)  # type: ignore[arg-type]


_MOST = 64
"""Numbers of a text that are looked at."""
