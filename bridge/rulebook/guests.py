"""Rules that other installed packages bring: their entry points of the group `bridge.rules`.

The name of an entry point is the module that its rules are about, and its value the module that registers them::

    [project.entry-points."bridge.rules"]
    fastkernels = "fastkernels.bridge_rules"

It is read when a program that has loaded `fastkernels` first needs the rule book: nobody pays for what he does not use.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module, metadata
from typing import Any

from bridge.code_position import warn

GROUP = "bridge.rules"

_own = threading.local()


@cache
def offered() -> dict[str, metadata.EntryPoint]:
    """The entry points of other distributions, by the module that registers their rules."""
    return {point.module: point for point in metadata.entry_points(group=GROUP)}


def distribution_of(module: str) -> str | None:
    """The distribution, with its version, whose entry point names a module; None if there is none."""
    point = offered().get(module)
    found = point.dist if point is not None else None
    return f"{found.name} {found.version}" if found is not None else None


def read(module: str, entered_before: frozenset[Any]) -> None:
    """Import the module of an entry point; what a user has `entered_before` stays his."""
    with _reading(module, entered_before):
        try:
            import_module(module)
        except Exception as error:
            point = offered()[module]
            warn(
                f"the rules that {distribution_of(module)} brings for {point.name} cannot be read: {module}: "
                f"{type(error).__name__}: {error}\n  remedy: update or uninstall it; until then its functions have no "
                "rules, and a program that calls them is told so"
            )


def is_loaded(library: str) -> bool:
    """Whether the program has loaded a module to its end."""
    found = sys.modules.get(library)
    return found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False)


def reads() -> str | None:
    """The module whose rules this thread reads now."""
    return getattr(_own, "module", None)


def must_give_way(function: Any) -> bool:
    """Whether this thread reads other people's rules, and the user has spoken of the function before."""
    return reads() is not None and function in _own.entered_before


@contextmanager
def _reading(module: str, entered_before: frozenset[Any]) -> Iterator[None]:
    _own.module, _own.entered_before = module, entered_before
    try:
        yield
    finally:
        _own.module = None
