"""Draws that stay what they were, for those who compare a program at several points, as finite differences do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from bridge.position import here

_FIRST: ContextVar[dict[Any, Any] | None] = ContextVar("bridge.random.first", default=None)


@contextmanager
def held() -> Iterator[None]:
    """Inside, draws mean to a program that is run again what they mean to its derivatives.

    The first run is the reference, for each key, shape and line of the program: a frozen draw gives its numbers again
    whatever the parameters are, a gamma number keeps its quantile, and numbers of another dtype are the same, rounded.
    Finite differences agree with gradients inside; `check_gradient` and `crosscheck` run
    programs so.
    """
    token = _FIRST.set({})
    try:
        yield
    finally:
        _FIRST.reset(token)


def is_held(*values: Any) -> bool:
    """Whether draws are held; those from values that are known at run time only never are."""
    return _FIRST.get() is not None and not any(hasattr(x, "place") for x in values)


def first(name: str, key: Any, shape: tuple[int, ...], draw: Callable[[], Any]) -> Any:
    """What `draw` gave when it was first asked for at this line; only where draws are held. Not to be written."""
    known = _FIRST.get()
    assert known is not None
    asked = (name, key.tobytes(), shape, here())
    if asked not in known:
        known[asked] = draw()
    return known[asked]


def noise(
    name: str, key: Any, shape: tuple[int, ...], kind: np.dtype[Any], draw: Callable[[], Any], *values: Any
) -> Any:
    """What `draw` makes, of the dtype `kind`; where draws are held and no value is traced, what came first."""
    return np.array(first(name, key, shape, draw), kind)[()] if is_held(key, *values) else draw()
