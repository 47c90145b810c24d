"""One level of an object or a container: what it holds, under which names, and what makes it again."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import optree

from bridge.objects.anatomy import Anatomy, anatomy

NAMESPACE = "bridge"
PLAIN = frozenset({np.ndarray, int, float, complex, bool, str, bytes, type(None), type, *np.sctypeDict.values()})
"""Types of which every object is a leaf."""


@dataclass
class Level:
    """One level of an object or container."""

    structure: Any
    children: list[Any]
    names: tuple[str, ...]


def level_of(x: Any) -> Level | None:
    """What an object or a container holds; None for a leaf."""
    if type(x) in PLAIN:
        return None
    first = iter((False,))
    children, level = optree.tree_flatten(
        x, is_leaf=lambda _: next(first, True), none_is_leaf=True, namespace=NAMESPACE
    )
    if not level.is_leaf():
        return Level(level, children, tuple(accessor.codify("") for accessor in level.accessors()))
    known = _level_in_jax(x)
    if known is not None:
        return known
    kind: Any = type(x)
    found = anatomy(kind)
    if found is None:
        return None
    state = found.state(x)
    held = found.contents(x)
    names = tuple(f".{name}" for name in state)
    inner = None if found.items is None else level_of(held)
    if inner is None:
        return Level(found, list(state.values()), names) if state else None
    return Level(found, [*state.values(), *inner.children], names + inner.names)


def _level_in_jax(x: Any) -> Level | None:
    """One level of an object whose class is registered with JAX, which says what in it is static."""
    trees = sys.modules.get("jax.tree_util")
    if trees is None or not hasattr(trees, "treedef_is_leaf"):
        return None
    first = iter((False,))
    pairs, level = trees.tree_flatten_with_path(x, is_leaf=lambda _: next(first, True))
    if trees.treedef_is_leaf(level):
        return None
    return Level(level, [child for _, child in pairs], tuple(trees.keystr(path) for path, _ in pairs))


def is_of_jax(level: Level) -> bool:
    """Whether JAX, and neither optree nor the state of an object, says what is held."""
    return not isinstance(level.structure, (Anatomy, optree.PyTreeSpec))


def names_attributes(accessor: Any) -> bool:
    """Whether a path of optree's goes through an object: not through tuples, lists and dicts alone."""
    return any(type(entry) not in (optree.SequenceEntry, optree.MappingEntry) for entry in accessor)
