"""One level of an object or a container: what it holds, under which names, and what makes it again."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MethodType
from typing import Any

import numpy as np
import optree

from bridge.objects.anatomy import Anatomy, anatomy

NAMESPACE = "bridge"
PLAIN = frozenset({np.ndarray, int, float, complex, bool, str, bytes, type(None), type, *np.sctypeDict.values()})
"""Types of which every object is a leaf."""


@dataclass(frozen=True)
class Bound:
    """One level of a bound method: an attribute `self.flux = self.upwind` is the copy's method in a copy."""

    function: Any

    def unflatten(self, children: Sequence[Any]) -> Any:
        """The method of another object."""
        return MethodType(self.function, children[0])


@dataclass(frozen=True)
class Partial:
    """One level of a `functools.partial`: gradients of what it gives its function are held by one of this function."""

    function: Any = field(compare=False)

    def unflatten(self, children: Sequence[Any]) -> Any:
        """The same of other arguments."""
        function, args, keywords = children
        return partial(self.function if function is None else function, *args, **keywords)


@dataclass
class Level:
    """One level of an object or container; of an object its attributes, and what it holds as a dict or a list."""

    structure: Any
    children: list[Any]
    attributes: tuple[str, ...] = ()
    contents: Level | None = None

    @property
    def names(self) -> list[str]:
        """What each child is called behind the name of the whole."""
        if not isinstance(self.structure, Anatomy):
            return names_in(self.structure, self.attributes)
        inner = [] if self.contents is None else self.contents.names
        return [*(f".{name}" for name in self.attributes), *inner]


def level_of(x: Any) -> Level | None:
    """What an object or a container holds; None for a leaf."""
    if type(x) in PLAIN:
        return None
    first = iter((False,))
    children, level = optree.tree_flatten(
        x, is_leaf=lambda _: next(first, True), none_is_leaf=True, namespace=NAMESPACE
    )
    if not level.is_leaf():
        return Level(level, children)
    if type(x) is MethodType:
        return Level(Bound(x.__func__), [x.__self__], (".__self__",))
    if type(x) is partial:
        return Level(Partial(x.func), [x.func, x.args, x.keywords], (".func", ".args", ".keywords"))
    known = _level_in_jax(x)
    if known is not None:
        return known
    kind: Any = type(x)
    found = anatomy(kind)
    if found is None:
        return None
    state = found.state(x)
    inner = None if found.items is None else level_of(found.contents(x))
    if inner is None and not state:
        return None
    return Level(found, [*state.values(), *(inner.children if inner else ())], tuple(state), inner)


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


def names_in(structure: Any, names: Sequence[str]) -> list[str]:
    """What the children of a container are called; `names` are those that JAX gave."""
    if isinstance(structure, optree.PyTreeSpec):
        return [accessor.codify("") for accessor in structure.accessors()]
    return list(names)


def is_opened_for_numbers(level: Level) -> bool:
    """Whether what is held matters only if there are numbers in it: a method, or what JAX takes apart."""
    return not isinstance(level.structure, (Anatomy, optree.PyTreeSpec))


def names_attributes(accessor: Any) -> bool:
    """Whether a path of optree's goes through an object: not through tuples, lists and dicts alone."""
    return any(type(entry) not in (optree.SequenceEntry, optree.MappingEntry) for entry in accessor)
