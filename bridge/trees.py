"""Containers of arguments and results: tuples, lists, dicts, whatever else optree knows, and the user's objects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import optree

from bridge.objects.anatomy import anatomy, is_made_at_run_time
from bridge.objects.levels import NAMESPACE, PLAIN, names_attributes
from bridge.objects.structure import Mismatch, ObjectStructure
from bridge.objects.walk import opened

__all__ = ["NAMESPACE", "Mismatch", "containers_of", "key_orders", "leaves_along", "leaves_of", "paths_of", "rebuilt"]

_CLOSED = set(PLAIN)
"""Types of leaves that are known to be no objects to take apart; what is met of `_ALWAYS_CLOSED` is added."""
_ALWAYS_CLOSED = frozenset({"bridge", "numpy", "scipy", "jaxlib"})
_LEAVES = set(PLAIN)
"""Types of which every object is a leaf, whatever is registered with optree: this package's are added when met."""
_LEAF: Any = optree.treespec_leaf(none_is_leaf=True, namespace=NAMESPACE)


def leaves_of(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure of nested containers and of the objects in them; None is a leaf.

    Objects of the user's classes are taken apart if they hold numbers or arrays (`bridge.objects.anatomy`): each of
    their attributes is a leaf, or a container or an object again.
    """
    if type(tree) in _LEAVES:
        return [tree], _LEAF
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    if _CLOSED.issuperset(map(type, leaves)):
        return leaves, structure
    for kind in set(map(type, leaves)).difference(_CLOSED):
        in_c = not is_made_at_run_time(kind) and anatomy(kind) is None
        library = kind.__module__.partition(".")[0]
        if in_c or library in _ALWAYS_CLOSED:
            _CLOSED.add(kind)
        if library == "bridge":
            _LEAVES.add(kind)
    return (leaves, structure) if _CLOSED.issuperset(map(type, leaves)) else opened(leaves, structure)


def containers_of(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and structure of nested containers; None is a leaf, and so is every object that optree does not know."""
    leaves, structure = optree.tree_flatten(tree, none_is_leaf=True, namespace=NAMESPACE)
    return leaves, structure


def key_orders(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The orders of the keys of all dicts in arguments, which a program may go through, and structures do not tell."""
    return tuple(order for one in (*args, *kwargs.values()) if type(one) not in _CLOSED for order in _orders(one))


def _orders(tree: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(tree, dict):
        yield tuple(tree)
        parts: Any = tree.values()
    else:
        parts = tree if isinstance(tree, (tuple, list)) else ()
    for part in parts:
        yield from _orders(part)


def rebuilt(structure: Any, leaves: Sequence[Any]) -> Any:
    """Containers and objects of `structure` around `leaves`; constructors of the user's objects do not run."""
    return leaves[0] if structure is _LEAF else structure.unflatten(leaves)


def shown(structure: Any) -> str:
    """A structure as a message has it: the containers, with `*` for each leaf."""
    text = str(structure)
    return text.removeprefix("PyTreeSpec(").partition(", NoneIsLeaf")[0] if text.startswith("PyTreeSpec(") else text


def leaves_along(structure: Any, tree: Any) -> list[Any]:
    """The leaves of a tree that is to have `structure`; Mismatch if it has another.

    Beside objects, None stands for one that says nothing at any of its leaves.
    """
    if isinstance(structure, ObjectStructure):
        return structure.along(tree)
    leaves, given = leaves_of(tree)
    if given != structure:
        raise Mismatch(shown(given))
    return leaves


def paths_of(structure: Any) -> list[tuple[str, bool]]:
    """What each leaf is called behind the name of the whole (`['w'][0]`, `.u`), and whether an object holds it.

    Named tuples and classes that are registered with optree are objects in this.
    """
    if isinstance(structure, ObjectStructure):
        return structure.paths()
    return [(accessor.codify(""), names_attributes(accessor)) for accessor in structure.accessors()]
