"""Short cuts that hold of finite numbers only, and what a program does with others.

A program that tells of what it met takes the short cut in any case, and says where it did not hold: then another one is
compiled, with both ways in it, and its results are given. Compiling the long way, a loop mostly, costs more than all
the rest of many programs, which never take it. A program that has nobody to tell has both ways in it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import jax.numpy as jnp
from jax import lax

_DOUBTS: ContextVar[list[Any] | None] = ContextVar("bridge.xla.doubts", default=None)


def either(is_sure: Any, short: Callable[[], Any], long: Callable[[], Any]) -> Any:
    """What the short way gives where that `is_sure`, else the long one; or the short one, and the doubt is told."""
    doubts = _DOUBTS.get()
    if doubts is None:
        return lax.cond(is_sure, short, long)
    doubts.append(jnp.logical_not(is_sure))
    return short()


def telling(function: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
    """A function that takes short cuts, and whose last result, if there were any, says whether one did not hold."""

    def run(*args: Any) -> list[Any]:
        token = _DOUBTS.set([])
        try:
            results = function(*args)
            doubts = _DOUBTS.get()
        finally:
            _DOUBTS.reset(token)
        return [*results, jnp.stack(doubts).any()] if doubts else results

    return run
