"""Short loops of a program: which ones are unrolled without being asked, and how often that repeats what is in them."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any, cast

from bridge.rewind.interpreter import current_context
from bridge.rewind.values import is_abstract

SHORT = 4
"""Turns of the longest loop that is unrolled without being asked."""

MANY = 9
"""How often the body of short loops inside of each other is repeated at most, that of 3 times 3 turns for example."""


@contextmanager
def repeated(count: Any) -> Iterator[float]:
    """Inside, how often bodies are repeated if a loop of so many turns is unrolled; infinity if it is not short."""
    if is_abstract(count) or count > SHORT:
        yield math.inf
        return
    trace = cast("Any", current_context()).home.trace
    before, trace.repeats = trace.repeats, trace.repeats * max(count, 1)
    try:
        yield trace.repeats
    finally:
        trace.repeats = before


def may_hold_loops(body: Any) -> bool:
    """Whether other loops are written in the body of a loop, which may be long ones, for all that is known.

    Of those a short loop is not unrolled: each of its turns would be a loop of its own to compile. In derivatives of
    derivatives it is: there a loop in a loop is traced several times as often as alone.
    """
    context, code = cast("Any", current_context()), body.__code__
    if context.differentiates and context.outer.differentiates:
        return False
    return code not in _trace().unrolled and _has_loops(code)


@functools.cache
def _has_loops(code: CodeType) -> bool:
    if not {"loop", "repeat"}.isdisjoint(code.co_names):
        return True
    return any(_has_loops(one) for one in code.co_consts if isinstance(one, CodeType))


def _trace() -> Any:
    return cast("Any", current_context()).home.trace
