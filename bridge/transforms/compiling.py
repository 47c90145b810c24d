"""`engine="xla"`: transforms whose whole program is compiled, kept as long as their functions are used again."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import lru_cache
from typing import Any

from bridge.rewind.interpreter import current_context


def compiling() -> bool:
    """Whether the program that is running is being compiled."""
    context = current_context()
    return context is not None and context.home.is_abstract


def wanted(engine: str) -> bool:
    """Whether a transform is to compile its program, and is not part of one that is compiled already."""
    return engine == "xla" and not compiling()


def compiled(function: Callable[..., Any], index_mode: str, name: str | None = None) -> Any:
    """A function, transforms in it included, as one XLA program for each signature."""
    from bridge.xla import program

    made = program(function, index_mode=index_mode)
    if name is not None:
        made.__name__ = made.__qualname__ = name
    return made


def kept(make: Callable[..., Callable[..., Any]], f: Callable[..., Any], index_mode: str, *options: Hashable) -> Any:
    """`make(f, *options)` compiled; the same program again for the same function and options."""
    try:
        return _kept(make, f, index_mode, options)
    except TypeError:
        if _is_hashable(f):
            raise
        return compiled(make(f, *options), index_mode)


@lru_cache(maxsize=256)
def _kept(make: Callable[..., Any], f: Callable[..., Any], index_mode: str, options: tuple[Hashable, ...]) -> Any:
    name = getattr(f, "__name__", type(f).__name__)
    return compiled(make(f, *options), index_mode, f"{make.__name__.strip('_')} of {name}")


def _is_hashable(f: Any) -> bool:
    try:
        hash(f)
    except TypeError:
        return False
    return True
