"""Nested containers between the two languages: how Python spells them, and how Julia's come back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.errors import ArgumentError
from bridge.position import here, resolve


def spelled(structure: Any) -> tuple[str, str]:
    """An optree structure as Julia reads it: numbers in prefix order, and the names, divided by zero characters.

    Tuples and lists become tuples; dictionaries, named tuples and dataclasses that optree knows, named tuples.
    """
    tokens: list[str] = []
    names: list[str] = []
    _spell(structure, tokens, names)
    return " ".join(tokens), "\0".join(names)


def _spell(structure: Any, tokens: list[str], names: list[str]) -> None:
    if structure.is_leaf():
        tokens.append("-1")
        return
    children = structure.children()
    fields = getattr(structure.type, "_fields", None)
    entries = list(fields) if fields is not None else structure.entries()
    if children and all(isinstance(entry, str) for entry in entries):
        tokens.append(str(-2 - len(children)))
        names += entries
    elif issubclass(structure.type, dict) and children:
        raise ArgumentError(
            f"a dictionary with the keys {entries!r} has no counterpart in Julia, where it becomes a named tuple",
            where=resolve(here()),
            remedy="use strings as keys, or a list or tuple",
        )
    else:
        tokens.append(str(len(children)) if not issubclass(structure.type, dict) else "-2")
    for child in children:
        _spell(child, tokens, names)


def filled(layout: Any, leaves: Sequence[Any]) -> Any:
    """Julia's containers around `leaves`; `layout` holds the leaves' numbers."""
    if isinstance(layout, tuple):
        return tuple(filled(part, leaves) for part in layout)
    if isinstance(layout, dict):
        return {name: filled(part, leaves) for name, part in layout.items()}
    return leaves[layout]
